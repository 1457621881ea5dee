package mock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/seed"
	"aiperfd/internal/mock/token"
)

// DefaultToolRate is the share of requests with tools to choose from that are
// answered by a call.
const DefaultToolRate = 0.5

// maxParallelTools bounds the calls of one answer.
const maxParallelTools = 100

// maxLogprobs is how many alternatives of a token can be asked for.
const maxLogprobs = 20

// wishes is what a request asks of the answer beyond its length.
type wishes struct {
	tools      []tool // to call; empty = none are to be called
	mustCall   bool
	oneCall    bool     // not more than one
	structured []byte   // a JSON schema that the answer has to follow; nil = any text
	anyObject  bool     // the answer is a JSON object
	oneOf      []string // the answer is one of these; nil = any
	logprobs   bool
	top        int // alternatives of each token
}

// tool is a function that can be called.
type tool struct {
	name   string
	schema []byte // of its arguments; nil = none
}

// toolCall is one call in an answer: a part of the choice's text, whose first
// token is the name.
type toolCall struct {
	id       string
	from, to int
}

// readStructured reads what OpenAI and vLLM offer for structured output; nil
// means that nothing was asked for.
func readStructured(f *fields) *wishes {
	w := &wishes{}
	if v, ok := f.member("response_format"); ok {
		switch kind := string(v.GetStringBytes("type")); kind {
		case "", "text":
		case "json_object":
			w.anyObject = true
		case "json_schema":
			schema := v.Get("json_schema", "schema")
			if schema == nil || schema.Type() != fastjson.TypeObject {
				f.fail("response_format.json_schema.schema", "dictionary")
				return nil
			}
			w.structured = schema.MarshalTo(nil)
		default:
			f.refuse("response_format", fmt.Sprintf("Input should be 'text', 'json_object' or 'json_schema', got %q.", kind))
		}
	}
	if v, ok := f.member("structured_outputs"); ok {
		w.guided(v.Get("json"), v.Get("choice"))
		w.anyObject = w.anyObject || v.GetBool("json_object")
	}
	w.guided(f.v.Get("guided_json"), f.v.Get("guided_choice"))
	if w.structured == nil && w.oneOf == nil && !w.anyObject {
		return nil
	}
	return w
}

// guided reads vLLM's own members; the schema may be a text too.
func (w *wishes) guided(schema, choice *fastjson.Value) {
	if schema != nil {
		switch schema.Type() {
		case fastjson.TypeObject:
			w.structured = schema.MarshalTo(nil)
		case fastjson.TypeString:
			w.structured = append([]byte(nil), schema.GetStringBytes()...)
		case fastjson.TypeNull, fastjson.TypeArray, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		}
	}
	if choice != nil {
		for _, v := range choice.GetArray() {
			w.oneOf = append(w.oneOf, string(v.GetStringBytes()))
		}
	}
}

// member reads a member that is an object.
func (f *fields) member(name string) (*fastjson.Value, bool) {
	v, ok := f.get(name)
	if !ok {
		return nil, false
	}
	if v.Type() != fastjson.TypeObject {
		f.fail(name, "dictionary")
		return nil, false
	}
	return v, true
}

func (f *fields) refuse(param, message string) {
	if f.err == nil {
		f.err = apierror.BadRequest(param, message)
	}
}

// toolShape is where an API keeps the name and the parameters of a function: in this
// member of a tool and of tool_choice.
type toolShape string

const (
	nestedTools toolShape = "function" // chat completions
	flatTools   toolShape = ""         // Responses: in the tool itself, and tools of other types stand beside it
)

// function returns what holds the name.
func (shape toolShape) function(v *fastjson.Value) *fastjson.Value {
	if shape == flatTools {
		return v
	}
	return v.Get(string(shape))
}

// skips reports whether a tool, or the choice of one, is of a type that is never called.
func (shape toolShape) skips(v *fastjson.Value) bool {
	kind := string(v.GetStringBytes("type"))
	return shape == flatTools && kind != "" && kind != "function"
}

// nameParam names the member that a tool without a name lacks.
func (shape toolShape) nameParam() string {
	if shape == flatTools {
		return "tools.name"
	}
	return "tools." + string(shape) + ".name"
}

// readTools reads tools, tool_choice and parallel_tool_calls.
func (w *wishes) readTools(f *fields, shape toolShape) {
	list, ok := f.get("tools")
	if !ok {
		return
	}
	tools := list.GetArray()
	if list.Type() != fastjson.TypeArray || len(tools) == 0 && shape != flatTools {
		f.fail("tools", "non-empty list")
		return
	}
	for _, v := range tools {
		if shape.skips(v) {
			continue
		}
		fn := shape.function(v)
		name := string(fn.GetStringBytes("name"))
		if name == "" {
			f.fail(shape.nameParam(), "string")
			return
		}
		t := tool{name: name}
		if p := fn.Get("parameters"); p != nil && p.Type() == fastjson.TypeObject {
			t.schema = p.MarshalTo(nil)
		}
		w.tools = append(w.tools, t)
	}
	if _, ok := f.get("parallel_tool_calls"); ok {
		w.oneCall = !f.boolean("parallel_tool_calls")
	}
	w.readToolChoice(f, shape)
}

func (w *wishes) readToolChoice(f *fields, shape toolShape) {
	choice, ok := f.get("tool_choice")
	if !ok {
		return
	}
	if choice.Type() == fastjson.TypeObject {
		switch kind := string(choice.GetStringBytes("type")); {
		case shape == flatTools && kind == "allowed_tools":
			f.refuse("tool_choice", "tool_choice of type 'allowed_tools' is not simulated.")
			return
		case shape.skips(choice):
			w.tools = nil
			return
		}
		w.only(f, string(shape.function(choice).GetStringBytes("name")))
		return
	}
	switch kind := string(choice.GetStringBytes()); kind {
	case "auto":
	case "none":
		w.tools = nil
	case "required":
		w.mustCall = true
	default:
		f.refuse("tool_choice", fmt.Sprintf("Input should be 'none', 'auto', 'required' or a named function, got %q.", kind))
	}
}

// only makes the tool of a name the one that is called.
func (w *wishes) only(f *fields, name string) {
	for _, t := range w.tools {
		if t.name == name {
			w.tools, w.mustCall, w.oneCall = []tool{t}, true, true
			return
		}
	}
	f.refuse("tool_choice", fmt.Sprintf("The tool %q of tool_choice is not among tools.", name))
}

// lastIs reports whether a text member of the last element has one of these values.
func lastIs(list []*fastjson.Value, member string, values ...string) bool {
	return len(list) > 0 && slices.Contains(values, string(list[len(list)-1].GetStringBytes(member)))
}

// empty says that nothing special is wished.
func (w *wishes) empty() bool {
	return len(w.tools) == 0 && w.structured == nil && w.oneOf == nil && !w.anyObject && !w.logprobs
}

// readTop checks how many alternatives are asked for.
func (w *wishes) readTop(f *fields, name string) {
	n, ok := f.integer(name)
	if !ok {
		return
	}
	if n < 0 || n > maxLogprobs {
		f.refuse(name, fmt.Sprintf("%s must be between 0 and %d, got %d.", name, maxLogprobs, n))
		return
	}
	w.top = n
}

// grant makes a planned choice what the request wishes. limit is how many tokens
// it may have, reasoning included. It depends on seeds and the request only.
func (m *model) grant(q *textRequest, c *choice, salt uint64, limit int) {
	random := rand.New(rand.NewPCG(salt, seed.Mix(m.opt.Seed, 2)))
	w := q.wish
	switch {
	case q.chat && random.Float64() < m.opt.RefusalRate:
		c.refused = true
		m.say(c, limit, token.Cut(m.opt.Tokenizer, refusalText))
	case w == nil:
	case len(w.tools) > 0 && (w.mustCall || random.Float64() < *m.opt.ToolRate):
		m.call(c, w, random, limit)
	case w.oneOf != nil:
		m.say(c, limit, token.Cut(m.opt.Tokenizer, w.oneOf[random.IntN(len(w.oneOf))]))
	case w.structured != nil:
		m.say(c, limit, token.Cut(m.opt.Tokenizer, string(m.conform(w.structured, random))))
	case w.anyObject:
		m.say(c, limit, token.Cut(m.opt.Tokenizer, string(m.conform([]byte(anyObjectSchema), random))))
	}
}

// refusalText is what a refused request is told.
const refusalText = "I'm sorry, but I can't help with that request."

// anyObjectSchema is what a request for any JSON object gets.
const anyObjectSchema = `{"type":"object","properties":{"answer":{"type":"string"},"confidence":{"type":"number","minimum":0,` +
	`"maximum":1},"sources":{"type":"array","items":{"type":"string"}}}}`

// say makes the text of a choice these pieces, as far as there is room.
func (m *model) say(c *choice, limit int, pieces []token.Piece) {
	c.text = token.Passage{Pieces: pieces}
	c.finish = "stop"
	c.total = c.reasoning + len(pieces)
	if len(pieces) == 0 {
		c.text = token.Passage{Pieces: []token.Piece{{}}} // never looked at, never empty
	}
	if c.total > limit {
		c.total, c.finish = limit, "length"
		c.reasoning = min(c.reasoning, c.total)
	}
}

// call makes the choice call tools.
func (m *model) call(c *choice, w *wishes, random *rand.Rand, limit int) {
	calls := m.opt.ParallelTools
	if w.oneCall {
		calls = 1
	}
	var pieces []token.Piece
	for range calls {
		t := w.tools[random.IntN(len(w.tools))]
		from := len(pieces)
		pieces = append(pieces, token.Piece{Text: t.name, Json: string(jsonappend.Inner(nil, t.name)), Id: seed.Checksum(t.name)})
		arguments := []byte("{}")
		if t.schema != nil {
			arguments = m.conform(t.schema, random)
		}
		pieces = append(pieces, token.Cut(m.opt.Tokenizer, string(arguments))...)
		id := "call_" + strconv.FormatUint(random.Uint64(), 36)
		c.calls = append(c.calls, toolCall{id: id, from: from, to: len(pieces)})
	}
	m.say(c, limit, pieces)
	if c.finish == "stop" {
		c.finish = "tool_calls"
	}
}

// bound keeps an event that begins behind the first sent tokens within one part
// of the choice: reasoning, the answer, the name of a call, its arguments.
func (c *choice) bound(sent, k int) int {
	if sent < c.reasoning {
		return min(k, c.reasoning-sent)
	}
	at := sent - c.reasoning
	for i := range c.calls {
		switch call := &c.calls[i]; {
		case at == call.from:
			return min(k, 1)
		case at < call.to:
			return min(k, call.to-at)
		}
	}
	return k
}

// span returns the tokens of call n that have come, reasoning included: from … to−1.
func (c *choice) span(n int) (from, to int) {
	call := &c.calls[n]
	return min(c.reasoning+call.from, c.total), min(c.reasoning+call.to, c.total)
}

// callAt returns the call that token i, reasoning included, belongs to; −1 = none.
func (c *choice) callAt(i int) int {
	for n := range c.calls {
		if at := i - c.reasoning; at >= c.calls[n].from && at < c.calls[n].to {
			return n
		}
	}
	return -1
}
