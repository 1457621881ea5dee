package jobs

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"aiperfd/internal/mock/api"
)

// syncExpiry is the time that results of /runsync are kept.
const syncExpiry = time.Minute

// The bounds of ?wait, and its default.
const (
	leastWait   = time.Second
	mostWait    = 300 * time.Second
	defaultWait = 90 * time.Second
)

// Runpod is a serverless endpoint of Runpod and its queue.
type Runpod struct{ queue *Queue }

// NewRunpod returns an endpoint whose jobs wait in queue.
func NewRunpod(queue *Queue) *Runpod { return &Runpod{queue} }

// Submission returns the protocol of /run.
func (p *Runpod) Submission() *Protocol {
	return p.submission(planText, func(j *Job, _ State, now int64) any {
		return newRunpodJob(j, Queued, now) // even if its state has changed already
	})
}

// SyncSubmission returns the protocol of /runsync.
func (p *Runpod) SyncSubmission() *Protocol {
	out := p.submission(func(x *api.Answer, j *Job) {
		j.Expiry = syncExpiry
		planText(x, j)
	}, newRunpodStatus)
	out.Wait = func(r *http.Request) time.Duration {
		ms, err := strconv.Atoi(r.URL.Query().Get("wait"))
		if err != nil {
			return defaultWait
		}
		return max(leastWait, min(mostWait, time.Duration(ms)*time.Millisecond))
	}
	return out
}

// submission returns the protocol of a route whose answer is that of status.
func (p *Runpod) submission(plan func(*api.Answer, *Job), status func(*Job, State, int64) any) *Protocol {
	return &Protocol{Queue: p.queue, Plan: plan, Protocol: api.Protocol{
		Read: readRunpod, Refuse: api.SimpleError, // in the form of Runpod's gateway
		Document: p.queue.document(status),
	}}
}

// textJob is the output of a job of a language model.
type textJob struct {
	q         *api.Request
	choice    api.Choice
	created   int64 // seconds
	chat      bool
	batches   []parcel
	delivered int    // batches
	held      string // part of a stream's text for the next batch
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

// readRunpod parses {"input":{…}}: messages, a prompt, or a body of OpenAI's API.
func readRunpod(m *api.Model, _ *http.Request, body []byte) (*api.Request, *api.Error) {
	q := &api.Request{}
	t := &textJob{output: m.Options.Jobs.Output}
	gather := batching{1, 50, 3}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		v, _ := f.Get("input")
		if v.GetObject() == nil {
			f.Refuse("input", "input is required")
			return
		}
		input := f.In(v)
		q.Stream = input.Flag("stream")
		t.readInput(m, input, q)
		gather.read(input)
		if policy, ok := f.Get("policy"); ok {
			ms, _ := f.In(policy).Integer("executionTimeout")
			t.limit = time.Duration(ms) * time.Millisecond
		}
		if f.Failed() {
			return
		}
		if err := m.CheckRequest(q); err != nil {
			// The gateway accepts everything; the worker reports the error.
			t.problem = fmt.Sprintf("vLLM returned HTTP %d: %s", err.Status, api.AppendError(nil, err))
			if len(q.Prompts) == 0 {
				q.Prompts = []api.Prompt{{}}
			}
		}
	})
	t.q = q
	q.Payload = &plannedText{t, gather}
	return q, refusal
}

// plannedText is a text job that was read, for planText.
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
		v, _ := input.Get(names[1])
		if v.GetObject() == nil {
			input.Fail(names[1], "dictionary")
			return
		}
		body = input.In(v)
		break
	}
	q.Model = body.Text("model")
	lengths := body
	if path != "" {
		q.Stream = body.Flag("stream")
	} else if v, ok := input.Get("sampling_params"); ok {
		lengths = input.In(v)
	}
	q.ReadLengths(lengths)
	q.IgnoreEOS = lengths.Flag("ignore_eos")
	_, hasMessages := body.Get("messages")
	_, hasPrompt := body.Get("prompt")
	switch {
	case path == "/v1/chat/completions", path == "" && hasMessages:
		t.chat = true
		q.Prompts = api.ChatPrompts(m, body)
	case path == "/v1/completions", path == "" && hasPrompt:
		q.Prompts = api.CompletionPrompts(m, body)
	case path != "":
		body.Refuse("route", fmt.Sprintf("route is %q, accepted: /v1/chat/completions and /v1/completions", path))
	default:
		body.Refuse("input", "input needs messages, a prompt or a route")
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

// planText draws the times of the tokens.
func planText(x *api.Answer, j *Job) {
	planned := api.PayloadOf[*plannedText](x)
	t := planned.text
	j.Payload, t.choice, t.created = t, x.Choices[0], j.Submitted/int64(time.Second)
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
		j.End, j.Needs = TimedOut, t.limit
	}
}

// textJobOf returns the payload of a job.
func textJobOf(j *Job) *textJob {
	t, _ := j.Payload.(*textJob)
	return t
}

// runpodState returns Runpod's name of a state.
func runpodState(s State) string {
	return [...]string{"IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"}[s]
}

// runpodJob is the object of a job. Times are in milliseconds.
type runpodJob struct {
	Delay     *int64 `json:"delayTime,omitempty"`
	Execution *int64 `json:"executionTime,omitempty"`
	Worker    string `json:"workerId,omitempty"`
	ID        string `json:"id"`
	Status    string `json:"status"`
	Output    []any  `json:"output,omitempty"`
	Error     string `json:"error,omitempty"`
}

// newRunpodJob returns the object of a job without its results.
func newRunpodJob(j *Job, s State, now int64) *runpodJob {
	out := &runpodJob{ID: j.ID, Status: runpodState(s)}
	if j.Started == 0 || s == Queued {
		return out
	}
	delay := (j.Started - j.Submitted) / int64(time.Millisecond)
	out.Delay = &delay
	if s.Over() {
		execution := (min(now, j.Ended) - j.Started) / int64(time.Millisecond)
		out.Execution, out.Worker = &execution, "mock-"+strconv.Itoa(j.Worker)
	}
	return out
}

// jobError is the error of a worker that fails.
const jobError = `{"error_type":"<class 'RuntimeError'>",` +
	`"error_message":"The engine died while the answer was being generated.",` +
	`"error_traceback":"Traceback (most recent call last): simulated","hostname":"mock","worker_id":"mock"}`

// newRunpodStatus returns the whole object of a job.
func newRunpodStatus(j *Job, s State, now int64) any {
	out := newRunpodJob(j, s, now)
	switch s {
	case Done:
		out.Output = []any{textJobOf(j).whole()}
	case Failed:
		out.Error = jobError
	case Queued, Running, Cancelled, TimedOut:
	}
	return out
}

// runpodStream is the response to /stream/{id}.
type runpodStream struct {
	Status string       `json:"status"`
	Stream []streamItem `json:"stream"`
}

// about responds with what answer returns about the job that the path names.
func (p *Runpod) about(
	m *api.Model, w http.ResponseWriter, r *http.Request, answer func(j *Job, s State, now int64) any,
) {
	now := m.Now()
	var body []byte
	if !p.queue.Look(chi.URLParam(r, "id"), now, func(j *Job, s State) { body = api.AppendJSON(nil, answer(j, s, now)) }) {
		noJob(w)
		return
	}
	api.Respond(w, http.StatusOK, body)
}

func noJob(w http.ResponseWriter) {
	api.Respond(w, http.StatusNotFound, []byte(`{"error":"job not found"}`))
}

// ServeStatus handles /status/{id}.
func (p *Runpod) ServeStatus(m *api.Model, w http.ResponseWriter, r *http.Request) {
	p.about(m, w, r, newRunpodStatus)
}

// ServeCancel handles POST /cancel/{id}.
func (p *Runpod) ServeCancel(m *api.Model, w http.ResponseWriter, r *http.Request) {
	if !p.queue.Cancel(chi.URLParam(r, "id"), m.Now()) {
		noJob(w)
		return
	}
	p.about(m, w, r, func(j *Job, s State, now int64) any { return newRunpodJob(j, s, now) })
}

// ServeStream handles /stream/{id}: the output since the last call.
func (p *Runpod) ServeStream(m *api.Model, w http.ResponseWriter, r *http.Request) {
	p.about(m, w, r, func(j *Job, s State, now int64) any {
		out := runpodStream{Status: runpodState(s), Stream: []streamItem{}}
		if s != Queued {
			out.Stream = textJobOf(j).news(min(now, j.Ended)-j.Started, s == Done)
		}
		return out
	})
}

// ServeRetry handles POST /retry/{id}.
func (p *Runpod) ServeRetry(m *api.Model, w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	found, ok := p.queue.Retry(id, m.Now())
	switch {
	case !found:
		noJob(w)
	case !ok:
		api.Respond(w, http.StatusBadRequest, []byte(`{"error":"only a job that failed or timed out can be retried"}`))
	default:
		api.OK(w, runpodJob{ID: id, Status: runpodState(Queued)})
	}
}

// ServePurge handles POST /purge-queue.
func (p *Runpod) ServePurge(m *api.Model, w http.ResponseWriter, _ *http.Request) {
	api.Respond(w, http.StatusOK, fmt.Appendf(nil, `{"removed":%d,"status":"completed"}`, p.queue.Purge(m.Now())))
}

// ServeHealth handles GET /health of an endpoint.
func (p *Runpod) ServeHealth(m *api.Model, w http.ResponseWriter, _ *http.Request) {
	c := p.queue.Census(m.Now())
	workers := m.Options.Jobs.Workers
	body := fmt.Appendf(nil, `{"jobs":{"completed":%d,"failed":%d,"inProgress":%d,"inQueue":%d,"retried":%d},`+
		`"workers":{"idle":%d,"initializing":%d,"ready":%d,"running":%d,"throttled":0,"unhealthy":0}}`,
		c.Done, c.Failed, c.Running, c.Queued, c.Retried,
		workers-c.Busy-c.Starting, c.Starting, workers-c.Starting, c.Busy)
	api.Respond(w, http.StatusOK, body)
}
