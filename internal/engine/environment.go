package engine

import (
	"context"
	"sync/atomic"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/samples"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/telemetry"
	"aiperfd/internal/engine/telemetry/push"
	"aiperfd/internal/engine/telemetry/serverspans"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/run"
)

// environment is what a run gets from its engine and its supervisor.
type environment struct {
	id, dir   string
	secrets   *redact.Set
	opts      *Options // of the engine
	notify    notifications
	cancel    *cancellation
	live      *live
	twin      run.Twin                                  // the run that is performed beside this one; nil = there is none
	awaitIdle func(context.Context, run.Servers) string // that of [run.Submission]; nil = it is not waited
	part      Part                                      // of a larger run; nil = the run is a whole

	memory   *transport.Memory // of the responses of all runs; nil = without bound
	history  *collect.History  // of what runs have sent
	watchdog *watchdog
}

// notifications are how a run reports to the engine. None blocks.
type notifications struct {
	log           zerolog.Logger                                     // its lines are in the log of the run too
	note          func(level, message string, fields map[string]any) // writes to the log of the run only
	publish       func(what run.EventType, snap *run.Snapshot, phase int)
	status        func(text string) // what the run is waiting for, for users; empty = it no longer waits
	alarm         func(text string) // status, as a warning
	modelResolved func(*plan.Plan)  // the server has named the model
}

// live is what other goroutines read of a run. It is safe for concurrent use.
type live struct {
	state    atomic.Value                 // bench.State
	snapshot atomic.Pointer[run.Snapshot] // the newest one; nil = there is none yet
	// series is the time series of the run while it is recorded; nil before and after that.
	series atomic.Pointer[series.Recorder]
	// samples are single requests of the run while they are recorded; nil before and after that.
	samples atomic.Pointer[samples.Recorder]
	// servers reads the servers' metrics while phases are performed; nil before and after that, and if it
	// is off.
	servers atomic.Pointer[telemetry.Recorder]
	// paths keeps what the kernel counts of the connections; nil like servers.
	paths atomic.Pointer[collect.PathRecorder]
	// senders send metrics and spans to collectors; nil like servers.
	senders atomic.Pointer[push.Senders]
	// spans joins spans of servers with requests; nil before and after that, and if it is off.
	spans   atomic.Pointer[serverspans.Joiner]
	process processMeter
}

func newLive(s bench.State) *live {
	l := &live{}
	l.state.Store(s)
	return l
}

// clock returns the clock of the run, which begins now unless it is a part of a larger run.
func (env *environment) clock() bench.Clock {
	if env.part != nil {
		return env.part.Clock()
	}
	return bench.NewClock()
}

// worker returns the name of this load generator in the records; empty = the run has no other one.
func (env *environment) worker() string {
	if env.part != nil {
		return env.part.Worker()
	}
	return ""
}

// warnings are the warnings on a result. Only one goroutine adds to them.
type warnings []bench.Warning

func (w *warnings) add(code, detail string) {
	*w = append(*w, bench.Warning{Code: code, Detail: detail})
}

// connections returns the options of the connections of a run.
func (env *environment) connections(p *plan.Plan, clock bench.Clock) transport.Options {
	o := p.Transport
	o.Dial, o.Memory, o.Clock = env.opts.Dial, env.memory, clock
	o.Policy.Allow = env.opts.Allow
	o.Policy.Private = func(body []byte) bool {
		text := string(body)
		return env.secrets.Exact(text) != text
	}
	return o
}
