package mock

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jobs"
	"aiperfd/internal/mock/jsonappend"
)

// runpodJobs is Runpod's API of a serverless endpoint, with the worker for vLLM
// behind it: /run and /runsync.
type runpodJobs struct {
	*runpod
	sync bool
}

var _ submission = runpodJobs{}

// runpod is an endpoint and its queue.
type runpod struct{ queue *jobs.Queue }

func newRunpod(queue *jobs.Queue) *runpod { return &runpod{queue} }

func (runpodJobs) reasons() bool { return false }

func (runpodJobs) script() *script { return nil }

func (p runpodJobs) jobs() *jobs.Queue { return p.queue }

// refusal is as Runpod's gateway writes it.
func (runpodJobs) refusal(dst []byte, e *apierror.Error) []byte {
	dst = append(dst, `{"error":`...)
	dst = jsonappend.String(dst, e.Message)
	return append(dst, '}')
}

// The bounds of ?wait, and what holds without it.
const (
	leastWait   = time.Second
	mostWait    = 300 * time.Second
	defaultWait = 90 * time.Second
)

func (p runpodJobs) wait(r *http.Request) time.Duration {
	if !p.sync {
		return 0
	}
	ms, err := strconv.Atoi(r.URL.Query().Get("wait"))
	if err != nil {
		return defaultWait
	}
	return max(leastWait, min(mostWait, time.Duration(ms)*time.Millisecond))
}

// textJob is what a job of a language model puts out.
type textJob struct {
	q         *textRequest
	choice    choice
	created   int64 // seconds
	chat      bool
	batches   []parcel
	delivered int    // batches
	held      []byte // of a stream's text, for the next batch
	problem   string // what the worker says in place of output; "" = nothing
	output    string // one of the options
	limit     time.Duration
}

// parcel is output that becomes available at once.
type parcel struct {
	from, to int // tokens
	after    int64
}

// batching is how a worker gathers tokens.
type batching struct{ least, most, growth int }

// read parses {"input":{…}}: messages, a prompt, or a body of OpenAI's API.
func (runpodJobs) read(m *model, _ *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{}
	t := &textJob{output: m.opt.Jobs.Output}
	gather := batching{1, 50, 3}
	refusal := m.parseJSON(body, func(f *fields) {
		v, ok := f.get("input")
		if !ok || v.Type() != fastjson.TypeObject {
			f.err = apierror.BadRequest("input", "input is required")
			return
		}
		input := &fields{v: v}
		q.stream = input.boolean("stream")
		t.readInput(m, input, q)
		gather.read(input)
		f.err = input.err
		if policy, ok := f.get("policy"); ok {
			p := &fields{v: policy, err: f.err}
			ms, _ := p.integer("executionTimeout")
			t.limit, f.err = time.Duration(ms)*time.Millisecond, p.err
		}
		if f.err != nil {
			return
		}
		if err := m.checkRequest(q); err != nil {
			// The gateway takes everything; it is the worker who complains.
			t.problem = fmt.Sprintf("vLLM returned HTTP %d: %s", err.Status, apierror.Append(nil, err))
			if len(q.prompts) == 0 {
				q.prompts = []prompt{{}}
			}
		}
	})
	t.q = q
	q.payload = &plannedText{t, gather}
	return q, refusal
}

// plannedText is a text job on its way from read to plan.
type plannedText struct {
	text   *textJob
	gather batching
}

// readInput reads what is asked of the model.
func (t *textJob) readInput(m *model, input *fields, q *textRequest) {
	body, path := input, ""
	for _, names := range [][2]string{{"openai_route", "openai_input"}, {"route", "body"}} {
		if path = input.text(names[0]); path == "" {
			continue
		}
		v, ok := input.get(names[1])
		if !ok || v.Type() != fastjson.TypeObject {
			input.fail(names[1], "dictionary")
			return
		}
		body = &fields{v: v, err: input.err}
		break
	}
	q.model = body.text("model")
	lengths := body
	if path == "" {
		if v, ok := input.get("sampling_params"); ok {
			lengths = &fields{v: v}
		}
	} else {
		q.stream = body.boolean("stream")
	}
	q.readLengths(lengths)
	q.ignoreEOS = lengths.boolean("ignore_eos")
	_, hasMessages := body.get("messages")
	_, hasPrompt := body.get("prompt")
	switch {
	case path == "/v1/chat/completions", path == "" && hasMessages:
		t.chat = true
		q.prompts = chatDialect{}.prompts(m, body)
	case path == "/v1/completions", path == "" && hasPrompt:
		q.prompts = completionDialect{}.prompts(m, body)
	case path != "":
		body.err = apierror.BadRequest("route", fmt.Sprintf("route is %q, accepted: /v1/chat/completions and /v1/completions", path))
	default:
		body.err = apierror.BadRequest("input", "input needs messages, a prompt or a route")
	}
	for _, f := range []*fields{lengths, body} {
		if input.err == nil {
			input.err = f.err
		}
	}
}

// read reads the worker's own options.
func (b *batching) read(input *fields) {
	for _, o := range []struct {
		name string
		n    *int
	}{{"min_batch_size", &b.least}, {"max_batch_size", &b.most}, {"batch_size_growth_factor", &b.growth}} {
		if n, ok := input.integer(o.name); ok && n >= 1 {
			*o.n = n
		}
	}
}

// plan draws when which token will be there.
func (p runpodJobs) plan(x *answer, j *jobs.Job) {
	planned := x.q.payload.(*plannedText)
	t := planned.text
	j.Payload, t.choice, t.created = t, x.choices[0], j.Submitted/int64(time.Second)
	if p.sync {
		j.Expiry = syncExpiry
	}
	opt := x.opt
	after := int64(opt.TTFT.Draw(x.rng)) + int64(x.truth.PromptTokens)*int64(opt.PrefillPerToken)
	size := planned.gather.least
	for sent := 0; sent < t.choice.total && t.problem == ""; {
		n := min(size, t.choice.total-sent)
		gaps := n
		if sent == 0 {
			gaps--
		}
		after += int64(x.itl.DrawSum(x.rng, gaps))
		t.batches = append(t.batches, parcel{sent, sent + n, after})
		sent += n
		size = min(planned.gather.most, size*planned.gather.growth)
	}
	j.Needs = time.Duration(after)
	if t.limit > 0 && j.Needs > t.limit {
		j.End, j.Needs = jobs.TimedOut, t.limit
	}
}

// document says how the job is, after its submission.
func (p runpodJobs) document(dst []byte, x *answer) ([]byte, string) {
	j, _ := x.q.payload.(*jobs.Job)
	now := x.now()
	p.queue.See(j, now, func(s jobs.State) {
		if p.sync {
			dst = appendRunpodStatus(dst, j, s, now)
		} else {
			dst = appendRunpodHead(dst, j, jobs.Queued, now) // whatever has become of it already
			dst = append(dst, '}')
		}
	})
	return dst, "application/json"
}

// textJobOf returns what the queue keeps of a job.
func textJobOf(j *jobs.Job) *textJob {
	t, _ := j.Payload.(*textJob)
	return t
}

// runpodStates are Runpod's words, in the order of the states.
func runpodStates() [6]string {
	return [...]string{"IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"}
}

// appendRunpodHead opens the object about a job.
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
	dst = jsonappend.String(dst, j.Id)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, runpodStates()[s]...)
	return append(dst, '"')
}

// jobError is what a worker says that breaks down.
const jobError = `{"error_type":"<class 'RuntimeError'>","error_message":"The engine died while the answer was being generated.",` +
	`"error_traceback":"Traceback (most recent call last): simulated","hostname":"mock","worker_id":"mock"}`

// appendRunpodStatus writes the whole object about a job.
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

// about answers a request about one job with what write appends.
func (*runpod) about(write func(dst []byte, id string, now int64) ([]byte, bool)) func(*model, http.ResponseWriter, *http.Request) {
	return func(m *model, w http.ResponseWriter, r *http.Request) {
		body, ok := write(nil, chi.URLParam(r, "id"), m.now())
		if !ok {
			_ = apierror.WriteJSON(w, http.StatusNotFound, []byte(`{"error":"job not found"}`))
			return
		}
		_ = apierror.WriteJSON(w, http.StatusOK, body)
	}
}

// appendStatus is GET /status/{id}.
func (p *runpod) appendStatus(dst []byte, id string, now int64) ([]byte, bool) {
	ok := p.queue.Look(id, now, func(j *jobs.Job, state jobs.State) {
		dst = appendRunpodStatus(dst, j, state, now)
	})
	return dst, ok
}

// appendCancel is POST /cancel/{id}.
func (p *runpod) appendCancel(dst []byte, id string, now int64) ([]byte, bool) {
	if !p.queue.Cancel(id, now) {
		return nil, false
	}
	ok := p.queue.Look(id, now, func(j *jobs.Job, state jobs.State) {
		dst = append(appendRunpodHead(dst, j, state, now), '}')
	})
	return dst, ok
}

// appendStream is /stream/{id}: what has become available since the last call.
func (p *runpod) appendStream(dst []byte, id string, now int64) ([]byte, bool) {
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

// serveRetry is POST /retry/{id}.
func (p *runpod) serveRetry(m *model, w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	found, ok := p.queue.Retry(id, m.now())
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

// servePurge is POST /purge-queue.
func (p *runpod) servePurge(m *model, w http.ResponseWriter, _ *http.Request) {
	body := strconv.AppendInt([]byte(`{"removed":`), int64(p.queue.Purge(m.now())), 10)
	_ = apierror.WriteJSON(w, http.StatusOK, append(body, `,"status":"completed"}`...))
}

// serveHealth is GET /health below an endpoint.
func (p *runpod) serveHealth(m *model, w http.ResponseWriter, _ *http.Request) {
	c := p.queue.Census(m.now())
	workers := m.opt.Jobs.Workers
	body := fmt.Appendf(nil, `{"jobs":{"completed":%d,"failed":%d,"inProgress":%d,"inQueue":%d,"retried":%d},`+
		`"workers":{"idle":%d,"initializing":%d,"ready":%d,"running":%d,"throttled":0,"unhealthy":0}}`,
		c.Done, c.Failed, c.Running, c.Queued, c.Retried,
		workers-c.Busy-c.Starting, c.Starting, workers-c.Starting, c.Busy)
	_ = apierror.WriteJSON(w, http.StatusOK, body)
}
