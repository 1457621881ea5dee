package mock

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/fault"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/seed"
	"aiperfd/internal/mock/truth"
)

// exchange is one inference request in service. It belongs to the goroutine of
// its handler, or to the front.
type exchange struct {
	answer
	s       *Server
	w       http.ResponseWriter
	api     protocol
	whole   bool // the request came whole with its first bytes
	wait    waiter
	fault   injector
	misuse  *apierror.Error // what is wrong with the control headers
	ticket  *ticket         // at the accelerator; nil without one
	metrics *modelMetrics   // nil = it never reached the engine

	ownTTFT   random.Delay // the request's own; unset = the server's
	ownITL    random.Delay
	ownTokens int
}

// inference returns the handler of one route that runs a model.
func inference(p protocol) func(*Server, http.ResponseWriter, *http.Request) {
	return func(s *Server, w http.ResponseWriter, r *http.Request) {
		x := s.handlerExchange(p, w, r)
		x.misuse = x.control(r.Header)
		x.end(x.run())
	}
}

// handlerExchange returns the exchange of a request that net/http serves.
func (s *Server) handlerExchange(p protocol, w http.ResponseWriter, r *http.Request) *exchange {
	x := s.newExchange(p, w, origin{
		path: r.URL.Path, acceptNs: s.arrived(r.Context()),
		requestID: r.Header.Get("X-Request-Id"), correlationID: r.Header.Get("X-Correlation-ID"),
	})
	x.r, x.wait.gone = r, r.Context().Done()
	return x
}

// end is finish in a handler.
func (x *exchange) end(err error) {
	x.finish(err)
	if x.fault.panics {
		panic(http.ErrAbortHandler)
	}
}

// origin is what an exchange keeps of the head of its request.
type origin struct {
	path          string
	requestID     string
	correlationID string
	acceptNs      int64 // when the request arrived
	whole         bool  // with its body
}

// newExchange counts a request and picks the rule that is to act on it. p may be nil if
// the answer is no protocol's.
func (s *Server) newExchange(p protocol, w http.ResponseWriter, o origin) *exchange {
	seq := s.seq.Add(1)
	running := s.running.Add(1)
	for peak := s.peak.Load(); running > peak && !s.peak.CompareAndSwap(peak, running); {
		peak = s.peak.Load()
	}
	x := &exchange{
		s: s, w: w, api: p, whole: o.whole, wait: waiter{now: s.now, stopping: s.stopping},
		answer: answer{
			model: s.model, opt: s.opt, header: w.Header(), reasons: p != nil && p.reasons(),
			rng: rand.New(rand.NewPCG(s.opt.Seed, seed.Mix(s.opt.Seed, uint64(seq)))),
			truth: truth.Record{
				Seq: seq, Path: o.path, AcceptNs: o.acceptNs,
				RequestID: o.requestID, CorrelationID: o.correlationID,
			},
		},
	}
	x.cached, x.fault.x = x.cachedTokens, x
	for i := range s.opt.Faults {
		if s.opt.Faults[i].Matches(s.opt.Seed, i, seq) {
			x.fault.rule = &s.opt.Faults[i]
			break
		}
	}
	return x
}

// run answers the request. The error is errClientGone, errShutdown or errFaulted, or an
// [apierror.Error] that was sent already.
func (x *exchange) run() error {
	refusal, err := x.read()
	if err != nil {
		return err
	}
	if err := x.fault.beforeHeaders(); err != nil {
		return err
	}
	if refusal != nil {
		x.refuse(refusal)
		return refusal
	}
	x.prepare()
	if x.s.accelerator != nil && !x.q.apart {
		if err := x.board(); err != nil {
			return err
		}
	}
	if x.q.stream {
		st, err := x.openStream()
		defer st.release()
		if err != nil {
			return err
		}
		return st.run()
	}
	d := x.newDocument()
	defer d.release()
	return d.run()
}

// read takes the body and parses it. A refusal is not sent yet: a fault rule
// comes first.
func (x *exchange) read() (refusal *apierror.Error, err error) {
	buf := x.s.bodies.Get().(*bytes.Buffer)
	defer x.s.putBody(buf)
	if err := x.model.readBody(x.w, x.r, buf); err != nil {
		if errors.As(err, &refusal) {
			return refusal, nil
		}
		return nil, err
	}
	refusal = x.parse(buf.Bytes())
	if refusal == nil {
		refusal = x.misuse
	}
	return refusal, nil
}

// parse reads the body, which has just come in whole.
func (x *exchange) parse(body []byte) (refusal *apierror.Error) {
	x.truth.BodyReadNs = x.now()
	if c, ok := x.api.(chooser); ok {
		x.api = c.choose(x.model, body)
		x.reasons = x.api.reasons()
	}
	x.q, refusal = x.api.read(x.model, x.r, body)
	if x.q != nil {
		if x.ownTokens > 0 {
			x.q.maxTokens, x.q.ignoreEOS = x.ownTokens, true
		}
		x.truth.Model, x.truth.Stream = x.q.model, x.q.stream
		x.truth.N, x.truth.MaxTokens = x.q.n*len(x.q.prompts), x.q.maxTokens
		x.truth.PromptTokens = x.q.promptTokens()
	}
	return refusal
}

// prepare plans the answer and its first due time.
func (x *exchange) prepare() {
	x.choices = x.model.plan(x.q, x.reasons)
	x.noItems = x.fault.empties(fault.EmptyOutput)
	if x.hidden = x.fault.empties(fault.EmptyChoices); x.hidden || x.noItems {
		x.acted = true
		for i := range x.choices {
			x.choices[i].total, x.choices[i].reasoning, x.choices[i].finish = 0, 0, "stop"
		}
	}
	if !x.q.apart {
		x.metrics = x.s.metrics.forModel(x.q.model)
	}
	opt := x.opt
	x.itl = opt.ITL
	if x.ownITL.IsSet() {
		x.itl = x.ownITL
	}
	if opt.ITLPerRequest {
		x.itl = random.ConstDelay(x.itl.Draw(x.rng))
	}
	if opt.Accelerator != nil && !x.q.apart {
		return // which gives the times, once the request is in
	}
	if x.metrics != nil {
		x.metrics.promptTokens.Add(float64(x.truth.PromptTokens))
	}
	draw := opt.TTFT
	if x.ownTTFT.IsSet() {
		draw = x.ownTTFT
	}
	ttft := draw.Draw(x.rng) + time.Duration(x.truth.PromptTokens)*opt.PrefillPerToken
	arrived := x.truth.BodyReadNs
	if x.whole {
		arrived = x.truth.AcceptNs
	}
	x.firstNs += arrived + int64(ttft) // on top of what was held already
}

// refuse sends an error body.
func (x *exchange) refuse(e *apierror.Error) {
	x.head(e.Status)
	// The outcome is the refusal; a client that left meanwhile changes nothing.
	_ = apierror.WriteJSON(x.w, e.Status, x.api.refusal(nil, e))
}

// head stamps the response head, which the caller writes next.
func (x *exchange) head(status int) {
	x.truth.HeadersNs, x.truth.Status = x.now(), status
	if x.opt.RequestIDHeaders {
		x.header.Set("X-Request-Id", x.requestID())
	}
}

// hold waits for d, for ever when d is negative, and moves all later due times.
func (x *exchange) hold(d time.Duration) error {
	if d < 0 {
		return x.wait.forever()
	}
	x.firstNs += int64(d)
	return x.wait.until(x.now() + int64(d))
}

// tokenDue draws the time at which n tokens are there.
func (x *exchange) tokenDue(n int) int64 {
	return x.firstNs + int64(x.itl.DrawSum(x.rng, max(n-1, 0)))
}

func (x *exchange) flush() error { return http.NewResponseController(x.w).Flush() }

// finish records the exchange.
func (x *exchange) finish(err error) {
	x.wait.stop()
	t := &x.truth
	if x.ticket != nil {
		x.s.accelerator.leave(x.ticket)
		told := x.ticket.tell()
		t.Batch = &told
	}
	if t.Outcome == "" {
		t.Outcome = x.outcome(err)
	}
	t.EndNs = x.now()
	t.Derive()
	x.countEnd(err)
	x.s.record(t)
	x.s.running.Add(-1)
}

func (x *exchange) outcome(err error) string {
	var refusal *apierror.Error
	switch {
	case x.acted:
		return truth.OutcomeFault + x.fault.rule.Text
	case err == nil:
		return truth.OutcomeOK
	case errors.As(err, &refusal):
		return truth.OutcomeRejected + strconv.Itoa(refusal.Status)
	case errors.Is(err, errShutdown):
		return truth.OutcomeShutdown
	default:
		return truth.OutcomeClientGone
	}
}

// countEnd adds the end of the exchange to the metrics.
func (x *exchange) countEnd(err error) {
	m := x.metrics
	if m == nil {
		return // it never reached the engine
	}
	t := &x.truth
	m.generationTokens.Add(float64(t.OutputTokens))
	if err == nil {
		m.ended(x)
	}
	switch {
	case err == nil:
		for i := range x.choices {
			m.finished(x.choices[i].finish)
		}
		m.latency.Observe(float64(t.EndNs-t.AcceptNs) / float64(time.Second))
	case errors.Is(err, errFaulted):
		m.finished("error")
	default:
		m.finished("abort")
	}
}

// Ends of an exchange other than a complete answer.
var (
	errClientGone = errors.New("client is gone")
	errShutdown   = errors.New("server shuts down")
	errFaulted    = errors.New("answer ended by a fault rule")
)
