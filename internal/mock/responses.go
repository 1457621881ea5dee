package mock

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/seed"
)

// responsesAPI is POST /v1/responses, as OpenAI and vLLM serve it.
type responsesAPI struct {
	streams script
	stored  storedResponses
}

var _ protocol = (*responsesAPI)(nil)

func newResponses() *responsesAPI {
	p := &responsesAPI{}
	p.streams = script{
		contentType: eventStream, begin: p.begin, first: p.first,
		content: p.content, finish: p.finish, close: p.close, fail: p.fail,
	}
	return p
}

// responsesRequest is what answers repeat of a request.
type responsesRequest struct {
	instructions string
	previous     string // id of the response that is continued; "" = none
	store        bool
	said         map[string][]byte // members that answers repeat as they came; nil = none
}

// repeats reads the members that answers repeat as they came.
func (r *responsesRequest) repeats(f *fields) {
	for _, name := range [...]string{"metadata", "parallel_tool_calls", "reasoning", "temperature", "text", "tool_choice", "tools", "top_p", "truncation", "user"} {
		if v, ok := f.get(name); ok {
			if r.said == nil {
				r.said = map[string][]byte{}
			}
			r.said[name] = v.MarshalTo(nil)
		}
	}
}

// readResponseWishes reads tools and the form of the answer; nil means that nothing
// was asked for.
func readResponseWishes(f *fields) *wishes {
	w := readFormat(f)
	if w == nil {
		w = &wishes{}
	}
	w.readTools(f, flatTools)
	if lastIs(f.v.GetArray("input"), "type", "function_call_output", "custom_tool_call_output") {
		w.tools = nil // the call was made; now the answer is wanted
	}
	if w.empty() {
		return nil
	}
	return w
}

// readFormat reads the form of the answer, which is the member text.format.
func readFormat(f *fields) *wishes {
	text, ok := f.member("text")
	if !ok {
		return nil
	}
	format := text.Get("format")
	switch kind := string(format.GetStringBytes("type")); kind {
	case "", "text":
		return nil
	case "json_object":
		return &wishes{anyObject: true}
	case "json_schema":
		schema := format.Get("schema")
		if schema == nil || schema.Type() != fastjson.TypeObject {
			f.fail("text.format.schema", "dictionary")
			return nil
		}
		return &wishes{structured: schema.MarshalTo(nil)}
	default:
		f.refuse("text.format", fmt.Sprintf("Input should be 'text', 'json_object' or 'json_schema', got %q.", kind))
		return nil
	}
}

func (*responsesAPI) reasons() bool { return true }

func (p *responsesAPI) script() *script { return &p.streams }

func (*responsesAPI) refusal(dst []byte, e *apierror.Error) []byte { return apierror.Append(dst, e) }

func (api *responsesAPI) read(m *model, _ *http.Request, body []byte) (*textRequest, *apierror.Error) {
	q := &textRequest{n: 1}
	refusal := m.parseJSON(body, func(f *fields) {
		q.model, q.stream, q.ignoreEOS = f.text("model"), f.boolean("stream"), f.boolean("ignore_eos")
		q.readLimit(f, "max_output_tokens")
		if v, ok := f.integer("seed"); ok {
			q.seed = uint64(v)
		}
		q.readStreamOptions(f)
		var p prompt
		extra := &responsesRequest{instructions: f.text("instructions"), previous: f.text("previous_response_id"), store: true}
		if _, ok := f.get("store"); ok {
			extra.store = f.boolean("store")
		}
		extra.repeats(f)
		q.wish = readResponseWishes(f)
		api.resume(f, extra.previous, &p)
		var said strings.Builder
		readText(m, []byte(extra.instructions), &p, &said)
		readInput(m, f, &p)
		q.prompts, q.payload = []prompt{p}, extra
		if f.err == nil {
			f.err = m.checkRequest(q)
		}
	})
	return q, refusal
}

// resume starts p with the conversation that ended with a stored response.
func (api *responsesAPI) resume(f *fields, previous string, p *prompt) {
	if previous == "" || f.err != nil {
		return
	}
	stored, ok := api.stored.get(previous)
	if !ok {
		f.err = noResponse(previous, "previous_response_id")
		return
	}
	p.tokens, p.hash = stored.tokens, stored.hash
}

// noResponse is the refusal of a response that is not stored.
func noResponse(id, param string) *apierror.Error {
	status := http.StatusNotFound
	return apierror.New(status, fmt.Sprintf("Response with id '%s' not found.", id[:min(len(id), 100)]), param)
}

// keep stores an answer that is about to be complete, with its object.
func (api *responsesAPI) keep(x *answer, output int, object []byte) {
	if extra, _ := x.q.payload.(*responsesRequest); extra != nil && extra.store {
		p := &x.q.prompts[0]
		api.stored.put(responseID(x), storedResponse{p.tokens + output, seed.Hash(p.hash, []byte(responseID(x))), bytes.Clone(object)})
	}
}

// serve is GET /v1/responses/ID.
func (api *responsesAPI) serve(_ *model, w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	stored, ok := api.stored.get(id)
	if !ok || stored.object == nil {
		refusal := noResponse(id, "response_id")
		_ = apierror.WriteJSON(w, refusal.Status, apierror.Append(nil, refusal))
		return
	}
	_ = apierror.WriteJSON(w, http.StatusOK, stored.object)
}

func responseID(x *answer) string { return "resp_" + x.requestID() }

// readLimit reads the length limit under its name in the API.
func (q *textRequest) readLimit(f *fields, name string) {
	v, ok := f.integer(name)
	if ok && v < 1 && f.err == nil {
		f.err = apierror.BadRequest(name, fmt.Sprintf("%s must be at least 1, got %d.", name, v))
	}
	q.maxTokens = v
}

// readInput reads a text or a list of items: they make one prompt.
func readInput(m *model, f *fields, p *prompt) {
	v, ok := f.get("input")
	if !ok {
		f.fail("input", "string or list")
		return
	}
	if v.Type() == fastjson.TypeString {
		var said strings.Builder
		readText(m, v.GetStringBytes(), p, &said)
		p.echo = said.String()
		return
	}
	list, err := v.Array()
	if err != nil || len(list) == 0 {
		f.fail("input", "string or non-empty list")
		return
	}
	for _, item := range list {
		if item.Type() != fastjson.TypeObject {
			f.fail("input", "list of items")
			return
		}
		readItem(m, f, item, p)
	}
}

// readItem adds one item to p.
func readItem(m *model, f *fields, item *fastjson.Value, p *prompt) {
	in := &fields{v: item, err: f.err}
	defer func() { f.err = in.err }()
	var said strings.Builder
	add := func(names ...string) {
		for _, name := range names {
			readText(m, []byte(in.text(name)), p, &said)
		}
	}
	switch kind := in.text("type"); kind {
	case "", "message":
		readMessage(m, in, item, p)
	case "function_call":
		add("name", "arguments")
		in.need("call_id")
	case "custom_tool_call":
		add("name", "input")
		in.need("call_id")
	case "function_call_output", "custom_tool_call_output":
		in.need("call_id")
		if v, ok := in.get("output"); ok && v.Type() == fastjson.TypeArray {
			for _, part := range v.GetArray() {
				readPart(m, in, part, p, &said)
			}
			return
		}
		add("output")
	case "reasoning", "item_reference": // not told to the model again
	default:
		if in.err == nil {
			in.err = apierror.BadRequest("input", "Unknown item type: "+kind[:min(len(kind), 100)])
		}
	}
}

// need refuses an object without a text that it must have.
func (f *fields) need(name string) {
	if f.text(name) == "" {
		f.fail(name, "string")
	}
}
