package mock

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// exchange is one inference request in service. It belongs to the goroutine of
// its handler, or to the front.
type exchange struct {
	api.Answer
	s       *Server
	w       http.ResponseWriter
	api     *api.Protocol
	whole   bool // the request arrived whole with its first bytes
	wait    waiter
	fault   injector
	misuse  *api.Error    // error of the control headers; nil = none
	ticket  *ticket       // at the accelerator; nil without one
	metrics *modelMetrics // nil = the request has not reached the engine

	ownTTFT   random.Delay // the request's own; unset = the server's
	ownITL    random.Delay
	ownTokens int
}

// inference returns the handler of one route that runs a model.
func inference(p *api.Protocol) handler {
	return func(s *Server, w http.ResponseWriter, r *http.Request) {
		x := newHandlerExchange(s, p, w, r)
		x.misuse = x.control(r.Header)
		x.end(x.run())
	}
}

// newHandlerExchange returns the exchange of a request that net/http serves.
func newHandlerExchange(s *Server, p *api.Protocol, w http.ResponseWriter, r *http.Request) *exchange {
	x := newExchange(s, p, w, origin{
		path: r.URL.Path, acceptNs: s.arrived(r.Context()),
		requestID: r.Header.Get("X-Request-Id"), correlationID: r.Header.Get("X-Correlation-ID"),
	})
	x.HTTP, x.wait.gone = r, r.Context().Done()
	return x
}

// end calls finish in a handler.
func (x *exchange) end(err error) {
	x.finish(err)
	if x.fault.panics {
		panic(http.ErrAbortHandler)
	}
}

// origin has the fields of the request head that an exchange needs.
type origin struct {
	path          string
	requestID     string
	correlationID string
	acceptNs      int64 // when the request arrived
	whole         bool  // with its body
}

// newExchange counts a request and selects its fault rule. p is nil if the answer is not
// that of a protocol.
func newExchange(s *Server, p *api.Protocol, w http.ResponseWriter, o origin) *exchange {
	seq := s.begin()
	x := &exchange{
		s: s, w: w, api: p, whole: o.whole, wait: waiter{now: s.now, stopping: s.stopping},
		Answer: api.Answer{
			Model: s.model, Options: s.opt, Header: w.Header(), Reasons: p != nil && p.Reasons,
			Rand: rand.New(rand.NewPCG(s.opt.Seed, random.Mix(s.opt.Seed, uint64(seq)))),
			Truth: api.Truth{
				Seq: seq, Path: o.path, AcceptNs: o.acceptNs,
				RequestID: o.requestID, CorrelationID: o.correlationID,
			},
		},
	}
	x.Cached, x.Verified, x.fault.x = x.cachedTokens, x.verified, x
	for i := range s.opt.Faults {
		if s.opt.Faults[i].Matches(s.opt.Seed, i, seq) {
			x.fault.rule = &s.opt.Faults[i]
			break
		}
	}
	return x
}

// run answers the request. The error is api.ErrClientGone, errShutdown or errFaulted, or
// an [api.Error] that was sent already.
func (x *exchange) run() error {
	if err := x.admit(); err != nil {
		return err
	}
	x.prepare()
	if x.s.accelerator != nil && !x.Request.NoModel {
		if err := x.enqueue(); err != nil {
			return err
		}
	}
	if x.Request.Stream {
		st, err := openStream(x)
		defer st.release()
		if err != nil {
			return err
		}
		return st.run()
	}
	d := newDocument(x)
	defer d.release()
	return d.run()
}

// admit reads and parses the request and refuses a bad one, after the fault rule, which has
// precedence. The errors are those of run.
func (x *exchange) admit() error {
	var refusal *api.Error
	buf := x.s.body()
	err := x.Model.ReadBody(x.w, x.HTTP, buf)
	if err == nil {
		refusal = cmp.Or(x.parse(buf.Bytes()), x.misuse)
	}
	x.s.putBody(buf)
	if err != nil && !errors.As(err, &refusal) {
		return err
	}
	if err := x.fault.beforeHeaders(); err != nil {
		return err
	}
	if refusal != nil {
		x.refuse(refusal)
		return refusal
	}
	return nil
}

// parse parses the body, whose last byte has just been read.
func (x *exchange) parse(body []byte) (refusal *api.Error) {
	x.Truth.BodyReadNs = x.Now()
	if choose := x.api.Choose; choose != nil {
		x.api = choose(x.Model, body)
		x.Reasons = x.api.Reasons
	}
	x.Request, refusal = x.api.Read(x.Model, x.HTTP, body)
	if x.Request != nil {
		x.Request.Acceptance = x.s.opt.Spec.AcceptanceOf(body)
		if x.ownTokens > 0 {
			x.Request.MaxTokens, x.Request.IgnoreEOS = x.ownTokens, true
		}
		x.Truth.Model, x.Truth.Stream = x.Request.Model, x.Request.Stream
		x.Truth.N, x.Truth.MaxTokens = x.Request.N*len(x.Request.Prompts), x.Request.MaxTokens
		x.Truth.PromptTokens = x.Request.PromptTokens()
	}
	return refusal
}

// prepare plans the answer and its first due time.
func (x *exchange) prepare() {
	x.Choices = x.Model.Plan(x.Request, x.Reasons)
	x.NoItems = x.fault.empties(options.EmptyOutput)
	if x.Hidden = x.fault.empties(options.EmptyChoices); x.Hidden || x.NoItems {
		x.Acted = true
		for i := range x.Choices {
			x.Choices[i].Total, x.Choices[i].Reasoning, x.Choices[i].Drafts, x.Choices[i].Finish = 0, 0, nil, "stop"
		}
	}
	if !x.Request.NoModel {
		x.metrics = x.s.metrics().forModel(x.Request.Model)
	}
	opt := x.Options
	x.ITL = opt.ITL
	if x.ownITL.IsSet() {
		x.ITL = x.ownITL
	}
	if opt.ITLPerRequest {
		x.ITL = random.ConstDelay(x.ITL.Draw(x.Rand))
	}
	if opt.Accelerator != nil && !x.Request.NoModel {
		return // it determines the times once the request is queued
	}
	if x.metrics != nil {
		x.metrics.promptTokens.Add(float64(x.Truth.PromptTokens))
	}
	draw := opt.TTFT
	if x.ownTTFT.IsSet() {
		draw = x.ownTTFT
	}
	ttft := draw.Draw(x.Rand) + time.Duration(x.Truth.PromptTokens)*opt.PrefillPerToken
	arrived := x.Truth.BodyReadNs
	if x.whole {
		arrived = x.Truth.AcceptNs
	}
	x.FirstNs += arrived + int64(ttft) // FirstNs has the delays so far
}

// refuse sends an error response.
func (x *exchange) refuse(e *api.Error) {
	x.head(e.Status)
	// The outcome is the error response, even if the client has disconnected.
	api.Respond(x.w, e.Status, x.api.Refusal(nil, e))
}

// head records the time of the response head, which the caller writes next.
func (x *exchange) head(status int) {
	x.Truth.HeadersNs, x.Truth.Status = x.Now(), status
	if x.Options.RequestIDHeaders {
		x.Header.Set("X-Request-Id", x.RequestID())
	}
}

// hold waits for d, forever if d is negative, and delays all later due times.
func (x *exchange) hold(d time.Duration) error {
	if d < 0 {
		return x.wait.forever()
	}
	x.FirstNs += int64(d)
	return x.wait.until(x.Now() + int64(d))
}

// tokenDue draws the due time of the n-th token.
func (x *exchange) tokenDue(n int) int64 {
	return x.FirstNs + int64(x.ITL.DrawSum(x.Rand, stepsTo(x.Choices, n)))
}

// stepsTo returns how many steps after the first token give the choices n tokens.
func stepsTo(choices []api.Choice, n int) int {
	if len(choices) == 0 {
		return max(n-1, 0)
	}
	return longestOf(choices).Steps(n)
}

// longestOf returns the choice with the most tokens.
func longestOf(choices []api.Choice) *api.Choice {
	most := &choices[0]
	for i := range choices {
		if choices[i].Total > most.Total {
			most = &choices[i]
		}
	}
	return most
}

func (x *exchange) flush() error { return http.NewResponseController(x.w).Flush() }

// finish records the exchange.
func (x *exchange) finish(err error) {
	x.wait.stop()
	t := &x.Truth
	if x.ticket != nil {
		x.s.accelerator.leave(x.ticket)
		batch := x.ticket.result()
		t.Batch = &batch
	}
	if t.Outcome == "" {
		t.Outcome = x.outcome(err)
	}
	t.EndNs = x.Now()
	t.Derive()
	x.countEnd(err)
	x.s.truths.add(t)
	x.s.running.Add(-1)
}

func (x *exchange) outcome(err error) string {
	var refusal *api.Error
	switch {
	case x.Acted:
		return api.OutcomeFault + x.fault.rule.Text
	case err == nil:
		return api.OutcomeOK
	case errors.As(err, &refusal):
		return api.OutcomeRejected + strconv.Itoa(refusal.Status)
	case errors.Is(err, errShutdown):
		return api.OutcomeShutdown
	default:
		return api.OutcomeClientGone
	}
}

// countEnd adds the end of the exchange to the metrics.
func (x *exchange) countEnd(err error) {
	m := x.metrics
	if m == nil {
		return // the request has not reached the engine
	}
	t := &x.Truth
	m.generationTokens.Add(float64(t.OutputTokens))
	if err == nil {
		m.ended(x)
	}
	switch {
	case err == nil:
		for i := range x.Choices {
			m.finished(x.Choices[i].Finish)
		}
		m.span(requestLatency, t.AcceptNs, t.EndNs)
		if x.s.spans != nil {
			x.s.spans.answered(x)
		}
	case errors.Is(err, errFaulted):
		m.finished("error")
	default:
		m.finished("abort")
	}
}

// Ends of an exchange other than a complete answer.
var (
	errShutdown = errors.New("server shuts down")
	errFaulted  = errors.New("answer ended by a fault rule")
)
