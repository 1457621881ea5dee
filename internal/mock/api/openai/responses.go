package openai

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/seed"
)

// responses is POST /v1/responses, as OpenAI and vLLM serve it.
type responses struct {
	streams api.Script
	stored  StoredResponses
}

var _ api.Protocol = (*responses)(nil)

// NewResponses returns the protocol of POST /v1/responses, with its own store.
func NewResponses() *responses {
	p := &responses{}
	p.streams = api.Script{
		ContentType: api.EventStream, Begin: p.begin, First: p.first,
		Content: p.content, Finish: p.finish, Close: p.close, Fail: p.fail,
	}
	return p
}

// responsesRequest has the members of a request that answers repeat.
type responsesRequest struct {
	instructions string
	previous     string // id of the response that is continued; "" = none
	store        bool
	repeated     map[string][]byte // members that answers repeat unchanged; nil = none
}

// repeats reads the members that answers repeat unchanged.
func (r *responsesRequest) repeats(f *api.Fields) {
	for _, name := range [...]string{"metadata", "parallel_tool_calls", "reasoning", "temperature", "text", "tool_choice", "tools", "top_p", "truncation", "user"} {
		if v, ok := f.Get(name); ok {
			if r.repeated == nil {
				r.repeated = map[string][]byte{}
			}
			r.repeated[name] = v.MarshalTo(nil)
		}
	}
}

// readResponseConstraints reads tools and the form of the answer; nil means that there
// are none.
func readResponseConstraints(f *api.Fields) *api.Constraints {
	w := readFormat(f)
	if w == nil {
		w = &api.Constraints{}
	}
	w.ReadTools(f, api.FlatTools)
	if api.LastIs(f.Value.GetArray("input"), "type", "function_call_output", "custom_tool_call_output") {
		w.Tools = nil // the call was made, so the answer is text
	}
	if w.Empty() {
		return nil
	}
	return w
}

// readFormat reads text.format, the form of the answer.
func readFormat(f *api.Fields) *api.Constraints {
	text, ok := f.Member("text")
	if !ok {
		return nil
	}
	format := text.Get("format")
	switch kind := string(format.GetStringBytes("type")); kind {
	case "", "text":
		return nil
	case "json_object":
		return &api.Constraints{AnyObject: true}
	case "json_schema":
		schema := format.Get("schema")
		if schema == nil || schema.Type() != fastjson.TypeObject {
			f.Fail("text.format.schema", "dictionary")
			return nil
		}
		return &api.Constraints{Structured: schema.MarshalTo(nil)}
	default:
		f.Refuse("text.format", fmt.Sprintf("Input should be 'text', 'json_object' or 'json_schema', got %q.", kind))
		return nil
	}
}

func (*responses) Reasons() bool { return true }

func (p *responses) Script() *api.Script { return &p.streams }

func (*responses) Refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

func (a *responses) Read(m *api.Model, _ *http.Request, body []byte) (*api.Request, *apierror.Error) {
	q := &api.Request{N: 1}
	refusal := m.ParseJSON(body, func(f *api.Fields) {
		q.Model, q.Stream, q.IgnoreEOS = f.Text("model"), f.Boolean("stream"), f.Boolean("ignore_eos")
		q.ReadLimit(f, "max_output_tokens")
		if v, ok := f.Integer("seed"); ok {
			q.Seed = uint64(v)
		}
		q.ReadStreamOptions(f)
		var p api.Prompt
		extra := &responsesRequest{instructions: f.Text("instructions"), previous: f.Text("previous_response_id"), store: true}
		if _, ok := f.Get("store"); ok {
			extra.store = f.Boolean("store")
		}
		extra.repeats(f)
		q.Constraints = readResponseConstraints(f)
		a.resume(f, extra.previous, &p)
		var echo strings.Builder
		api.ReadText(m, []byte(extra.instructions), &p, &echo)
		readInput(m, f, &p)
		q.Prompts, q.Payload = []api.Prompt{p}, extra
		if f.Err == nil {
			f.Err = m.CheckRequest(q)
		}
	})
	return q, refusal
}

// resume starts p with the conversation up to a stored response.
func (a *responses) resume(f *api.Fields, previous string, p *api.Prompt) {
	if previous == "" || f.Err != nil {
		return
	}
	stored, ok := a.stored.Get(previous)
	if !ok {
		f.Err = noResponse(previous, "previous_response_id")
		return
	}
	p.Tokens, p.Hash = stored.Tokens, stored.hash
}

// noResponse is the error for a response that is not stored.
func noResponse(id, param string) *apierror.Error {
	status := http.StatusNotFound
	return apierror.New(status, fmt.Sprintf("Response with id '%s' not found.", id[:min(len(id), 100)]), param)
}

// keep stores an answer that is about to be complete, with its object.
func (a *responses) keep(x *api.Answer, output int, object []byte) {
	if extra, _ := x.Request.Payload.(*responsesRequest); extra != nil && extra.store {
		p := &x.Request.Prompts[0]
		a.stored.Put(responseID(x), StoredResponse{p.Tokens + output, seed.Hash(p.Hash, []byte(responseID(x))), bytes.Clone(object)})
	}
}

// Serve handles GET /v1/responses/ID.
func (a *responses) Serve(_ *api.Model, w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	stored, ok := a.stored.Get(id)
	if !ok || stored.Object == nil {
		refusal := noResponse(id, "response_id")
		_ = apierror.WriteJSON(w, refusal.Status, apierror.Append(nil, refusal))
		return
	}
	_ = apierror.WriteJSON(w, http.StatusOK, stored.Object)
}

func responseID(x *api.Answer) string { return "resp_" + x.RequestID() }

// readInput reads a text or a list of items, which form one prompt.
func readInput(m *api.Model, f *api.Fields, p *api.Prompt) {
	v, ok := f.Get("input")
	if !ok {
		f.Fail("input", "string or list")
		return
	}
	if v.Type() == fastjson.TypeString {
		var echo strings.Builder
		api.ReadText(m, v.GetStringBytes(), p, &echo)
		p.Echo = echo.String()
		return
	}
	list, err := v.Array()
	if err != nil || len(list) == 0 {
		f.Fail("input", "string or non-empty list")
		return
	}
	for _, item := range list {
		if item.Type() != fastjson.TypeObject {
			f.Fail("input", "list of items")
			return
		}
		readItem(m, f, item, p)
	}
}

// readItem adds one item to p.
func readItem(m *api.Model, f *api.Fields, item *fastjson.Value, p *api.Prompt) {
	in := &api.Fields{Value: item, Err: f.Err}
	defer func() { f.Err = in.Err }()
	var echo strings.Builder
	add := func(names ...string) {
		for _, name := range names {
			api.ReadText(m, []byte(in.Text(name)), p, &echo)
		}
	}
	switch kind := in.Text("type"); kind {
	case "", "message":
		api.ReadMessage(m, in, item, p)
	case "function_call":
		add("name", "arguments")
		need(in, "call_id")
	case "custom_tool_call":
		add("name", "input")
		need(in, "call_id")
	case "function_call_output", "custom_tool_call_output":
		need(in, "call_id")
		if v, ok := in.Get("output"); ok && v.Type() == fastjson.TypeArray {
			for _, part := range v.GetArray() {
				api.ReadPart(m, in, part, p, &echo)
			}
			return
		}
		add("output")
	case "reasoning", "item_reference": // not part of the model's input
	default:
		if in.Err == nil {
			in.Err = apierror.BadRequest("input", "Unknown item type: "+kind[:min(len(kind), 100)])
		}
	}
}

// need reads a required string of an object.
func need(f *api.Fields, name string) {
	if f.Text(name) == "" {
		f.Fail(name, "string")
	}
}
