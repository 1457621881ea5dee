package mock

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"
)

// runpodQueue is Runpod's API of a serverless endpoint, with the worker for vLLM
// behind it: /run and /runsync.
type runpodQueue struct{ sync bool }

var _ submission = runpodQueue{}

func (runpodQueue) reasons() bool { return false }

func (runpodQueue) script() *script { return nil }

func (runpodQueue) queue(s *Server) *jobQueue { return s.runpod }

// refusal is as Runpod's gateway writes it.
func (runpodQueue) refusal(dst []byte, e *apiError) []byte {
	dst = append(dst, `{"error":`...)
	dst = appendJSONString(dst, e.message)
	return append(dst, '}')
}

// The bounds of ?wait, and what holds without it.
const (
	leastWait   = time.Second
	mostWait    = 300 * time.Second
	defaultWait = 90 * time.Second
)

func (p runpodQueue) wait(r *http.Request) time.Duration {
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
func (runpodQueue) read(s *Server, _ *http.Request, body []byte) (*textRequest, *apiError) {
	q := &textRequest{}
	t := &textJob{output: s.opt.Jobs.Output}
	gather := batching{1, 50, 3}
	refusal := s.parseJSON(body, func(f *fields) {
		v, ok := f.get("input")
		if !ok || v.Type() != fastjson.TypeObject {
			f.err = badRequest("input", "input is required")
			return
		}
		input := &fields{v: v}
		q.stream = input.boolean("stream")
		t.readInput(s, input, q)
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
		if err := s.checkRequest(q); err != nil {
			// The gateway takes everything; it is the worker who complains.
			t.problem = fmt.Sprintf("vLLM returned HTTP %d: %s", err.status, appendError(nil, err))
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
func (t *textJob) readInput(s *Server, input *fields, q *textRequest) {
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
		q.prompts = chatDialect{}.prompts(s, body)
	case path == "/v1/completions", path == "" && hasPrompt:
		q.prompts = completionDialect{}.prompts(s, body)
	case path != "":
		body.err = badRequest("route", fmt.Sprintf("route is %q, accepted: /v1/chat/completions and /v1/completions", path))
	default:
		body.err = badRequest("input", "input needs messages, a prompt or a route")
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
func (p runpodQueue) plan(x *exchange, j *job) {
	planned := x.q.payload.(*plannedText)
	t := planned.text
	j.text, t.choice, t.created = t, x.choices[0], j.submitted/int64(time.Second)
	if p.sync {
		j.expiry = syncExpiry
	}
	opt := &x.s.opt
	after := int64(opt.TTFT.draw(x.rng)) + int64(x.truth.PromptTokens)*int64(opt.PrefillPerToken)
	size := planned.gather.least
	for sent := 0; sent < t.choice.total && t.problem == ""; {
		n := min(size, t.choice.total-sent)
		gaps := n
		if sent == 0 {
			gaps--
		}
		after += int64(x.itl.drawSum(x.rng, gaps))
		t.batches = append(t.batches, parcel{sent, sent + n, after})
		sent += n
		size = min(planned.gather.most, size*planned.gather.growth)
	}
	j.needs = time.Duration(after)
	if t.limit > 0 && j.needs > t.limit {
		j.end, j.needs = jobTimedOut, t.limit
	}
}

// document says how the job is, after its submission.
func (p runpodQueue) document(dst []byte, x *exchange) ([]byte, string) {
	j, _ := x.q.payload.(*job)
	now := x.s.now()
	x.s.runpod.see(j, now, func(s jobState) {
		if p.sync {
			dst = appendRunpodStatus(dst, j, s, now)
		} else {
			dst = appendRunpodHead(dst, j, jobQueued, now) // whatever has become of it already
			dst = append(dst, '}')
		}
	})
	return dst, "application/json"
}

// runpodStates are Runpod's words, in the order of the states.
func runpodStates() [6]string {
	return [...]string{"IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"}
}

// appendRunpodHead opens the object about a job.
func appendRunpodHead(dst []byte, j *job, s jobState, now int64) []byte {
	dst = append(dst, '{')
	if j.started != 0 && s != jobQueued {
		dst = append(dst, `"delayTime":`...)
		dst = strconv.AppendInt(dst, (j.started-j.submitted)/int64(time.Millisecond), 10)
		dst = append(dst, ',')
		if s.over() {
			dst = append(dst, `"executionTime":`...)
			dst = strconv.AppendInt(dst, (min(now, j.ended)-j.started)/int64(time.Millisecond), 10)
			dst = append(dst, `,"workerId":"mock-`...)
			dst = strconv.AppendInt(dst, int64(j.worker), 10)
			dst = append(dst, `",`...)
		}
	}
	dst = append(dst, `"id":`...)
	dst = appendJSONString(dst, j.id)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, runpodStates()[s]...)
	return append(dst, '"')
}

// jobError is what a worker says that breaks down.
const jobError = `{"error_type":"<class 'RuntimeError'>","error_message":"The engine died while the answer was being generated.",` +
	`"error_traceback":"Traceback (most recent call last): simulated","hostname":"mock","worker_id":"mock"}`

// appendRunpodStatus writes the whole object about a job.
func appendRunpodStatus(dst []byte, j *job, s jobState, now int64) []byte {
	dst = appendRunpodHead(dst, j, s, now)
	switch s {
	case jobDone:
		dst = append(dst, `,"output":`...)
		dst = j.text.appendOutput(dst)
	case jobFailed:
		dst = append(dst, `,"error":`...)
		dst = appendJSONString(dst, jobError)
	case jobQueued, jobRunning, jobCancelled, jobTimedOut:
	}
	return append(dst, '}')
}

// runpodJob answers a request about one job with what write appends.
func runpodJob(write func(dst []byte, s *Server, id string, now int64) ([]byte, bool)) func(*Server, http.ResponseWriter, *http.Request) {
	return func(s *Server, w http.ResponseWriter, r *http.Request) {
		body, ok := write(nil, s, chi.URLParam(r, "id"), s.now())
		if !ok {
			_ = writeJSON(w, http.StatusNotFound, []byte(`{"error":"job not found"}`))
			return
		}
		_ = writeJSON(w, http.StatusOK, body)
	}
}

// runpodStatus is GET /status/{id}.
func runpodStatus(dst []byte, s *Server, id string, now int64) ([]byte, bool) {
	ok := s.runpod.look(id, now, func(j *job, state jobState) {
		dst = appendRunpodStatus(dst, j, state, now)
	})
	return dst, ok
}

// runpodCancel is POST /cancel/{id}.
func runpodCancel(dst []byte, s *Server, id string, now int64) ([]byte, bool) {
	if !s.runpod.cancel(id, now) {
		return nil, false
	}
	ok := s.runpod.look(id, now, func(j *job, state jobState) {
		dst = append(appendRunpodHead(dst, j, state, now), '}')
	})
	return dst, ok
}

// runpodStream is /stream/{id}: what has become available since the last call.
func runpodStream(dst []byte, s *Server, id string, now int64) ([]byte, bool) {
	ok := s.runpod.look(id, now, func(j *job, state jobState) {
		dst = append(dst, `{"status":"`...)
		dst = append(dst, runpodStates()[state]...)
		dst = append(dst, `","stream":[`...)
		if state != jobQueued {
			dst = j.text.appendNews(dst, min(now, j.ended)-j.started, state == jobDone)
		}
		dst = append(dst, "]}"...)
	})
	return dst, ok
}

// serveRunpodRetry is POST /retry/{id}.
func serveRunpodRetry(s *Server, w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	found, ok := s.runpod.retry(id, s.now())
	switch {
	case !found:
		_ = writeJSON(w, http.StatusNotFound, []byte(`{"error":"job not found"}`))
	case !ok:
		_ = writeJSON(w, http.StatusBadRequest, []byte(`{"error":"only a job that failed or timed out can be retried"}`))
	default:
		body := appendJSONString([]byte(`{"id":`), id)
		_ = writeJSON(w, http.StatusOK, append(body, `,"status":"IN_QUEUE"}`...))
	}
}

// serveRunpodPurge is POST /purge-queue.
func serveRunpodPurge(s *Server, w http.ResponseWriter, _ *http.Request) {
	body := strconv.AppendInt([]byte(`{"removed":`), int64(s.runpod.purge(s.now())), 10)
	_ = writeJSON(w, http.StatusOK, append(body, `,"status":"completed"}`...))
}

// serveRunpodHealth is GET /health below an endpoint.
func serveRunpodHealth(s *Server, w http.ResponseWriter, _ *http.Request) {
	c := s.runpod.census(s.now())
	workers := s.opt.Jobs.Workers
	body := fmt.Appendf(nil, `{"jobs":{"completed":%d,"failed":%d,"inProgress":%d,"inQueue":%d,"retried":%d},`+
		`"workers":{"idle":%d,"initializing":%d,"ready":%d,"running":%d,"throttled":0,"unhealthy":0}}`,
		c.done, c.failed, c.running, c.queued, c.retried,
		workers-c.busy-c.starting, c.starting, workers-c.starting, c.busy)
	_ = writeJSON(w, http.StatusOK, body)
}
