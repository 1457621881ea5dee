package load

import (
	"context"
	"iter"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/transport"
)

// Source gives the sessions of a run their conversations. It is called by one goroutine
// at a time.
type Source interface {
	// Next returns the conversation of a session, which is numbered from 0 in the run, and
	// the model that it uses unless it names its own. io.EOF means that the dataset has
	// ended and is not repeated; another error ends the phase. It returns an error as well
	// if quit is closed while it waits.
	Next(session int64, quit <-chan struct{}) (c *bench.Conversation, model string, err error)
	// Restart makes Next begin again with the first conversation. once = Next returns
	// io.EOF after the last one; otherwise the dataset is repeated. It is not called if no
	// phase reads the dataset once.
	Restart(once bool) error
}

// Dialogue is what a session says, as far as a request needs it.
type Dialogue struct {
	Session      int64               // running number in the run; that of the root for its descendants
	Root         string              // id of the conversation of the root
	Phase        bench.PhaseKind     // that the next turn is encoded for
	First        int                 // turn that is sent first
	Entry        *bench.Conversation // of the dataset; not changed
	Conversation *bench.Conversation // as it is said; an [Encoder] may replace it by a changed copy of Entry
	Marker       bench.Mark          // what such a copy has and Entry has not, or is put into a script; no text = nothing
	OneToken     bool                // the answer to the next turn is one token
	History      []bench.Exchange    // turns and answers before the next turn; elements are not changed
}

// Encoder makes requests of turns, and answers of responses. It is safe for concurrent
// use by different sessions.
type Encoder interface {
	// Encode makes the request of the turn that a record describes: header, body and
	// what the record says of its content. It returns how many items the answer has; 0 =
	// unknown. A request whose encoding panics has failed like one with an error.
	Encode(d *Dialogue, rec *bench.Record, r *transport.Request) (items int, err error)
	// Address directs an encoded request to a target.
	Address(r *transport.Request, target int)
	Decoder
}

// Sender performs exchanges. It is safe for concurrent use. It returns no errors: an
// exchange that failed has a Response.Failure.
type Sender interface {
	Do(ctx context.Context, r *transport.Request) transport.Exchange
	// EndSession releases what is kept for the requests of a session.
	EndSession(id string)
}

// Starter is a [Sender] that needs no goroutine while a response is awaited.
type Starter interface {
	// Start performs an exchange as Do does, or returns false; it then calls later with the
	// exchange, once, in a goroutine of its own.
	Start(ctx context.Context, r *transport.Request, later func(transport.Exchange)) (x transport.Exchange, done bool)
	// StartIdle is like Start, but does nothing and returns false if it would have to wait: for a
	// connection, or for the response.
	StartIdle(ctx context.Context, r *transport.Request, later func(transport.Exchange)) (started bool)
}

// Sink takes requests whose last byte has arrived. It is safe for concurrent use. It may
// block, but the next requests of the sessions that wait are late then.
type Sink interface {
	Finished(f Finished)
}

// Stop stops a run from outside. It is safe for concurrent use.
type Stop interface {
	// Requested returns a channel that is closed when a stop was requested; nil = never.
	Requested() <-chan struct{}
	// Grace returns how long requests in flight may still take because of the request;
	// false = the grace period of the phase applies.
	Grace(p *spec.Phase) (time.Duration, bool)
	// Patience returns how long servers may send nothing before the requests in flight
	// are cut; 0 = they may take as long as the grace period.
	Patience() time.Duration
}

// Options configure a [Work]. All fields are required unless noted otherwise.
type Options struct {
	Sessions spec.Sessions
	Spread   spec.Spread // over targets
	Targets  int         // number of targets; > 0
	// PerPhase encodes a turn again that an earlier phase has prepared and not sent: what
	// the Encoder makes depends on the kind of the phase.
	PerPhase bool
	Clock    bench.Clock
	Source   Source
	Encoder  Encoder
	Sender   Sender
	// Received returns how many reads from servers there were so far.
	Received func() uint64
	// Pacer returns what a phase uses to wait for due times.
	Pacer func() pace.Waiter
	Stop  Stop
}

// climbRamp performs a step at each time of a ramp, which begins at start, with the limit
// from then on. It returns early when over is closed.
func (o *Options) climbRamp(
	steps iter.Seq[time.Duration], start time.Duration, over <-chan struct{}, step func(limit int, at time.Duration),
) {
	wait := o.Pacer()
	defer wait.Close()
	limit := 0
	for at := range steps {
		limit++
		select {
		case <-over:
			return
		default:
		}
		if at > 0 && !wait.Until(o.Clock.At(start+at), over) {
			return
		}
		step(limit, start+at)
	}
}
