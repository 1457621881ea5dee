package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"aiperfd/internal/api"
	"aiperfd/internal/api/feed"
	"aiperfd/internal/app"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/monitor"
)

// limitFlags are the limits on the clients of the daemon and on their documents.
type limitFlags struct {
	limits app.Limits
	rate   *pflag.Flag // --submit-rate
}

func (f *limitFlags) add(fs *pflag.FlagSet) {
	l, caps := &f.limits, engine.DefaultCaps()
	fs.Int64Var(&l.API.Body, "max-body", api.DefaultMaxBody, "maximum size of a request body in `bytes`")
	fs.IntVar(&l.API.Header, "max-header", api.DefaultMaxHeader, "maximum size of the header of a request in `bytes`")
	fs.DurationVar(&l.API.HeaderTimeout, "header-timeout", api.DefaultHeaderTimeout,
		"`time` to receive the header of a request")
	fs.DurationVar(&l.API.BodyTimeout, "body-timeout", api.DefaultBodyTimeout, "`time` to receive the body of a request")
	fs.DurationVar(&l.API.IdleTimeout, "idle-timeout", api.DefaultIdleTimeout,
		"`time` after which a connection without a request is closed")
	fs.IntVar(&l.API.Connections, "max-connections", api.DefaultMaxConnections,
		"maximum `number` of connections; a few more are accepted for the probes")
	fs.IntVar(&l.WebSockets, "max-websockets", feed.DefaultMaxClients, "maximum `number` of WebSocket clients")
	fs.IntVar(&l.API.SubmitRate, "submit-rate", api.DefaultSubmitRate,
		"submissions per minute of each token; if this flag is given, also of all requests without a token together; 0 = unlimited")
	fs.IntVar(&l.API.Streams, "max-event-streams", api.DefaultMaxStreams,
		"maximum `number` of streams of server-sent events")
	fs.DurationVar(&l.MetricsLinger, "metrics-linger", api.DefaultMetricsLinger,
		"`time` for which /metrics has the run that ended last")
	fs.IntVar(&l.Caps.Concurrency, "max-concurrency", caps.Concurrency,
		"maximum concurrency that a document may ask for; 0 = unlimited")
	fs.Float64Var(&l.Caps.Rate, "max-rate", caps.Rate,
		"maximum arrivals per second that a document may ask for; 0 = unlimited")
	fs.DurationVar(&l.Caps.Duration, "max-duration", caps.Duration,
		"maximum duration of all phases that a document may ask for; 0 = unlimited")
	fs.Int64Var(&l.Caps.Requests, "max-requests", caps.Requests,
		"maximum requests of a run that a document may ask for; 0 = unlimited")
	fs.Int64Var(&l.Caps.Tokens, "max-tokens", caps.Tokens,
		"maximum prompt and output tokens of a run that a document may ask for; 0 = unlimited")
	f.rate = fs.Lookup("submit-rate")
}

// options checks the flags and returns what they mean. The error has one line per flag
// that is wrong.
func (f *limitFlags) options() (app.Limits, error) {
	l := f.limits
	l.API.AnonymousRate = f.rate.Changed
	var errs []error
	check := func(ok bool, flag string, value any, accepted string) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s %v: must be %s", flag, value, accepted))
		}
	}
	const mostBody = 8 << 20 // more than any document needs; several are in memory at a time
	check(l.API.Body >= 1 && l.API.Body <= mostBody, "max-body", l.API.Body, "from 1 to 8388608 bytes")
	check(l.API.Header >= 1<<10 && l.API.Header <= 1<<20, "max-header", l.API.Header, "from 1024 to 1048576 bytes")
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"header-timeout", l.API.HeaderTimeout}, {"body-timeout", l.API.BodyTimeout}, {"idle-timeout", l.API.IdleTimeout},
		{"metrics-linger", l.MetricsLinger},
	} {
		check(d.value > 0, d.flag, d.value, "greater than 0")
	}
	check(l.API.Connections >= 1, "max-connections", l.API.Connections, "at least 1")
	check(l.WebSockets >= 1, "max-websockets", l.WebSockets, "at least 1")
	check(l.API.SubmitRate >= 0 && l.API.SubmitRate <= 1_000_000, "submit-rate", l.API.SubmitRate, "from 0 to 1000000")
	check(l.Caps.Concurrency >= 0, "max-concurrency", l.Caps.Concurrency, "at least 0")
	check(l.Caps.Rate >= 0, "max-rate", l.Caps.Rate, "at least 0")
	check(l.Caps.Duration >= 0, "max-duration", l.Caps.Duration, "at least 0")
	check(l.Caps.Requests >= 0, "max-requests", l.Caps.Requests, "at least 0")
	check(l.Caps.Tokens >= 0, "max-tokens", l.Caps.Tokens, "at least 0")
	check(l.API.Streams >= 1, "max-event-streams", l.API.Streams, "at least 1")
	return l, errors.Join(errs...)
}

// limitMemory makes the garbage collector work harder before the process takes more memory
// than the machine or its container has, unless GOMEMLIMIT says otherwise.
func limitMemory() {
	if system, ok := monitor.MemoryLimit(os.DirFS("/")); ok && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(system / 10 * 9)
	}
}
