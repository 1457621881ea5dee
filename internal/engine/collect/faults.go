package collect

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
)

// Faults catches the panics of the code that processes responses: a response that it
// cannot bear ends its request as an error, and not the process with all its runs. The
// zero Faults catches and counts them, too. Safe for concurrent use.
type Faults struct {
	Log     zerolog.Logger // gets the stack of the first one
	Secrets *redact.Set

	once  sync.Once
	count atomic.Int64
}

// Count returns how many there were.
func (f *Faults) Count() int64 { return f.count.Load() }

// guard performs a step of the processing of a record. After a panic the record is an
// error, and guard returns false.
func (f *Faults) guard(step string, rec *bench.Record, do func(*bench.Record)) (ok bool) {
	defer func() {
		if value := recover(); value != nil {
			f.note(step, value, debug.Stack())
			f.fail(rec, bench.Panicked(step, value))
		}
	}()
	do(rec)
	return true
}

// note counts a panic and logs the first one.
func (f *Faults) note(step string, value any, stack []byte) {
	f.count.Add(1)
	f.once.Do(func() {
		f.Log.Error().Str("step", step).Str("panic", f.Secrets.String(fmt.Sprint(value))).Str("stack", f.Secrets.String(string(stack))).
			Msg("the processing of a response crashed; the request counts as an error")
	})
}

// fail makes a record one of a failed request. What was measured before stays.
func (f *Faults) fail(rec *bench.Record, why *bench.Failure) {
	why.Status, why.Message = rec.Status, f.Secrets.String(why.Message)
	rec.Answer = bench.Answer{Failure: why}
	rec.Items, rec.TokenSource = 0, bench.TokensNone
	rec.InputTokens, rec.OutputTokens, rec.ReasoningTokens = nil, nil, nil
	rec.ClientInput, rec.ClientOutput, rec.ClientReasoning = nil, nil, nil
}
