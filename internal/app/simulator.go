package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/token"
)

// simulatedModel is the name of the model of the simulated server.
const simulatedModel = "demo-model"

// simulator is the simulated server of a daemon. The first client that asks for it starts
// it; it serves until the daemon ends. It is safe for concurrent use.
type simulator struct {
	targets *allow.List // that runs may reach

	mu   sync.Mutex
	at   string // URL; empty = not started
	stop func() error
}

// get returns the server, and starts it if necessary. The error is *[allow.Denied] if runs
// must not reach it.
func (s *simulator) get() (wire.Simulator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == "" {
		at, stop, err := startMock(context.Background())
		if err != nil {
			return wire.Simulator{}, err
		}
		if err := s.allowed(at); err != nil {
			return wire.Simulator{}, errors.Join(err, stop())
		}
		s.at, s.stop = at, stop
	}
	return wire.Simulator{URL: s.at, Model: simulatedModel}, nil
}

// allowed checks that runs may reach the server.
func (s *simulator) allowed(at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return fmt.Errorf("address of the simulated server: %w", err)
	}
	return s.targets.URL(u)
}

// close stops the server.
func (s *simulator) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		return nil
	}
	stop := s.stop
	s.stop = nil
	return stop()
}

// startMock serves a simulated server with plausible latencies on a free port until stop is
// called or ctx ends.
func startMock(ctx context.Context) (url string, stop func() error, err error) {
	var o mock.Options
	if err := errors.Join(o.TTFT.UnmarshalText([]byte("lognormal:60ms:0.3")), o.ITL.UnmarshalText([]byte("gamma:12ms:0.2"))); err != nil {
		return "", nil, fmt.Errorf("configure simulated server: %w", err)
	}
	o.ServedModels = []string{simulatedModel}
	o.Tokenizer = token.FromCodec(tokenizer.Builtin())
	server, err := mock.New(o)
	if err != nil {
		return "", nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for the simulated server: %w", err)
	}
	life, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1) // one value, so that the goroutine never blocks
	go func() { ended <- mock.Serve(life, ln, server, mock.ServeOptions{}) }()
	return "http://" + ln.Addr().String(), func() error {
		cancel()
		return errors.Join(<-ended, server.Close())
	}, nil
}

// source returns get; nil if there is no simulator.
func (s *simulator) source() func() (wire.Simulator, error) {
	if s == nil {
		return nil
	}
	return s.get
}
