package engine

import (
	"bytes"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/tokenizer"
	"aiperfd/internal/engine/transport"
)

// finishing is a request whose last byte is in, on its way to the recorder.
type finishing struct {
	rec      *bench.Record
	items    int // that were asked for; 0 = unknown
	exchange transport.Exchange
	talk     *bench.Conversation
	history  []bench.Exchange // what the request carried; the session only appends
	sent     http.Header      // nil unless raw records are kept
	body     []byte           // the session does not change it
	raw      *export.Raw      // nil unless raw records are kept
	oddity   string           // an event of a stream that could not be read; empty = there was none, or it is not known
	decoded  bool
}

// warnCountMismatch is the warning on an answer with more vectors or scores than were
// asked for, or fewer.
const warnCountMismatch = "count_mismatch"

// warnMalformedEvent is the warning on a stream with events that could not be read.
const warnMalformedEvent = "malformed_event"

// unreadable returns the first event of a response that is no JSON, clipped.
func unreadable(r *bench.Response) string {
	const shown = 120 // bytes
	for e := range r.Events.All() {
		if data := bytes.TrimSpace(e.Data); len(data) > 0 && data[0] != '[' && !json.Valid(data) {
			return strings.ToValidUTF8(string(data[:min(len(data), shown)]), "")
		}
	}
	return ""
}

// decode reads the response into the record; a second call does nothing.
func (f *finishing) decode(plan *Plan) {
	if f.decoded {
		return
	}
	f.decoded = true
	if failure := f.exchange.Response.Failure; failure != nil && failure.Code == codeForced {
		// What was received of it is not looked at: who cuts requests by force does
		// not want to wait until hundreds of long answers have been read.
		f.rec.Answer = bench.Answer{Failure: failure}
		f.exchange.Release()
		return
	}
	f.rec.Answer = plan.Kind.Decode(f.exchange.Response, plan.Settings.Streaming)
	if plan.Kind.Settle != nil {
		plan.Kind.Settle(&f.rec.Answer, f.exchange.Response, f.body)
	}
	f.rec.Items = len(f.rec.Answer.Vectors) + len(f.rec.Answer.Ranks)
	if f.items > 0 && f.rec.Items != f.items && f.rec.Answer.Failure == nil {
		if f.rec.Answer.Warnings == nil {
			f.rec.Answer.Warnings = map[string]int{}
		}
		f.rec.Answer.Warnings[warnCountMismatch]++
	}
	if f.rec.Answer.Warnings[warnMalformedEvent] > 0 {
		f.oddity = unreadable(f.exchange.Response)
	}
	if plan.Files.Raw {
		f.raw = export.NewRaw(f.rec, f.sent, f.body, f.exchange.Response)
	}
	f.exchange.Release()
}

// startFinishers starts the pool that decodes answers and counts tokens. It
// ends when p.finish is closed; the caller waits and closes out afterwards.
func (p *phase) startFinishers(out chan<- *bench.Record) *sync.WaitGroup {
	var pool sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		pool.Go(func() {
			for f := range p.finish {
				f.decode(p.run.plan)
				p.run.tokens.count(&f)
				if f.rec.Answer.Warnings[warnCountMismatch] > 0 {
					p.run.mismatched.Add(1)
				}
				if f.rec.Answer.Warnings[warnMalformedEvent] > 0 {
					p.run.malformed.Add(1)
					example := p.run.secrets.String(f.oddity)
					p.run.oddity.CompareAndSwap(nil, &example)
				}
				if failure := f.rec.Answer.Failure; failure != nil && failure.Class != bench.Cancelled {
					p.count.failed.Add(1)
				}
				p.run.redactRecord(f.rec)
				if f.raw != nil {
					p.run.raws.write(f.raw)
				}
				out <- f.rec
			}
		})
	}
	return &pool
}

// counter counts the tokens of requests and answers. Safe for concurrent use.
type counter struct {
	plan tokenPlan
	caps bench.Caps

	tokenizers tokenizers // empty = the client does not count

	answers    atomic.Int64 // that carry the server's count
	substitute *substitute  // tokenizers are missing; nil = none is
	counted    atomic.Bool  // the client's count stands in a record
	refused    atomic.Int64 // requests that a chat template refuses
	refusal    atomic.Pointer[error]
	noInput    bool // requests carry no text, whatever the dataset has
}

// method says who counts, for the report.
func (c *counter) method() string {
	switch {
	case c.plan.Server:
		return "server-reported usage"
	case c.tokenizers.first == nil:
	case c.plan.Client:
		return c.tokenizers.methods()
	default:
		return "server-reported usage, otherwise " + c.tokenizers.methods()
	}
	return ""
}

// count fills the token fields of a record: from the server's usage block where
// it says something, else from the client's own count. With server counts
// asked for, what the server leaves out stays unknown.
func (c *counter) count(f *finishing) {
	rec := f.rec
	tok := c.tokenizers.of(rec.Model)
	if tok != nil && rec.Stamps.Wrote != 0 {
		c.client(f, tok)
	}
	usage := rec.Answer.Usage
	if usage != nil && tok != nil && tok.missing != "" {
		c.substitute.compare(rec.ClientInput, usage.Input)
	}
	if c.plan.Client {
		c.byClient(rec)
		return
	}
	if usage != nil && usage.Output != nil {
		rec.TokenSource = bench.TokensServer
		rec.InputTokens = usage.Input
		reasoning := bench.Tokens(0)
		if usage.Reasoning != nil {
			reasoning = *usage.Reasoning
			rec.ReasoningTokens = usage.Reasoning
		}
		visible := max(0, *usage.Output-reasoning)
		rec.OutputTokens = &visible
		if rec.InputTokens == nil && !c.plan.Server {
			rec.InputTokens = rec.ClientInput
		}
		return
	}
	if c.plan.Server {
		if usage != nil {
			rec.InputTokens = usage.Input
		}
		return
	}
	if !c.caps.ProducesTokens && usage != nil && usage.Input != nil {
		rec.TokenSource, rec.InputTokens = bench.TokensServer, usage.Input
		return
	}
	if tok != nil {
		c.byClient(rec)
	}
}

// byClient takes the client's counts.
func (c *counter) byClient(rec *bench.Record) {
	c.counted.Store(true)
	rec.TokenSource = bench.TokensClient
	rec.InputTokens, rec.OutputTokens, rec.ReasoningTokens = rec.ClientInput, rec.ClientOutput, rec.ClientReasoning
}

// client counts with the run's tokenizer: the texts of the request joined by one
// space, and all answer texts joined without a separator, tool calls included.
func (c *counter) client(f *finishing, tok *named) {
	rec, usage := f.rec, f.rec.Answer.Usage
	turn := f.talk.Turns[rec.Turn]
	compare := c.plan.Client || usage == nil || usage.Output == nil || c.compares()
	if c.noInput {
		rec.ClientInput = nil
	} else if tok.chat != nil && turn.Payload == nil {
		if compare || usage.Input == nil {
			rec.ClientInput = c.templated(f, tok)
		}
	} else if known := turn.InputTokens; known > 0 && (len(f.history) == 0 || !c.caps.History) && (f.talk.System == "" && f.talk.Context == "" || !c.caps.System) {
		rec.ClientInput = &known
	} else if compare || usage.Input == nil {
		n := bench.Tokens(tok.Count(strings.Join(f.texts(&c.caps), " ")))
		rec.ClientInput = &n
	}
	if compare {
		answerLengths(rec, tok)
	}
}

// templated counts a request with its chat template, or without it if the template
// refuses the conversation.
func (c *counter) templated(f *finishing, tok *named) *bench.Tokens {
	text, err := tok.chat.template.Render(f.messages())
	if err != nil {
		c.refused.Add(1)
		c.refusal.CompareAndSwap(nil, &err)
		text = strings.Join(f.texts(&c.caps), " ")
	}
	n := bench.Tokens(tok.Count(text))
	return &n
}

// answerLengths counts what came back.
func answerLengths(rec *bench.Record, tok tokenizer.Tokenizer) {
	var output, reasoning strings.Builder
	for i := range rec.Answer.Choices {
		choice := &rec.Answer.Choices[i]
		reasoning.WriteString(choice.Reasoning)
		output.WriteString(choice.Text)
		output.WriteString(choice.Refusal)
		for _, call := range choice.ToolCalls {
			output.WriteString(call.Name)
			output.WriteString(call.Arguments)
		}
	}
	if output.Len() > 0 {
		n := bench.Tokens(tok.Count(output.String()))
		rec.ClientOutput = &n
	}
	if reasoning.Len() > 0 {
		n := bench.Tokens(tok.Count(reasoning.String()))
		rec.ClientReasoning = &n
	}
}

// The client's count of an answer that carries the server's is there to be compared
// with it: of the first comparedAll such answers, and of every comparedEvery-th
// from then on. To count them all would be a tenth of the client's work.
const (
	comparedAll   = 1000
	comparedEvery = 8
)

func (c *counter) compares() bool {
	n := c.answers.Add(1)
	return n <= comparedAll || n%comparedEvery == 0
}

// texts lists the text of a request in the order in which it was sent.
func (f *finishing) texts(caps *bench.Caps) []string {
	var out []string
	if caps.System {
		for _, fixed := range []string{f.talk.System, f.talk.Context} {
			if fixed != "" {
				out = append(out, fixed)
			}
		}
	}
	if caps.History {
		for i := range f.history {
			out = append(out, f.history[i].Turn.Texts...)
			out = append(out, f.history[i].Answer.Text)
		}
	}
	turn := &f.talk.Turns[f.rec.Turn]
	for _, named := range turn.Named {
		out = append(out, named.Texts...)
	}
	return append(out, turn.Texts...)
}
