package mock

import (
	"bytes"
	"errors"
	"fmt"
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
	s   *Server
	w   http.ResponseWriter
	r   *http.Request // nil in the front
	api protocol

	q       *textRequest
	choices []choice
	rng     *rand.Rand   // delays and chunk sizes
	itl     random.Delay // of this request
	firstNs int64        // due time of the first token; a hold moves it
	whole   bool         // the request came whole with its first bytes
	rule    *fault.Rule  // the rule that is to act, or nil
	acted   bool         // it has
	timer   *time.Timer
	misuse  *apierror.Error // what is wrong with the control headers
	hidden  bool            // the answer has no choices at all
	ticket  *ticket         // at the accelerator; nil without one
	metrics *modelMetrics

	ownTTFT   random.Delay // the request's own; unset = the server's
	ownITL    random.Delay
	ownTokens int

	panics bool // the connection must be cut, and only net/http can do it
	truth  truth.Record
}

// inference returns the handler of one route that runs a model.
func inference(p protocol) func(*Server, http.ResponseWriter, *http.Request) {
	return func(s *Server, w http.ResponseWriter, r *http.Request) {
		x := s.newExchange(p, origin{
			path: r.URL.Path, acceptNs: s.arrived(r.Context()),
			requestID: r.Header.Get("X-Request-Id"), correlationID: r.Header.Get("X-Correlation-ID"),
		})
		x.w, x.r = w, r
		x.misuse = x.control(r.Header)
		err := x.run()
		x.finish(err)
		if x.panics {
			panic(http.ErrAbortHandler)
		}
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

// newExchange counts a request and picks the rule that is to act on it. The
// caller sets w, and r unless it neither waits nor has rules.
func (s *Server) newExchange(p protocol, o origin) *exchange {
	seq := s.seq.Add(1)
	running := s.running.Add(1)
	for peak := s.peak.Load(); running > peak && !s.peak.CompareAndSwap(peak, running); {
		peak = s.peak.Load()
	}
	x := &exchange{
		s: s, api: p, whole: o.whole,
		rng: rand.New(rand.NewPCG(s.opt.Seed, seed.Mix(s.opt.Seed, uint64(seq)))),
		truth: truth.Record{
			Seq: seq, Path: o.path, AcceptNs: o.acceptNs,
			RequestID: o.requestID, CorrelationID: o.correlationID,
		},
	}
	for i := range s.opt.Faults {
		if s.opt.Faults[i].Matches(s.opt.Seed, i, seq) {
			x.rule = &s.opt.Faults[i]
			break
		}
	}
	return x
}

// run answers the request. The error is one of errors.go's, or an apiError that
// was sent already.
func (x *exchange) run() error {
	refusal, err := x.read()
	if err != nil {
		return err
	}
	if err := x.beforeHeaders(); err != nil {
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
		return x.stream()
	}
	return x.plain()
}

// read takes the body and parses it. A refusal is not sent yet: a fault rule
// comes first.
func (x *exchange) read() (refusal *apierror.Error, err error) {
	buf := x.s.bodies.Get().(*bytes.Buffer)
	defer x.s.putBody(buf)
	if err := x.s.readBody(x.w, x.r, buf); err != nil {
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
	x.truth.BodyReadNs = x.s.now()
	if c, ok := x.api.(chooser); ok {
		x.api = c.choose(x.s, body)
	}
	x.q, refusal = x.api.read(x.s, x.r, body)
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
	x.choices = x.s.plan(x.q, x.api.reasons())
	if x.rule != nil && x.rule.Action == fault.ActEmpty && x.rule.Kind != fault.EmptyBody {
		x.acted, x.hidden = true, x.rule.Kind == fault.EmptyChoices
		for i := range x.choices {
			x.choices[i].total, x.choices[i].reasoning, x.choices[i].finish = 0, 0, "stop"
		}
	}
	if !x.q.apart {
		x.metrics = x.s.metrics.forModel(x.q.model)
	}
	opt := &x.s.opt
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
	x.truth.HeadersNs, x.truth.Status = x.s.now(), status
	if x.s.opt.RequestIDHeaders {
		x.w.Header().Set("X-Request-Id", x.requestID())
	}
}

// requestID is the client's X-Request-Id, else one made from seed and number.
func (x *exchange) requestID() string {
	if x.truth.RequestID != "" {
		return x.truth.RequestID
	}
	seq := uint64(x.truth.Seq)
	return fmt.Sprintf("%016x%016x", seed.Mix(x.s.opt.Seed, seq), seed.Mix(seq, x.s.opt.Seed+1))
}

// waitUntil waits for a time of the server's clock. It returns at once when that
// has passed, else the reason for which it ended early.
func (x *exchange) waitUntil(dueNs int64) error {
	d := time.Duration(dueNs - x.s.now())
	if d <= 0 {
		return x.interrupted()
	}
	if x.timer == nil {
		x.timer = time.NewTimer(d)
	} else {
		x.timer.Reset(d)
	}
	select {
	case <-x.timer.C:
		return nil
	case <-x.r.Context().Done():
		return errClientGone
	case <-x.s.stopping:
		return errShutdown
	}
}

// interrupted says whether the exchange has to end, without waiting.
func (x *exchange) interrupted() error {
	select {
	case <-x.r.Context().Done():
		return errClientGone
	case <-x.s.stopping:
		return errShutdown
	default:
		return nil
	}
}

// Hold waits for d, for ever when d is negative, and moves all later due times.
func (x *exchange) hold(d time.Duration) error {
	if d >= 0 {
		x.firstNs += int64(d)
		return x.waitUntil(x.s.now() + int64(d))
	}
	select {
	case <-x.r.Context().Done():
		return errClientGone
	case <-x.s.stopping:
		return errShutdown
	}
}

// finish records the exchange.
func (x *exchange) finish(err error) {
	if x.timer != nil {
		x.timer.Stop()
	}
	t := &x.truth
	if x.ticket != nil {
		x.s.accelerator.leave(x.ticket)
		told := x.ticket.tell()
		t.Batch = &told
	}
	if t.Outcome == "" {
		t.Outcome = x.outcome(err)
	}
	t.EndNs = x.s.now()
	t.Derive()
	x.countEnd(err)
	x.s.record(t)
	x.s.running.Add(-1)
}

func (x *exchange) outcome(err error) string {
	var refusal *apierror.Error
	switch {
	case x.acted:
		return truth.OutcomeFault + x.rule.Text
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
