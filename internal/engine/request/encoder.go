package request

import (
	"hash/maphash"
	"maps"
	"net/http"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// WarnCountMismatch is the warning on an answer with more vectors or scores than were
// requested, or fewer.
const WarnCountMismatch = "count_mismatch"

// Options configure the encoder of a run.
type Options struct {
	Plan  *plan.Plan
	RunID string // part of the markers of sessions; not needed without them
	// TokenIDs returns the tokens of a turn's texts; nil = the API takes none.
	TokenIDs func(t *bench.Turn, model string) []int
	// Traceparent returns the header of that name for the request of a record; empty = it has none. nil = no
	// request has one.
	Traceparent func(rec *bench.Record) string
	// Seed is that of the hashes of prompts; runs whose prompts are compared have the same. The zero value is a seed that
	// no other encoder has.
	Seed maphash.Seed
}

// NewEncoder returns the encoder of a run.
func NewEncoder(o Options) load.Encoder {
	e := &encoder{
		Decoder: Decoder{o.Plan}, tokenIDs: o.TokenIDs, traceparent: o.Traceparent, seed: o.Seed, gap: newGap(),
	}
	if e.seed == (maphash.Seed{}) {
		e.seed = maphash.MakeSeed()
	}
	if o.Plan.CacheBust.On() {
		return &marking{Encoder: e, bust: o.Plan.CacheBust, runID: o.RunID}
	}
	return e
}

// encoder makes requests and answers as the endpoint type of a plan wants them.
type encoder struct {
	Decoder
	tokenIDs    func(t *bench.Turn, model string) []int
	traceparent func(rec *bench.Record) string // nil = none
	seed        maphash.Seed                   // of fingerprints
	gap         []byte                         // stands for messages that are written while they are sent
}

var _ load.Encoder = (*encoder)(nil)

// Encode implements [load.Encoder].
func (e *encoder) Encode(d *load.Dialogue, rec *bench.Record, r *transport.Request) (items int, err error) {
	request := endpoint.Request{
		Model: rec.Model, System: d.Conversation.System, Context: d.Conversation.Context, History: d.History,
		Turn: d.Conversation.Turns[rec.Turn], Settings: &e.Plan.Settings,
	}
	t := &request.Turn
	var replayed *bench.Turn
	if t.Script != nil && d.Marker.Text != "" && d.Conversation == d.Entry {
		t.Mark, t.InputTokens = d.Marker, t.Script.Tokens(d.Marker)
	}
	if t.Recorded != nil && t.Script != nil {
		replayed = new(*t)
	}
	if d.OneToken {
		t.MaxTokens = 1
	}
	if e.tokenIDs != nil {
		request.TokenIDs = e.tokenIDs(t, rec.Model)
	}
	rec.Content = bench.Content{
		RequestedTokens: t.MaxTokens, Blocks: t.BlockIDs, Marker: d.Marker.Text, Prompt: fingerprint(e.seed, &request),
		Replayed: replayed,
	}
	rec.Content.Images, rec.Content.AudioLength = request.Contents()
	r.Header, r.Streaming = e.headers(rec), e.Plan.Settings.Streaming
	if err = e.write(&request, r); err == nil && e.Plan.Kind.Items != nil {
		items = e.Plan.Kind.Items(&request)
	}
	return items, err
}

// headers returns the headers of every request plus the ids of this one.
func (e *encoder) headers(rec *bench.Record) http.Header {
	p := e.Plan
	h := make(http.Header, len(p.Header)+3+len(p.Affinity))
	maps.Copy(h, p.Header)
	values := []string{rec.RequestID, rec.CorrelationID}
	h["X-Request-Id"] = values[:1:1]
	for _, name := range p.Affinity {
		h[name] = values[1:]
	}
	h[p.SessionID] = values[1:]
	if e.traceparent != nil {
		if value := e.traceparent(rec); value != "" {
			h["Traceparent"] = []string{value}
		}
	}
	return h
}

// Address implements [load.Encoder].
func (e *encoder) Address(r *transport.Request, target int) {
	t := &e.Plan.Targets[target]
	r.URL, r.Host = t.URL, t.Host
	if t.Basic != "" && r.Header["Authorization"] == nil {
		r.Header["Authorization"] = []string{t.Basic}
	}
}

// Decoder makes answers of responses, as the endpoint type of a plan does.
type Decoder struct{ Plan *plan.Plan }

var _ load.Decoder = Decoder{}

// Decode implements [load.Decoder].
func (d Decoder) Decode(f *load.Finished) {
	kind, a := &d.Plan.Kind, &f.Record.Answer
	*a = kind.Decode(f.Exchange.Response, d.Plan.Settings.Streaming)
	if kind.Settle != nil {
		kind.Settle(a, f.Exchange.Response, f.Sent().WholeBody())
	}
	f.Record.Items = len(a.Vectors) + len(a.Ranks)
	if f.Items > 0 && f.Record.Items != f.Items && a.Failure == nil {
		if a.Warnings == nil {
			a.Warnings = map[string]int{}
		}
		a.Warnings[WarnCountMismatch]++
	}
}

// HasContent implements [load.Decoder].
func (d Decoder) HasContent(r *bench.Response) bool {
	a := d.Plan.Kind.Decode(r, true)
	return len(a.Chunks) > 0
}
