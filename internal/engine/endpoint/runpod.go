package endpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"aiperfd/internal/engine/bench"

	"github.com/valyala/fastjson"
)

// The values of JobSettings for the type runpod.
const (
	RunpodSync   = "sync"   // POST /runsync, then GET /status until the job is done
	RunpodAsync  = "async"  // POST /run, then GET /status until the job is done
	RunpodStream = "stream" // POST /run, then GET /stream until the job is done

	RunpodMessages = "messages" // the worker's own fields, with chat messages
	RunpodPrompt   = "prompt"   // the same with one text
	RunpodOpenAI   = "openai"   // a whole body of the chat API inside
	RunpodRoute    = "route"    // a whole body of the completions API inside, and its path
)

// The limits of Runpod's gateway for bodies, in bytes.
const (
	maxRunBody     = 10 << 20
	maxRunsyncBody = 20 << 20
)

// runpod is the queue of Runpod Serverless, with the worker for vLLM behind it
// (Runpod documentation, "Send requests", "Operation reference"; worker-vllm's
// README). The OpenAI routes of an endpoint need no type of their own: chat,
// completions and others work with the base URL …/openai/v1.
func runpod() Kind {
	return Kind{
		Name: "runpod", Aliases: []string{"runpod_native"},
		Path: "/runsync", StreamPath: "/run", Title: "LLM Metrics",
		StreamAccept: "application/json",
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true, Audio: true, Video: true, Jobs: true,
		},
		Encode: encodeRunpod,
		Decode: decodeJob(openAI(), newRunpod),
		Adapt:  adaptRunpod,
		Job:    &Job{poller: func() poller { return new(runpodPoller) }, cancel: cancelRunpod, pause: pauseRunpod, drop: "wait"},
	}
}

// adaptRunpod chooses the path: how long /runsync may hold the request is at most
// what the gateway allows.
func adaptRunpod(k *Kind, s *Settings) {
	const least, most = time.Second, 300 * time.Second
	switch cmp.Or(s.Job.Mode, RunpodSync) {
	case RunpodSync:
		wait := max(least, min(most, s.Job.Timeout))
		k.Path = "/runsync?wait=" + strconv.FormatInt(wait.Milliseconds(), 10)
	default:
		k.Path = "/run"
	}
}

func cancelRunpod(id string) Call {
	return Call{Method: http.MethodPost, path: "../cancel/" + url.PathEscape(id), Now: true}
}

// pauseRunpod: 100 ms for two seconds, then half as long again each time, up to
// one second.
func pauseRunpod(elapsed, last time.Duration) time.Duration {
	const first, most, eager = 100 * time.Millisecond, time.Second, 2 * time.Second
	if elapsed < eager || last == 0 {
		return first
	}
	return min(most, last+last/2)
}

// runpodState reads the status of a job.
func runpodState(v *fastjson.Value) jobState {
	switch string(str(v)) {
	case "IN_QUEUE":
		return jobQueued
	case "IN_PROGRESS", "RUNNING":
		return jobRunning
	case "COMPLETED":
		return jobDone
	case "FAILED", "ERROR":
		return jobFailed
	case "CANCELLED":
		return jobCancelled
	case "TIMED_OUT":
		return jobTimedOut
	}
	return jobUnknown
}

// runpodItems returns what an answer of /stream brought: {"stream":[…]}, or the
// bare list.
func runpodItems(v *fastjson.Value) []*fastjson.Value {
	if v.Type() == fastjson.TypeArray {
		return v.GetArray()
	}
	return v.GetArray("stream")
}

// runpodPoller follows one job.
type runpodPoller struct {
	again bool // the stream was requested at once after the job had ended
	seen  bool // a poll has returned output
	asked bool // the status was requested, to be sure
	bare  bool // streams do not contain the status of the job
}

func (p *runpodPoller) next(t *Tracker, v *fastjson.Value) step {
	isBare := v.Type() == fastjson.TypeArray
	state := jobUnknown
	if !isBare {
		state = runpodState(v.Get("status"))
	}
	if t.id == "" {
		id, ok := jobID(v)
		if !ok && !state.over() {
			return step{state: state}
		}
		t.id = id
	}
	status := &Call{Method: http.MethodGet, path: "../status/" + url.PathEscape(t.id)}
	if t.settings.Mode != RunpodStream {
		if state.over() || state == jobUnknown && str(v.Get("status")) == nil {
			return step{state: state}
		}
		return step{state: state, call: status}
	}
	stream := &Call{Method: http.MethodGet, path: "../stream/" + url.PathEscape(t.id)}
	now := func(c *Call) *Call { c.Now = true; return c }
	items := runpodItems(v)
	p.bare = p.bare || isBare
	s := step{state: state, call: stream}
	if len(items) > 0 {
		p.seen = true
		s.news = strconv.Itoa(int(t.polls)) // never like the answer before
	}
	switch {
	case t.polls == 0 && state != jobUnknown: // the submission; what it made comes in the stream, even if it is done
	case isBare && len(items) == 0 && t.state.over(), p.asked && state.over():
		s.call = nil
	case isBare && len(items) == 0:
		s.call = status
	case isBare:
	case state.over() && len(items) > 0, state.over() && p.bare:
		if !p.again { // what came since; a worker that repeats itself is not worth a busy loop
			s.call, p.again = now(stream), true
		}
	case state == jobDone && !p.seen, state == jobFailed && !truthy(v.Get("error")):
		s.call, p.asked = now(status), true
	case state.over(), state == jobUnknown && str(v.Get("status")) == nil && items == nil:
		s.call = nil
	}
	return s
}

// encodeRunpod writes {"input":{…}}.
func encodeRunpod(dst []byte, r *Request) ([]byte, error) {
	extra, err := splitRunpodExtra(r)
	if err != nil {
		return dst, err
	}
	inner := *r
	settings := *r.Settings
	inner.Settings, settings.Extra, inner.Turn.ExtraBody = &settings, extra.rest, nil
	input, err := runpodInput(&inner)
	if err != nil {
		return dst, err
	}
	if isWorkers(r) {
		sampling := []Field{{fieldMaxTokens, appendMax(r.Turn.MaxTokens)}}
		for _, f := range slices.Concat(extra.rest, extra.sampling) {
			sampling = setField(sampling, f.Name, f.Value)
		}
		input = append(input, Field{"sampling_params", objectOrNone(sampling)})
		if settings.Streaming {
			input = append(input, Field{fieldStream, json.RawMessage("true")})
		}
	}
	for _, f := range extra.input {
		input = setField(input, f.Name, f.Value)
	}
	job := []Field{{"input", appendObject(nil, input)}}
	for _, f := range extra.job {
		job = setField(job, f.Name, f.Value)
	}
	before := len(dst)
	dst = appendObject(dst, job)
	limit, path := maxRunBody, "/run"
	if cmp.Or(settings.Job.Mode, RunpodSync) == RunpodSync {
		limit, path = maxRunsyncBody, "/runsync"
	}
	if size := len(dst) - before; size > limit {
		return dst[:before], fmt.Errorf("the body has %d bytes; Runpod takes at most %d on %s", size, limit, path)
	}
	return dst, nil
}

// isWorkers reports whether a request has the worker's own fields, not a body of
// another API.
func isWorkers(r *Request) bool {
	return r.Settings.Job.Input != RunpodOpenAI && r.Settings.Job.Input != RunpodRoute
}

// runpodInput returns the fields of input that say what is asked.
func runpodInput(r *Request) ([]Field, error) {
	t := &r.Turn
	hasMedia := len(t.Images)+len(t.Audios)+len(t.Videos) > 0
	switch mode := r.Settings.Job.Input; mode {
	case RunpodPrompt, RunpodRoute:
		if hasMedia {
			return nil, fmt.Errorf("runpod input %s takes text only; use messages or openai for images, audio and video", mode)
		}
		if mode == RunpodPrompt {
			return []Field{{"prompt", appendString(nil, joinPrompt(r))}}, nil
		}
		body, err := encodeCompletions(nil, r)
		return []Field{
			{"route", json.RawMessage(`"/v1/completions"`)}, {"method", json.RawMessage(`"POST"`)}, {"body", body},
		}, err
	case RunpodOpenAI:
		body, err := encodeChat(nil, r)
		return []Field{{"openai_route", json.RawMessage(`"/v1/chat/completions"`)}, {"openai_input", body}}, err
	}
	return []Field{{"messages", appendMessages(make([]byte, 0, messagesSize(r)), r)}}, nil
}

// runpodExtra is what users add to bodies, by the place where it belongs.
type runpodExtra struct {
	job      []Field // beside input
	input    []Field
	sampling []Field // inside of sampling_params
	rest     []Field // sampling parameters too, or members of the body inside
}

// splitRunpodExtra sorts the user's fields by their names: those of the job go
// beside input, those that the worker reads itself into it. Anything else is a
// sampling parameter, or belongs to the body inside. The objects input and
// sampling_params are merged key by key.
func splitRunpodExtra(r *Request) (e runpodExtra, err error) {
	fields := r.Settings.Extra
	if len(r.Turn.ExtraBody) > 0 {
		own, err := Fields(r.Turn.ExtraBody)
		if err != nil {
			return e, fmt.Errorf("merge the turn's extra body: %w", err)
		}
		fields = slices.Concat(fields, own)
	}
	for _, f := range fields {
		if f.Name == "input" {
			err = merge(f, func(f Field) error { return e.add(f, &e.input, isWorkers(r)) })
		} else {
			err = e.add(f, e.place(f.Name, isWorkers(r)), isWorkers(r))
		}
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

// add puts one field into a list, and the members of sampling_params into theirs.
func (e *runpodExtra) add(f Field, list *[]Field, workers bool) error {
	if f.Name == "sampling_params" && workers {
		return merge(f, func(f Field) error {
			e.sampling = setField(e.sampling, f.Name, f.Value)
			return nil
		})
	}
	*list = setField(*list, f.Name, f.Value)
	return nil
}

// merge takes the members of an object.
func merge(f Field, take func(Field) error) error {
	members, err := Fields(f.Value)
	if err != nil {
		return fmt.Errorf("merge extra inputs: %s is %s; it must be an object", f.Name, clip(string(f.Value)))
	}
	for _, m := range members {
		if err := take(m); err != nil {
			return err
		}
	}
	return nil
}

// place returns the list that a name belongs to.
func (e *runpodExtra) place(name string, workers bool) *[]Field {
	switch name {
	case "webhook", "policy", "s3Config":
		return &e.job
	case "max_batch_size", "min_batch_size", "batch_size_growth_factor", "use_openai_format", "guided_options_request",
		"openai_route", "openai_input", "route", "method", "body":
		return &e.input
	case "messages", "prompt", "apply_chat_template", fieldStream:
		if workers {
			return &e.input
		}
	}
	return &e.rest
}

// objectOrNone returns an object of fields; nil where none has a value.
func objectOrNone(fields []Field) json.RawMessage {
	if !slices.ContainsFunc(fields, func(f Field) bool { return f.Value != nil }) {
		return nil
	}
	return appendObject(nil, fields)
}
