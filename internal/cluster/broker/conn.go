//go:build !nobus

package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"aiperfd/internal/cluster/bus"
)

// The limits of a connection.
const (
	// An attempt to connect takes no longer.
	maxAttempt = 5 * time.Second
	// The pauses between attempts grow from the first to the longest.
	firstPause, longestPause = 50 * time.Millisecond, 5 * time.Second
	// What a subscription holds for its handler.
	maxQueued, maxQueuedBytes = 1 << 16, 64 << 20
)

// Connect connects to a server. It tries until the context ends, unless the server refuses the credentials or its
// certificate is not valid.
func Connect(ctx context.Context, o Options) (bus.Bus, error) {
	options, err := o.nats()
	if err != nil {
		return nil, err
	}
	c := &conn{permissions: bus.Everything(), log: o.Log, prefix: o.Prefix}
	if !o.Controller {
		c.permissions = bus.OfWorker(o.ID)
	}
	name := o.ID
	if o.Controller {
		name = controller
	}
	return c.open(ctx, o.URL, name, options...)
}

// nats returns the options of the connection.
func (o *Options) nats() ([]nats.Option, error) {
	at, err := url.Parse(o.URL)
	if err != nil || at.Scheme != "nats" && at.Scheme != "tls" || at.Hostname() == "" || at.User != nil {
		// The URL is not in the error: it may have a password.
		return nil, errors.New("the URL of the bus must be nats://host:port or tls://host:port, without user and password")
	}
	switch {
	case (o.Token == "") == (o.Creds == ""):
		return nil, errors.New("connect to the bus: either a token or a file with credentials is required")
	case o.Controller && o.Creds == "":
		return nil, errors.New("connect to the bus as a controller: a file with credentials is required")
	case !o.Controller && !bus.ValidID(o.ID):
		return nil, fmt.Errorf("connect to the bus: %q is not a valid instance id", o.ID)
	case o.Prefix != "" && bus.CheckSubject(o.Prefix, false) != nil:
		return nil, fmt.Errorf("prefix %q of the subjects of the bus: words separated by dots are accepted", o.Prefix)
	}
	var out []nats.Option
	if o.Creds == "" {
		out = append(out, nats.UserInfo(o.ID, o.Token))
	} else {
		option, err := credentials(o.Creds)
		if err != nil {
			return nil, err
		}
		out = append(out, option)
	}
	if at.Scheme == "tls" || !loopback(at.Hostname()) && !o.Insecure {
		config, err := o.tls()
		if err != nil {
			return nil, err
		}
		out = append(out, nats.Secure(config))
	}
	return out, nil
}

// credentials returns the option for a file with a JWT and its key, or with the seed of a key.
func credentials(file string) (nats.Option, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read credentials of the bus: %w", err)
	}
	if strings.Contains(string(text), "NATS USER JWT") {
		return nats.UserCredentials(file), nil
	}
	option, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		return nil, fmt.Errorf("read credentials of the bus: %s has neither a JWT with its key nor the seed of a key", file)
	}
	return option, nil
}

// conn is a connection. It is safe for concurrent use.
type conn struct {
	nats        *nats.Conn
	stream      jetstream.JetStream
	permissions bus.Permissions
	prefix      string
	log         zerolog.Logger

	subscribing sync.Mutex // one at a time, so that a refusal is that of the last one

	mu      sync.Mutex
	closed  bool
	waiting sync.WaitGroup // for handlers; added to with mu held, unless closed
}

var _ bus.Bus = (*conn)(nil)

// inboxOf returns where the answers to a participant go.
func inboxOf(prefix, name string) string { return withPrefix(prefix, "_INBOX."+name) }

func withPrefix(prefix, subject string) string {
	if prefix == "" {
		return subject
	}
	return prefix + "." + subject
}

// open connects; see Connect.
func (c *conn) open(ctx context.Context, at, name string, options ...nats.Option) (bus.Bus, error) {
	ctx, cancel := bus.WithPatience(ctx)
	defer cancel()
	options = append(options,
		nats.Name("aiperfd "+name), nats.CustomInboxPrefix(inboxOf(c.prefix, name)),
		nats.MaxReconnects(-1), nats.CustomReconnectDelay(pause), nats.ReconnectBufSize(-1), // a message is not kept
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2), nats.IgnoreDiscoveredServers(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.log.Warn().Err(err).Msg("the connection to the bus is broken")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { c.log.Info().Msg("the connection to the bus is restored") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.log.Warn().Err(err).Msg("bus") }),
	)
	var err error
	for attempt := 1; ; attempt++ {
		deadline, _ := ctx.Deadline()
		timeout := nats.Timeout(max(time.Millisecond, min(maxAttempt, time.Until(deadline))))
		if c.nats, err = nats.Connect(at, append(options, timeout)...); err == nil {
			break
		}
		if final := refused(err); final != nil {
			return nil, fmt.Errorf("connect to the bus at %s: %w", at, final)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to the bus at %s: %w (the last attempt: %w)", at, ctx.Err(), err)
		case <-time.After(pause(attempt)):
		}
	}
	if c.stream, err = jetstream.New(c.nats); err != nil {
		c.nats.Close()
		return nil, err
	}
	return c, nil
}

// refused returns the error with which further attempts to connect are pointless; nil = there may be one that succeeds.
func refused(err error) error {
	var certificate *tls.CertificateVerificationError
	var alert *net.OpError // with the operation "remote error" it is one of TLS: the server refuses the certificate
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return ErrRefused
	case errors.As(err, &certificate), errors.As(err, &alert) && alert.Op == "remote error",
		errors.Is(err, nats.ErrSecureConnWanted), errors.Is(err, nats.ErrSecureConnRequired):
		return err
	}
	return nil
}

// pause returns how long to wait after a number of attempts. It is random, so that the workers of a server that has
// started again do not come at once.
func pause(attempts int) time.Duration {
	longest := min(longestPause, firstPause<<min(attempts, 10))
	return longest/2 + rand.N(longest/2)
}

// translated returns the error of a bus for one of NATS.
func translated(err error) error {
	for _, row := range []struct{ theirs, ours error }{
		{nats.ErrNoResponders, bus.ErrNoReceiver},
		{nats.ErrConnectionClosed, bus.ErrClosed},
		{nats.ErrReconnectBufExceeded, bus.ErrDisconnected},
		{nats.ErrDisconnected, bus.ErrDisconnected},
		{nats.ErrStaleConnection, bus.ErrDisconnected},
		{nats.ErrMaxPayload, bus.ErrTooLarge},
		{nats.ErrTimeout, context.DeadlineExceeded},
	} {
		if errors.Is(err, row.theirs) {
			return row.ours
		}
	}
	return err
}

// sendable returns why a message cannot be sent.
func (c *conn) sendable(ctx context.Context, subject string, payload []byte) error {
	switch err := bus.CheckSubject(subject, false); {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(payload) > bus.MaxPayload:
		return bus.ErrTooLarge
	case !c.permissions.MayPublish(subject):
		return bus.ErrDenied
	}
	return nil
}

// Request implements bus.Bus.
func (c *conn) Request(ctx context.Context, subject string, payload []byte) ([]byte, error) {
	ctx, cancel := bus.WithPatience(ctx)
	defer cancel()
	if err := c.sendable(ctx, subject, payload); err != nil {
		return nil, err
	}
	m, err := c.nats.RequestWithContext(ctx, withPrefix(c.prefix, subject), payload)
	if err != nil {
		return nil, translated(err)
	}
	return m.Data, nil
}

// Publish implements bus.Bus.
func (c *conn) Publish(ctx context.Context, subject string, payload []byte) error {
	if err := c.sendable(ctx, subject, payload); err != nil {
		return err
	}
	return translated(c.nats.Publish(withPrefix(c.prefix, subject), payload))
}

// Subscribe implements bus.Bus.
func (c *conn) Subscribe(ctx context.Context, subject string, handle bus.Handler) (cancel func(), err error) {
	ctx, done := bus.WithPatience(ctx)
	defer done()
	switch err := bus.CheckSubject(subject, true); {
	case err != nil:
		return nil, err
	case !c.permissions.MaySubscribe(subject):
		return nil, bus.ErrDenied
	}
	c.subscribing.Lock()
	defer c.subscribing.Unlock()
	full := withPrefix(c.prefix, subject)
	s, err := c.nats.Subscribe(full, func(m *nats.Msg) { c.receive(m, handle) })
	if err != nil {
		return nil, translated(err)
	}
	if err = s.SetPendingLimits(maxQueued, maxQueuedBytes); err == nil {
		err = c.nats.FlushWithContext(ctx) // the server answers after what it has to say to the subscription
	}
	if last := c.nats.LastError(); err == nil && errors.Is(last, nats.ErrPermissionViolation) &&
		strings.Contains(last.Error(), `Subscription to "`+full+`"`) {
		err = bus.ErrDenied
	}
	if err != nil {
		_ = s.Unsubscribe() // it has come to nothing
		return nil, translated(err)
	}
	return sync.OnceFunc(func() { _ = s.Unsubscribe() }), nil // the only error is that of a closed connection
}

// receive hands a message to a handler, unless the connection is closed.
func (c *conn) receive(m *nats.Msg, handle bus.Handler) {
	if m.Header.Get(jetstream.StreamHeader) != "" {
		return // somebody has asked the object store to answer there
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.waiting.Add(1)
	c.mu.Unlock()
	defer c.waiting.Done()
	subject := m.Subject
	if c.prefix != "" {
		subject = strings.TrimPrefix(subject, c.prefix+".")
	}
	var answer func([]byte) error
	// An answer goes nowhere but to an inbox: who asks must not choose to whom the controller speaks.
	if strings.HasPrefix(m.Reply, withPrefix(c.prefix, "_INBOX.")) {
		answer = func(payload []byte) error {
			if len(payload) > bus.MaxPayload {
				return bus.ErrTooLarge
			}
			return translated(c.nats.Publish(m.Reply, payload))
		}
	}
	handle(bus.NewMessage(subject, m.Data, answer))
}

// Close implements bus.Bus.
func (c *conn) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.nats.Close()
	c.waiting.Wait()
}
