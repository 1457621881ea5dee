package mock

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/fault"
	"aiperfd/internal/mock/jobs"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/mock/seed"
)

// How long results of Runpod's jobs are kept.
const (
	syncExpiry  = time.Minute // of /runsync
	asyncExpiry = 30 * time.Minute
)

// submission is an API whose requests only start work.
type submission interface {
	protocol
	// queue returns where the work is queued.
	jobs() *jobs.Queue
	// plan makes the job of a request: its output and what it needs.
	plan(x *answer, j *jobs.Job)
	// wait returns how long the answer may be held back for the work to be done.
	wait(r *http.Request) time.Duration
}

// submits returns the handler of a route that starts work. Faults act on the
// answer to the submission, or on the work itself.
func submits(p submission) func(*Server, http.ResponseWriter, *http.Request) {
	return func(s *Server, w http.ResponseWriter, r *http.Request) {
		x := s.handlerExchange(p, w, r)
		x.end(x.submit(p))
	}
}

// submit starts the work, waits for it if that is asked, and says how it is.
func (x *exchange) submit(p submission) error {
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
	x.itl = x.opt.ITL
	x.choices = x.model.plan(x.q, false)
	x.metrics = x.s.metrics.forModel(x.q.model)
	x.metrics.promptTokens.Add(float64(x.truth.PromptTokens))
	j := &jobs.Job{Id: x.jobID(), Submitted: x.now(), End: jobs.Done, Expiry: asyncExpiry}
	if rule := x.fault.rule; rule != nil && rule.Action == fault.ActJob {
		x.acted, x.jobFault = true, rule.Kind
	}
	p.plan(&x.answer, j)
	if x.opt.Jobs.Expiry > 0 {
		j.Expiry = x.opt.Jobs.Expiry
	}
	if x.jobFault != "" {
		j.Apply(x.jobFault)
	}
	x.q.payload = j
	if !p.jobs().Submit(j) {
		status := http.StatusTooManyRequests
		full := apierror.New(status, "too many jobs are waiting", "")
		x.refuse(full)
		return full
	}
	if wait := p.wait(x.r); wait > 0 {
		err := p.jobs().Await(x.r.Context(), x.s.stopping, j.Id, j.Submitted+int64(wait))
		if errors.Is(err, jobs.ErrStopped) {
			return errShutdown
		}
		if err != nil {
			return errClientGone
		}
	}
	d := x.newDocument()
	defer d.release()
	return d.sendNow()
}

// jobID is the same for the same seed and number of the request.
func (x *exchange) jobID() string {
	const hex = 16
	return strconv.FormatUint(seed.Mix(x.opt.Seed^0x6a6f62, uint64(x.truth.Seq)), hex) + "-u1"
}

// draws returns what a delay of the queue is drawn with.
func (s *Server) draws(d random.Delay, salt uint64) func() time.Duration {
	rng := rand.New(rand.NewPCG(s.opt.Seed, salt))
	return func() time.Duration { return d.Draw(rng) }
}
