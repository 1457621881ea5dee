// Package runpod is the codec of the queue of Runpod Serverless.
package runpod

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
	"aiperfd/internal/engine/endpoint/openai"
	"aiperfd/internal/engine/endpoint/polling"
)

// The values of Settings for the type runpod.
const (
	ModeSync   = "sync"   // POST /runsync, then GET /status until the job is done
	ModeAsync  = "async"  // POST /run, then GET /status until the job is done
	ModeStream = "stream" // POST /run, then GET /stream until the job is done

	InputMessages = "messages" // the worker's own fields, with chat messages
	InputPrompt   = "prompt"   // the same with one text
	InputOpenAI   = "openai"   // a whole body of the chat API inside
	InputRoute    = "route"    // a whole body of the completions API inside, and its path
)

// The limits of Runpod's gateway for bodies, in bytes.
const (
	maxRunBody     = 10 << 20
	maxRunsyncBody = 20 << 20
)

// Kind is the queue of Runpod Serverless, with the worker for vLLM behind it
// (Runpod documentation, "Send requests", "Operation reference"; worker-vllm's
// README). The OpenAI routes of an endpoint need no separate type: chat,
// completions and others work with the base URL …/openai/v1.
func Kind() codec.Kind {
	return codec.Kind{
		Name: "runpod", Aliases: []string{"runpod_native"},
		Path: "/runsync", StreamPath: "/run", Title: "LLM Metrics",
		StreamAccept: "application/json",
		Caps: bench.Caps{
			Streams: true, ProducesTokens: true, TokenizesInput: true, Reasoning: true,
			System: true, History: true, Images: true, Audio: true, Video: true, Jobs: true,
		},
		Encode: encodeRunpod,
		Decode: polling.Decode(openai.Grammar(), newRunpod),
		Adapt:  adaptRunpod,
		Job:    &polling.Job{Poller: func() polling.Poller { return new(runpodPoller) }, Cancel: cancelRunpod, Pause: pauseRunpod, Drop: "wait"},
	}
}

// adaptRunpod chooses the path: how long /runsync may hold the request is at most
// what the gateway allows.
func adaptRunpod(k *codec.Kind, s *codec.Settings) {
	const least, most = time.Second, 300 * time.Second
	switch cmp.Or(s.Job.Mode, ModeSync) {
	case ModeSync:
		wait := max(least, min(most, s.Job.Timeout))
		k.Path = "/runsync?wait=" + strconv.FormatInt(wait.Milliseconds(), 10)
	default:
		k.Path = "/run"
	}
}

func cancelRunpod(id string) polling.Call {
	return polling.Call{Method: http.MethodPost, Path: "../cancel/" + url.PathEscape(id), Now: true}
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
func runpodState(v *fastjson.Value) polling.State {
	switch string(answer.Str(v)) {
	case "IN_QUEUE":
		return polling.Queued
	case "IN_PROGRESS", "RUNNING":
		return polling.Running
	case "COMPLETED":
		return polling.Done
	case "FAILED", "ERROR":
		return polling.Failed
	case "CANCELLED":
		return polling.Cancelled
	case "TIMED_OUT":
		return polling.TimedOut
	}
	return polling.Unknown
}

// runpodItems returns the items of an answer of /stream: {"stream":[…]}, or the
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

func (p *runpodPoller) Next(t *polling.Tracker, v *fastjson.Value) polling.Step {
	isBare := v.Type() == fastjson.TypeArray
	state := polling.Unknown
	if !isBare {
		state = runpodState(v.Get("status"))
	}
	if !t.Identify(v, state) {
		return polling.Step{State: state}
	}
	status := &polling.Call{Method: http.MethodGet, Path: "../status/" + url.PathEscape(t.ID)}
	if t.Settings.Mode != ModeStream {
		if state.Over() || state == polling.Unknown && answer.Str(v.Get("status")) == nil {
			return polling.Step{State: state}
		}
		return polling.Step{State: state, Call: status}
	}
	stream := &polling.Call{Method: http.MethodGet, Path: "../stream/" + url.PathEscape(t.ID)}
	now := func(c *polling.Call) *polling.Call { c.Now = true; return c }
	items := runpodItems(v)
	p.bare = p.bare || isBare
	s := polling.Step{State: state, Call: stream}
	if len(items) > 0 {
		p.seen = true
		s.News = strconv.Itoa(int(t.Polls())) // never like the answer before
	}
	switch {
	case t.Polls() == 0 && state != polling.Unknown: // the submission; what it made comes in the stream, even if it is done
	case isBare && len(items) == 0 && t.State.Over(), p.asked && state.Over():
		s.Call = nil
	case isBare && len(items) == 0:
		s.Call = status
	case isBare:
	case state.Over() && len(items) > 0, state.Over() && p.bare:
		if !p.again { // what came since; a worker that repeats itself is not worth a busy loop
			s.Call, p.again = now(stream), true
		}
	case state == polling.Done && !p.seen, state == polling.Failed && !answer.Truthy(v.Get("error")):
		s.Call, p.asked = now(status), true
	case state.Over(), state == polling.Unknown && answer.Str(v.Get("status")) == nil && items == nil:
		s.Call = nil
	}
	return s
}

// encodeRunpod writes {"input":{…}}.
func encodeRunpod(dst []byte, r *codec.Request) ([]byte, error) {
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
		sampling := []codec.Field{codec.RawField(codec.FieldMaxTokens, codec.AppendMax(r.Turn.MaxTokens))}
		for _, f := range slices.Concat(extra.rest, extra.sampling) {
			sampling = codec.SetField(sampling, f.Name, f.Value)
		}
		input = append(input, codec.RawField("sampling_params", objectOrNone(sampling)))
		if settings.Streaming {
			input = append(input, codec.RawField(codec.FieldStream, json.RawMessage("true")))
		}
	}
	for _, f := range extra.input {
		input = codec.SetField(input, f.Name, f.Value)
	}
	job := []codec.Field{codec.RawField("input", codec.AppendObject(nil, input))}
	for _, f := range extra.job {
		job = codec.SetField(job, f.Name, f.Value)
	}
	before := len(dst)
	dst = codec.AppendObject(dst, job)
	limit, path := maxRunBody, "/run"
	if cmp.Or(settings.Job.Mode, ModeSync) == ModeSync {
		limit, path = maxRunsyncBody, "/runsync"
	}
	if size := len(dst) - before; size > limit {
		return dst[:before], fmt.Errorf("the body has %d bytes; Runpod takes at most %d on %s", size, limit, path)
	}
	return dst, nil
}

// isWorkers reports whether a request has the worker's own fields, not a body of
// another API.
func isWorkers(r *codec.Request) bool {
	return r.Settings.Job.Input != InputOpenAI && r.Settings.Job.Input != InputRoute
}

// runpodInput returns the fields of input with the conversation.
func runpodInput(r *codec.Request) ([]codec.Field, error) {
	t := &r.Turn
	switch mode := r.Settings.Job.Input; mode {
	case InputPrompt, InputRoute:
		if codec.HasMedia(t) {
			return nil, fmt.Errorf("runpod input %s takes text only; use messages or openai for images, audio and video", mode)
		}
		if mode == InputPrompt {
			return []codec.Field{codec.TextField("prompt", codec.JoinPrompt(r))}, nil
		}
		body, err := openai.EncodeCompletions(nil, r)
		return []codec.Field{
			codec.RawField("route", json.RawMessage(`"/v1/completions"`)), codec.RawField("method", json.RawMessage(`"POST"`)), codec.RawField("body", body),
		}, err
	case InputOpenAI:
		body, err := openai.EncodeChat(nil, r)
		return []codec.Field{codec.RawField("openai_route", json.RawMessage(`"/v1/chat/completions"`)), codec.RawField("openai_input", body)}, err
	}
	return []codec.Field{codec.RawField("messages", codec.AppendMessages(make([]byte, 0, codec.MessagesSize(r)), r))}, nil
}

// runpodExtra holds the user's additions to bodies, by their place.
type runpodExtra struct {
	job      []codec.Field // beside input
	input    []codec.Field
	sampling []codec.Field // inside of sampling_params
	rest     []codec.Field // sampling parameters too, or members of the body inside
}

// splitRunpodExtra sorts the user's fields by their names: those of the job go
// beside input, those that the worker reads itself into it. Any other is a
// sampling parameter, or belongs to the body inside. The objects input and
// sampling_params are merged key by key.
func splitRunpodExtra(r *codec.Request) (e runpodExtra, err error) {
	fields, err := codec.Extra(r)
	if err != nil {
		return e, err
	}
	for _, f := range fields {
		if f.Name == "input" {
			err = merge(f, func(f codec.Field) error { return e.add(f, &e.input, isWorkers(r)) })
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
func (e *runpodExtra) add(f codec.Field, list *[]codec.Field, workers bool) error {
	if f.Name == "sampling_params" && workers {
		return merge(f, func(f codec.Field) error {
			e.sampling = codec.SetField(e.sampling, f.Name, f.Value)
			return nil
		})
	}
	*list = codec.SetField(*list, f.Name, f.Value)
	return nil
}

// merge takes the members of an object.
func merge(f codec.Field, take func(codec.Field) error) error {
	members, err := codec.Fields(f.Value)
	if err != nil {
		return fmt.Errorf("merge extra inputs: %s is %s; it must be an object", f.Name, answer.Clip(string(f.Value)))
	}
	for _, m := range members {
		if err := take(m); err != nil {
			return err
		}
	}
	return nil
}

// place returns the list that a name belongs to.
func (e *runpodExtra) place(name string, workers bool) *[]codec.Field {
	switch name {
	case "webhook", "policy", "s3Config":
		return &e.job
	case "max_batch_size", "min_batch_size", "batch_size_growth_factor", "use_openai_format", "guided_options_request",
		"openai_route", "openai_input", "route", "method", "body":
		return &e.input
	case "messages", "prompt", "apply_chat_template", codec.FieldStream:
		if workers {
			return &e.input
		}
	}
	return &e.rest
}

// objectOrNone returns an object of fields; nil if none has a value.
func objectOrNone(fields []codec.Field) json.RawMessage {
	if !slices.ContainsFunc(fields, func(f codec.Field) bool { return f.Value != nil }) {
		return nil
	}
	return codec.AppendObject(nil, fields)
}
