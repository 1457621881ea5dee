package mock

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/jobs"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// asyncExpiry is the time that results of jobs are kept, unless their protocol says otherwise.
const asyncExpiry = 30 * time.Minute

// submits returns the handler of a route that starts a job. Faults apply to the response
// to the submission, or to the job itself.
func submits(p *jobs.Protocol) handler {
	return func(s *Server, w http.ResponseWriter, r *http.Request) {
		x := newHandlerExchange(s, &p.Protocol, w, r)
		x.end(x.submit(r.Context(), p))
	}
}

// submit starts the job, waits for it if the request sets a wait, and sends its state.
func (x *exchange) submit(ctx context.Context, p *jobs.Protocol) error {
	if err := x.admit(); err != nil {
		return err
	}
	x.ITL = x.Options.ITL
	x.Choices = x.Model.Plan(x.Request, false)
	x.metrics = x.s.metrics().forModel(x.Request.Model)
	x.metrics.promptTokens.Add(float64(x.Truth.PromptTokens))
	j := &jobs.Job{ID: x.jobID(), Submitted: x.Now(), End: jobs.Done, Expiry: asyncExpiry}
	if rule := x.fault.rule; rule != nil && rule.Action == options.ActJob {
		x.Acted, x.JobFault = true, rule.Kind
	}
	p.Plan(&x.Answer, j)
	if x.Options.Jobs.Expiry > 0 {
		j.Expiry = x.Options.Jobs.Expiry
	}
	if x.JobFault != "" {
		j.Apply(x.JobFault)
	}
	x.Request.Payload = j
	if !p.Queue.Submit(j) {
		status := http.StatusTooManyRequests
		full := api.NewError(status, "too many jobs are waiting", "")
		x.refuse(full)
		return full
	}
	if p.Wait != nil {
		err := p.Queue.Await(ctx, x.s.stopping, j.ID, j.Submitted+int64(p.Wait(x.HTTP)))
		if errors.Is(err, jobs.ErrStopped) {
			return errShutdown
		}
		if err != nil {
			return api.ErrClientGone
		}
	}
	d := newDocument(x)
	defer d.release()
	return d.sendNow()
}

// jobID returns an id that depends only on the seed and the number of the request.
func (x *exchange) jobID() string {
	const hex = 16
	return strconv.FormatUint(random.Mix(x.Options.Seed^0x6a6f62, uint64(x.Truth.Seq)), hex) + "-u1"
}
