package load

import (
	"io"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load/spec"
)

// collected is a sink that keeps what it gets.
type collected struct{ all []Finished }

func (c *collected) Finished(f Finished) { c.all = append(c.all, f) }

// A panic while a request is encoded, such as that of a turn whose history a server has made,
// ends the request and not the process; the phase goes on.
func TestEncodePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		encoder := newChatEncoder()
		encode := encoder.kind.Encode
		encoder.kind.Encode = func(dst []byte, r *endpoint.Request) ([]byte, error) {
			if len(r.History) > 0 {
				panic("no such answer")
			}
			return encode(dst, r)
		}
		clock := bench.NewClock()
		drawn, sink := 0, &collected{}
		o := loadOptions(clock, &hosts{clock: clock, sent: map[string][]string{}}, &scriptedSource{draw: func() (*bench.Conversation, error) {
			if drawn++; drawn > 2 {
				return nil, io.EOF
			}
			return talk("c", bench.Turn{}, bench.Turn{}), nil
		}})
		encoder.hosts = []string{"1"}
		o.Encoder = encoder
		work := NewWork(o)
		phase := NewPhase(work, &spec.Phase{Concurrency: 1, Grace: -1}, sink)
		phase.Begin()
		phase.Run(t.Context())
		var got []string
		for i := range sink.all {
			f := &sink.all[i]
			f.Decode(work.requests.Encoder)
			text := "ok"
			if failure := f.Record.Answer.Failure; failure != nil {
				text = string(failure.Class) + "/" + failure.Code + " " + string(failure.Step) + ": " + failure.Message
			}
			if p := f.Panic(); (p != nil) != (text != "ok") || p != nil && len(p.Stack) == 0 {
				t.Errorf("request %d: panic %v", i, p)
			}
			got = append(got, text)
		}
		const crash = "client_error/panic build: aiperfd crashed when it tried to encode the request, which is an error of aiperfd: no such answer"
		if len(got) != 4 || got[0] != "ok" || got[1] != crash || got[2] != "ok" || got[3] != crash {
			t.Errorf("requests %q, want ok and %q, twice", got, crash)
		}
	})
}
