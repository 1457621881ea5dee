package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/transport"
)

// chatEncoder is an Encoder of chat requests.
type chatEncoder struct {
	kind     endpoint.Kind
	settings endpoint.Settings
	hosts    []string // of the targets
}

func newChatEncoder() *chatEncoder {
	return &chatEncoder{kind: endpoint.Kinds()[0], hosts: []string{"server"}}
}

func (e *chatEncoder) Encode(d *Dialogue, rec *bench.Record, r *transport.Request) (items int, err error) {
	r.Header = http.Header{}
	r.Body, err = e.kind.Body(nil, &endpoint.Request{
		Model: rec.Model, System: d.Conversation.System, Context: d.Conversation.Context, History: d.History,
		Turn: d.Conversation.Turns[rec.Turn], Settings: &e.settings,
	})
	return 0, err
}

func (e *chatEncoder) Address(r *transport.Request, target int) {
	r.URL = &url.URL{Host: e.hosts[target]}
	r.Header.Set("Authorization", fmt.Sprint("Basic ", target))
}

func (e *chatEncoder) Decode(f *Finished) {
	f.Record.Answer = e.kind.Decode(f.Exchange.Response, e.settings.Streaming)
}

func (e *chatEncoder) HasContent(r *bench.Response) bool {
	return len(e.kind.Decode(r, true).Chunks) > 0
}

// scriptedSource is a Source of what functions return.
type scriptedSource struct {
	draw    func() (*bench.Conversation, error)
	restart func(once bool) // nil = it is not called
}

func (s *scriptedSource) Next(int64, <-chan struct{}) (c *bench.Conversation, model string, err error) {
	c, err = s.draw()
	return c, "m", err
}

func (s *scriptedSource) Restart(once bool) error {
	s.restart(once)
	return nil
}

// singleTurns is a Source of conversations with one empty turn.
func singleTurns() *scriptedSource {
	return &scriptedSource{draw: func() (*bench.Conversation, error) {
		return &bench.Conversation{Turns: make([]bench.Turn, 1)}, nil
	}}
}

// deferred is a Sender that hands its exchanges over in goroutines of its own.
type deferred struct{ Sender }

func (l deferred) Start(
	ctx context.Context, r *transport.Request, later func(transport.Exchange),
) (x transport.Exchange, done bool) {
	go func() { later(l.Do(ctx, r)) }()
	return x, false
}

// loadOptions are the options of a load of chat requests to one target.
func loadOptions(clock bench.Clock, server Sender, from Source) Options {
	return Options{
		Targets: 1, Clock: clock, Source: from, Encoder: newChatEncoder(), Sender: deferred{server},
		Received: func() uint64 { return 0 }, Pacer: pace.Timers, Stop: never{},
	}
}

// reply is what a scripted server does with a request.
type reply struct {
	takes  time.Duration
	text   string
	status int // 0 = 200
}

// scripted is a Sender that answers chat requests by the text of their last message. A
// text without a reply is answered after a second with itself in upper case.
type scripted struct {
	clock   bench.Clock
	mu      sync.Mutex
	replies map[string][]reply // guarded by mu; the last one repeats
	ended   []string           // guarded by mu; ids of sessions
}

func (s *scripted) Do(ctx context.Context, r *transport.Request) (x transport.Exchange) {
	last := contents(r.Body)
	text := last[len(last)-1]
	text = text[strings.IndexByte(text, ' ')+1:]
	s.mu.Lock()
	rep := reply{takes: time.Second, text: strings.ToUpper(text)}
	if list := s.replies[text]; len(list) > 0 {
		rep = list[0]
		if len(list) > 1 {
			s.replies[text] = list[1:]
		}
	}
	s.mu.Unlock()
	x.Stamps.Start = s.clock.Now()
	x.Response = &bench.Response{Status: 200, Framing: bench.FramingJSON}
	leaves := make(<-chan time.Time)
	if r.Cancel.On {
		leaves = time.After(r.Cancel.After)
	}
	select {
	case <-leaves:
		x.Response = &bench.Response{Failure: r.Cancel.Failure(bench.StepHeaders)}
	case <-time.After(rep.takes):
		x.Response.Body = fmt.Appendf(nil, `{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, rep.text)
		if rep.status != 0 {
			x.Response.Status, x.Response.Body = rep.status, []byte(`{"error":{"message":"no"}}`)
		}
	case <-ctx.Done():
		x.Response = &bench.Response{Failure: &bench.Failure{Class: bench.Cancelled, Message: context.Cause(ctx).Error()}}
	}
	x.Stamps.End = s.clock.Now()
	x.Response.EndAt, x.Response.BodyAt = x.Stamps.End, x.Stamps.End
	return x
}

func (s *scripted) EndSession(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, id)
}

// contents returns the messages of a request as "role text".
func contents(body []byte) []string {
	var b struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return []string{"? " + err.Error()}
	}
	var out []string
	for _, m := range b.Messages {
		out = append(out, m.Role+" "+m.Content)
	}
	return out
}

// sent is a request as a scenario keeps it. Times are since the start of the phase.
type sent struct {
	due, at, scheduled, ended time.Duration
	record                    *bench.Record
	messages                  []string
}

func (s sent) String() string {
	status := ""
	if s.record.Answer.Failure != nil {
		status = " FAILED"
	}
	short := make([]string, len(s.messages))
	for i, m := range s.messages {
		role, text, _ := strings.Cut(m, " ")
		short[i] = role[:1] + ":" + text
	}
	late := ""
	if s.at != s.due {
		late = fmt.Sprintf(" at %v", s.at)
	}
	return fmt.Sprintf("%v%s %s/%d [%s]%s", s.due, late, s.record.ConversationID, s.record.Turn, strings.Join(short, " "), status)
}

// scenario is a phase with a dataset and a server.
type scenario struct {
	phase    spec.Phase
	sessions spec.Sessions
	data     []*bench.Conversation
	fault    error // after the data; nil = the data ends
	replies  map[string][]reply

	restarts []bool // calls of Restart
	server   *scripted
	work     *Work
	loaded   *Phase
	requests []sent // guarded by server.mu
}

// start makes the phase of a scenario. It is called in a bubble.
func (sc *scenario) start() {
	clock := bench.NewClock()
	sc.server = &scripted{clock: clock, replies: sc.replies}
	next := 0
	if sc.phase.Replay != nil {
		sc.phase.Once = true
	}
	o := loadOptions(clock, sc.server, &scriptedSource{draw: func() (*bench.Conversation, error) {
		if next == len(sc.data) {
			if sc.fault != nil {
				return nil, sc.fault
			}
			return nil, io.EOF
		}
		next++
		return sc.data[next-1], nil
	}, restart: func(once bool) {
		sc.restarts = append(sc.restarts, once)
		next = 0
	}})
	o.Sessions = sc.sessions
	sc.work = NewWork(o)
	sc.loaded = NewPhase(sc.work, &sc.phase, sc)
	sc.loaded.Begin()
}

// run performs a scenario and returns its requests in the order of their due times.
func (sc *scenario) run(ctx context.Context) []sent {
	sc.start()
	sc.loaded.Run(ctx)
	return sc.requests
}

func (sc *scenario) Finished(f Finished) {
	f.Decode(sc.work.requests.Encoder)
	start := sc.loaded.Start()
	one := sent{
		due: f.Record.Stamps.Due - start, at: f.Record.Stamps.Start - start, ended: f.Record.Stamps.End - start,
		record: f.Record, messages: contents(f.Body),
	}
	if f.Record.Stamps.Scheduled != 0 {
		one.scheduled = f.Record.Stamps.Scheduled - start
	}
	sc.server.mu.Lock()
	defer sc.server.mu.Unlock()
	sc.requests = append(sc.requests, one)
}

// transcript returns the requests of a scenario, one per line, in the order of due time
// and text.
func (sc *scenario) transcript(t *testing.T) string {
	t.Helper()
	var lines []sent
	lines = append(lines, sc.run(t.Context())...)
	slices.SortStableFunc(lines, func(a, b sent) int {
		if a.due != b.due {
			return int(a.due - b.due)
		}
		return strings.Compare(a.String(), b.String())
	})
	var out strings.Builder
	for _, l := range lines {
		fmt.Fprintln(&out, l)
	}
	return out.String()
}

// said is a turn with one text.
func said(text string) bench.Turn { return bench.Turn{Texts: []string{text}} }

// timed is a turn with one text and a time in the dataset.
func timed(text string, at time.Duration) bench.Turn {
	t := said(text)
	t.At, t.Timed = at, true
	return t
}

// talk is a conversation.
func talk(id string, turns ...bench.Turn) *bench.Conversation {
	return &bench.Conversation{ID: id, Turns: turns}
}
