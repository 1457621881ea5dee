package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"
	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/random"
)

// Responses is OpenAI's API for responses, as OpenAI and vLLM serve it: POST /v1/responses.
type Responses struct{ stored StoredResponses }

// NewResponses returns the API with its own store.
func NewResponses() *Responses { return &Responses{} }

// Protocol returns the protocol of POST /v1/responses.
func (a *Responses) Protocol() *api.Protocol {
	items := &api.PartScript{Open: openItem, Delta: responseDelta, Close: closeItem}
	return &api.Protocol{
		Read: api.ReadJSON(a.read), Document: a.document, Reasons: true,
		Script: &api.Script{
			ContentType: api.EventStream, Begin: beginResponse, Content: items.Content,
			Finish: items.Finish, Close: a.close, Fail: failResponse,
		},
	}
}

// responsesRequest has the members of a request that answers repeat.
type responsesRequest struct {
	instructions string
	previous     string // id of the response that is continued; "" = none
	store        bool
	repeated     map[string]json.RawMessage // members that answers repeat unchanged
}

// repeated reads the members that answers repeat unchanged.
func repeated(f *api.Fields) map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	for _, name := range [...]string{
		"metadata", "parallel_tool_calls", "reasoning", "temperature", "text", "tool_choice", "tools", "top_p",
		"truncation", "user",
	} {
		v, ok := f.Get(name)
		if !ok {
			continue
		}
		if text := v.MarshalTo(nil); json.Valid(text) { // fastjson quotes control characters as Go does
			members[name] = text
		}
	}
	return members
}

// readResponseConstraints reads tools and the form of the answer; nil means that there
// are none.
func readResponseConstraints(f *api.Fields) *api.Constraints {
	w := &api.Constraints{}
	w.ReadFormat(f, "text.format", f.Member("text").Get("format"))
	w.ReadTools(f, api.FlatTools)
	if api.LastIs(f.Value.GetArray("input"), "type", "function_call_output", "custom_tool_call_output") {
		w.Tools = nil // the call was made, so the answer is text
	}
	if w.Empty() {
		return nil
	}
	return w
}

func (a *Responses) read(m *api.Model, _ *http.Request, f *api.Fields, q *api.Request) {
	q.Model, q.Stream, q.IgnoreEOS = f.Text("model"), f.Flag("stream"), f.Flag("ignore_eos")
	q.MaxTokens, q.Seed = f.Count("max_output_tokens", 1), f.Seed("seed")
	q.ReadStreamOptions(f)
	extra := &responsesRequest{
		instructions: f.Text("instructions"), previous: f.Text("previous_response_id"), store: f.Boolean("store", true),
		repeated: repeated(f),
	}
	q.Constraints = readResponseConstraints(f)
	var p api.Prompt
	a.resume(f, extra.previous, &p)
	var echo strings.Builder
	api.ReadText(m, []byte(extra.instructions), &p, &echo)
	readInput(m, f, &p)
	q.Prompts, q.Payload = []api.Prompt{p}, extra
}

// resume starts p with the conversation up to a stored response.
func (a *Responses) resume(f *api.Fields, previous string, p *api.Prompt) {
	if previous == "" {
		return
	}
	stored, ok := a.stored.Get(previous)
	if !ok {
		f.Reject(noResponse(previous, "previous_response_id"))
		return
	}
	p.Tokens, p.Hash = stored.Tokens, stored.hash
}

// noResponse is the error for a response that is not stored.
func noResponse(id, param string) *api.Error {
	status := http.StatusNotFound
	return api.NewError(status, fmt.Sprintf("Response with id '%s' not found.", api.Shorten(id)), param)
}

// keep stores an answer that is about to be complete, with its object.
func (a *Responses) keep(x *api.Answer, output int, object []byte) {
	if extra := api.PayloadOf[*responsesRequest](x); extra != nil && extra.store {
		p, id := &x.Request.Prompts[0], responseID(x)
		a.stored.Put(id, StoredResponse{p.Tokens + output, random.Hash(p.Hash, []byte(id)), bytes.Clone(object)})
	}
}

// Serve handles GET /v1/responses/ID.
func (a *Responses) Serve(_ *api.Model, w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	stored, ok := a.stored.Get(id)
	if !ok || stored.Object == nil {
		refusal := noResponse(id, "response_id")
		api.Refuse(w, refusal)
		return
	}
	api.Respond(w, http.StatusOK, stored.Object)
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
	for _, item := range f.List("input", "string or non-empty list") {
		if item.Type() != fastjson.TypeObject {
			f.Fail("input", "list of items")
			return
		}
		readItem(m, f, item, p)
	}
}

// readItem adds one item to p.
func readItem(m *api.Model, f *api.Fields, item *fastjson.Value, p *api.Prompt) {
	in := f.In(item)
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
		in.Refuse("input", "Unknown item type: "+api.Shorten(kind))
	}
}

// need reads a required string of an object.
func need(f *api.Fields, name string) {
	if f.Text(name) == "" {
		f.Fail(name, "string")
	}
}

// MaxStored is the number of responses that requests can continue; the oldest are
// removed first.
const MaxStored = 10_000

// MaxObjects is the number of the newest responses that can be retrieved.
const MaxObjects = 1000

// StoredResponses stores responses. The zero value is ready to use. It is safe for
// concurrent use.
type StoredResponses struct {
	mu    sync.Mutex
	ByID  map[string]StoredResponse
	order []string // ids, as a ring once it is full
	next  int      // of the ring: the oldest
}

// StoredResponse is a conversation up to and including an answer.
type StoredResponse struct {
	Tokens int
	hash   uint32
	Object []byte // the response as it was sent; nil = removed
}

// Put stores a response and removes the oldest if there are too many.
func (s *StoredResponses) Put(id string, r StoredResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ByID == nil {
		s.ByID = make(map[string]StoredResponse)
	}
	if _, again := s.ByID[id]; !again {
		if len(s.order) < MaxStored {
			s.order = append(s.order, id)
		} else {
			delete(s.ByID, s.order[s.next])
			s.order[s.next] = id
			s.next = (s.next + 1) % MaxStored
		}
		if n := len(s.order); n > MaxObjects {
			s.forget(s.order[(s.next+n-1-MaxObjects)%n])
		}
	}
	s.ByID[id] = r
}

// forget removes the object of a response, which can still be continued. s.mu must be
// held.
func (s *StoredResponses) forget(id string) {
	r := s.ByID[id]
	r.Object = nil
	s.ByID[id] = r
}

// Get returns a stored response.
func (s *StoredResponses) Get(id string) (StoredResponse, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.ByID[id]
	return r, ok
}
