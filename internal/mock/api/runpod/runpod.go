// Package runpod implements the API of a serverless endpoint of Runpod with Runpod's
// worker for vLLM.
package runpod

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jobs"
	"aiperfd/internal/mock/jsonappend"
)

// syncExpiry is the time that results of /runsync are kept.
const syncExpiry = time.Minute

// Submission is the protocol of /run and /runsync.
type Submission struct {
	*Endpoint
	Sync bool
}

var _ api.JobProtocol = Submission{}

// Endpoint is a serverless endpoint and its queue.
type Endpoint struct{ queue *jobs.Queue }

// New returns an endpoint whose jobs wait in queue.
func New(queue *jobs.Queue) *Endpoint { return &Endpoint{queue} }

// Reasons implements api.Protocol.
func (Submission) Reasons() bool { return false }

// Script implements api.Protocol.
func (Submission) Script() *api.Script { return nil }

// Jobs implements api.JobProtocol.
func (p Submission) Jobs() *jobs.Queue { return p.queue }

// Refusal appends an error in the form of Runpod's gateway.
func (Submission) Refusal(dst []byte, e *apierror.Error) []byte {
	dst = append(dst, `{"error":`...)
	dst = jsonappend.String(dst, e.Message)
	return append(dst, '}')
}

// The bounds of ?wait, and its default.
const (
	leastWait   = time.Second
	mostWait    = 300 * time.Second
	defaultWait = 90 * time.Second
)

// Wait implements api.JobProtocol.
func (p Submission) Wait(r *http.Request) time.Duration {
	if !p.Sync {
		return 0
	}
	ms, err := strconv.Atoi(r.URL.Query().Get("wait"))
	if err != nil {
		return defaultWait
	}
	return max(leastWait, min(mostWait, time.Duration(ms)*time.Millisecond))
}

// textJob is the output of a job of a language model.
type textJob struct {
	q         *api.Request
	choice    api.Choice
	created   int64 // seconds
	chat      bool
	batches   []parcel
	delivered int    // batches
	held      []byte // part of a stream's text for the next batch
	problem   string // the worker's error message in place of output; "" = none
	output    string // one of the options
	limit     time.Duration
}

// parcel is a part of the output that becomes available at once.
type parcel struct {
	from, to int // tokens
	after    int64
}

// batching is how a worker batches tokens.
type batching struct{ least, most, growth int }

// Read parses {"input":{…}}: messages, a prompt, or a body of OpenAI's API.
func (Submission) Read(m *api.Model, _ *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q := &api.Request{}
	t := &textJob{output: m.Options.Jobs.Output}
	gather := batching{1, 50, 3}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		v, ok := f.Get("input")
		if !ok || v.Type() != fastjson.TypeObject {
			f.Err = apierror.BadRequest("input", "input is required")
			return
		}
		input := &api.Fields{Value: v}
		q.Stream = input.Boolean("stream")
		t.readInput(m, input, q)
		gather.read(input)
		f.Err = input.Err
		if policy, ok := f.Get("policy"); ok {
			p := &api.Fields{Value: policy, Err: f.Err}
			ms, _ := p.Integer("executionTimeout")
			t.limit, f.Err = time.Duration(ms)*time.Millisecond, p.Err
		}
		if f.Err != nil {
			return
		}
		if err := m.CheckRequest(q); err != nil {
			// The gateway accepts everything; the worker reports the error.
			t.problem = fmt.Sprintf("vLLM returned HTTP %d: %s", err.Status, apierror.Append(nil, err))
			if len(q.Prompts) == 0 {
				q.Prompts = []api.Prompt{{}}
			}
		}
	})
	t.q = q
	q.Payload = &plannedText{t, gather}
	return q, refusal
}

// plannedText is a text job that Read has read, for Plan.
type plannedText struct {
	text   *textJob
	gather batching
}

// readInput reads the request to the model.
func (t *textJob) readInput(m *api.Model, input *api.Fields, q *api.Request) {
	body, path := input, ""
	for _, names := range [][2]string{{"openai_route", "openai_input"}, {"route", "body"}} {
		if path = input.Text(names[0]); path == "" {
			continue
		}
		v, ok := input.Get(names[1])
		if !ok || v.Type() != fastjson.TypeObject {
			input.Fail(names[1], "dictionary")
			return
		}
		body = &api.Fields{Value: v, Err: input.Err}
		break
	}
	q.Model = body.Text("model")
	lengths := body
	if path == "" {
		if v, ok := input.Get("sampling_params"); ok {
			lengths = &api.Fields{Value: v}
		}
	} else {
		q.Stream = body.Boolean("stream")
	}
	q.ReadLengths(lengths)
	q.IgnoreEOS = lengths.Boolean("ignore_eos")
	_, hasMessages := body.Get("messages")
	_, hasPrompt := body.Get("prompt")
	switch {
	case path == "/v1/chat/completions", path == "" && hasMessages:
		t.chat = true
		q.Prompts = api.ChatPrompts(m, body)
	case path == "/v1/completions", path == "" && hasPrompt:
		q.Prompts = api.CompletionPrompts(m, body)
	case path != "":
		body.Err = apierror.BadRequest("route", fmt.Sprintf("route is %q, accepted: /v1/chat/completions and /v1/completions", path))
	default:
		body.Err = apierror.BadRequest("input", "input needs messages, a prompt or a route")
	}
	for _, f := range []*api.Fields{lengths, body} {
		if input.Err == nil {
			input.Err = f.Err
		}
	}
}

// read reads the options of the worker.
func (b *batching) read(input *api.Fields) {
	for _, o := range []struct {
		name string
		n    *int
	}{{"min_batch_size", &b.least}, {"max_batch_size", &b.most}, {"batch_size_growth_factor", &b.growth}} {
		if n, ok := input.Integer(o.name); ok && n >= 1 {
			*o.n = n
		}
	}
}

// Plan draws the times of the tokens.
func (p Submission) Plan(x *api.Answer, j *jobs.Job) {
	planned := x.Request.Payload.(*plannedText)
	t := planned.text
	j.Payload, t.choice, t.created = t, x.Choices[0], j.Submitted/int64(time.Second)
	if p.Sync {
		j.Expiry = syncExpiry
	}
	opt := x.Options
	after := int64(opt.TTFT.Draw(x.Rand)) + int64(x.Truth.PromptTokens)*int64(opt.PrefillPerToken)
	size := planned.gather.least
	for sent := 0; sent < t.choice.Total && t.problem == ""; {
		n := min(size, t.choice.Total-sent)
		gaps := n
		if sent == 0 {
			gaps--
		}
		after += int64(x.ITL.DrawSum(x.Rand, gaps))
		t.batches = append(t.batches, parcel{sent, sent + n, after})
		sent += n
		size = min(planned.gather.most, size*planned.gather.growth)
	}
	j.Needs = time.Duration(after)
	if t.limit > 0 && j.Needs > t.limit {
		j.End, j.Needs = jobs.TimedOut, t.limit
	}
}

// Document appends the state of the job after its submission.
func (p Submission) Document(dst []byte, x *api.Answer) ([]byte, string) {
	j, _ := x.Request.Payload.(*jobs.Job)
	now := x.Now()
	p.queue.See(j, now, func(s jobs.State) {
		if p.Sync {
			dst = appendRunpodStatus(dst, j, s, now)
		} else {
			dst = appendRunpodHead(dst, j, jobs.Queued, now) // even if its state has changed already
			dst = append(dst, '}')
		}
	})
	return dst, "application/json"
}

// textJobOf returns the payload of a job.
func textJobOf(j *jobs.Job) *textJob {
	t, _ := j.Payload.(*textJob)
	return t
}

// runpodStates are Runpod's names of the states, in their order.
func runpodStates() [6]string {
	return [...]string{"IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"}
}

// appendRunpodHead appends the beginning of the object of a job.
func appendRunpodHead(dst []byte, j *jobs.Job, s jobs.State, now int64) []byte {
	dst = append(dst, '{')
	if j.Started != 0 && s != jobs.Queued {
		dst = append(dst, `"delayTime":`...)
		dst = strconv.AppendInt(dst, (j.Started-j.Submitted)/int64(time.Millisecond), 10)
		dst = append(dst, ',')
		if s.Over() {
			dst = append(dst, `"executionTime":`...)
			dst = strconv.AppendInt(dst, (min(now, j.Ended)-j.Started)/int64(time.Millisecond), 10)
			dst = append(dst, `,"workerId":"mock-`...)
			dst = strconv.AppendInt(dst, int64(j.Worker), 10)
			dst = append(dst, `",`...)
		}
	}
	dst = append(dst, `"id":`...)
	dst = jsonappend.String(dst, j.ID)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, runpodStates()[s]...)
	return append(dst, '"')
}

// jobError is the error of a worker that fails.
const jobError = `{"error_type":"<class 'RuntimeError'>","error_message":"The engine died while the answer was being generated.",` +
	`"error_traceback":"Traceback (most recent call last): simulated","hostname":"mock","worker_id":"mock"}`

// appendRunpodStatus appends the whole object of a job.
func appendRunpodStatus(dst []byte, j *jobs.Job, s jobs.State, now int64) []byte {
	dst = appendRunpodHead(dst, j, s, now)
	switch s {
	case jobs.Done:
		dst = append(dst, `,"output":`...)
		dst = textJobOf(j).appendOutput(dst)
	case jobs.Failed:
		dst = append(dst, `,"error":`...)
		dst = jsonappend.String(dst, jobError)
	case jobs.Queued, jobs.Running, jobs.Cancelled, jobs.TimedOut:
	}
	return append(dst, '}')
}

// About returns a handler that responds to a request for one job with the output of
// write.
func (*Endpoint) About(write func(dst []byte, id string, now int64) ([]byte, bool)) func(*api.Model, http.ResponseWriter, *http.Request) {
	return func(m *api.Model, w http.ResponseWriter, r *http.Request) {
		body, ok := write(nil, chi.URLParam(r, "id"), m.Now())
		if !ok {
			_ = apierror.WriteJSON(w, http.StatusNotFound, []byte(`{"error":"job not found"}`))
			return
		}
		_ = apierror.WriteJSON(w, http.StatusOK, body)
	}
}

// AppendStatus appends the response to GET /status/{id}.
func (p *Endpoint) AppendStatus(dst []byte, id string, now int64) ([]byte, bool) {
	ok := p.queue.Look(id, now, func(j *jobs.Job, state jobs.State) {
		dst = appendRunpodStatus(dst, j, state, now)
	})
	return dst, ok
}

// AppendCancel appends the response to POST /cancel/{id}.
func (p *Endpoint) AppendCancel(dst []byte, id string, now int64) ([]byte, bool) {
	if !p.queue.Cancel(id, now) {
		return nil, false
	}
	ok := p.queue.Look(id, now, func(j *jobs.Job, state jobs.State) {
		dst = append(appendRunpodHead(dst, j, state, now), '}')
	})
	return dst, ok
}

// AppendStream appends the response to /stream/{id}: the output since the last call.
func (p *Endpoint) AppendStream(dst []byte, id string, now int64) ([]byte, bool) {
	ok := p.queue.Look(id, now, func(j *jobs.Job, state jobs.State) {
		dst = append(dst, `{"status":"`...)
		dst = append(dst, runpodStates()[state]...)
		dst = append(dst, `","stream":[`...)
		if state != jobs.Queued {
			dst = textJobOf(j).appendNews(dst, min(now, j.Ended)-j.Started, state == jobs.Done)
		}
		dst = append(dst, "]}"...)
	})
	return dst, ok
}

// ServeRetry handles POST /retry/{id}.
func (p *Endpoint) ServeRetry(m *api.Model, w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	found, ok := p.queue.Retry(id, m.Now())
	switch {
	case !found:
		_ = apierror.WriteJSON(w, http.StatusNotFound, []byte(`{"error":"job not found"}`))
	case !ok:
		_ = apierror.WriteJSON(w, http.StatusBadRequest, []byte(`{"error":"only a job that failed or timed out can be retried"}`))
	default:
		body := jsonappend.String([]byte(`{"id":`), id)
		_ = apierror.WriteJSON(w, http.StatusOK, append(body, `,"status":"IN_QUEUE"}`...))
	}
}

// ServePurge handles POST /purge-queue.
func (p *Endpoint) ServePurge(m *api.Model, w http.ResponseWriter, _ *http.Request) {
	body := strconv.AppendInt([]byte(`{"removed":`), int64(p.queue.Purge(m.Now())), 10)
	_ = apierror.WriteJSON(w, http.StatusOK, append(body, `,"status":"completed"}`...))
}

// ServeHealth handles GET /health of an endpoint.
func (p *Endpoint) ServeHealth(m *api.Model, w http.ResponseWriter, _ *http.Request) {
	c := p.queue.Census(m.Now())
	workers := m.Options.Jobs.Workers
	body := fmt.Appendf(nil, `{"jobs":{"completed":%d,"failed":%d,"inProgress":%d,"inQueue":%d,"retried":%d},`+
		`"workers":{"idle":%d,"initializing":%d,"ready":%d,"running":%d,"throttled":0,"unhealthy":0}}`,
		c.Done, c.Failed, c.Running, c.Queued, c.Retried,
		workers-c.Busy-c.Starting, c.Starting, workers-c.Starting, c.Busy)
	_ = apierror.WriteJSON(w, http.StatusOK, body)
}
