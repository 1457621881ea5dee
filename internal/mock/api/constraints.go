package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fastjson"
)

// maxLogprobs is the maximum number of alternatives of a token.
const maxLogprobs = 20

// Constraints are the requirements of a request on its answer, beyond the length.
type Constraints struct {
	Tools      []Tool // to call; empty = no calls
	MustCall   bool
	OneCall    bool     // at most one call
	Structured []byte   // a JSON schema that the answer has to follow; nil = any text
	AnyObject  bool     // the answer is a JSON object
	choices    []string // the answer is one of these; nil = any
	Logprobs   bool
	Top        int // alternatives of each token
}

// Tool is a function that can be called.
type Tool struct {
	Name   string
	Schema []byte // of its arguments; nil = none
}

// ToolCall is one call in an answer: a part of the choice's text, whose first
// token is the name.
type ToolCall struct {
	ID       string
	From, To int
}

// ReadStructured reads the members of OpenAI and vLLM for structured output.
func ReadStructured(f *Fields) *Constraints {
	w := &Constraints{}
	w.ReadFormat(f, "response_format", f.Member("response_format"), "json_schema")
	if v := f.Member("structured_outputs"); v != nil {
		w.guided(v.Get("json"), v.Get("choice"))
		w.AnyObject = w.AnyObject || v.GetBool("json_object")
	}
	w.guided(f.Value.Get("guided_json"), f.Value.Get("guided_choice"))
	return w
}

// ReadFormat reads the form of the answer, a member with a name; nil means any. A schema is its
// member schema, at a path within it.
func (w *Constraints) ReadFormat(f *Fields, name string, format *fastjson.Value, path ...string) {
	switch kind := string(format.GetStringBytes("type")); kind {
	case "", "text":
	case "json_object":
		w.AnyObject = true
	case "json_schema":
		path = append(path, "schema")
		schema := format.Get(path...)
		if schema == nil || schema.Type() != fastjson.TypeObject {
			f.Fail(name+"."+strings.Join(path, "."), "dictionary")
			return
		}
		w.Structured = schema.MarshalTo(nil)
	default:
		f.Refuse(name, fmt.Sprintf("Input should be 'text', 'json_object' or 'json_schema', got %q.", kind))
	}
}

// guided reads vLLM's own members; the schema may be a string too.
func (w *Constraints) guided(schema, choice *fastjson.Value) {
	if schema != nil {
		switch schema.Type() {
		case fastjson.TypeObject:
			w.Structured = schema.MarshalTo(nil)
		case fastjson.TypeString:
			w.Structured = append([]byte(nil), schema.GetStringBytes()...)
		case fastjson.TypeNull, fastjson.TypeArray, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		}
	}
	if choice != nil {
		for _, v := range choice.GetArray() {
			w.choices = append(w.choices, string(v.GetStringBytes()))
		}
	}
}

// ToolShape is the member of a tool and of tool_choice that contains the name and the
// parameters of a function.
type ToolShape string

// Shapes of tools.
const (
	NestedTools ToolShape = "function" // chat completions
	FlatTools   ToolShape = ""         // Responses: the tool itself, which may also be of another type
)

// function returns the object that contains the name.
func (shape ToolShape) function(v *fastjson.Value) *fastjson.Value {
	if shape == FlatTools {
		return v
	}
	return v.Get(string(shape))
}

// skips reports whether a tool, or the choice of one, is of a type that is never called.
func (shape ToolShape) skips(v *fastjson.Value) bool {
	kind := string(v.GetStringBytes("type"))
	return shape == FlatTools && kind != "" && kind != "function"
}

// ReadTools reads tools, tool_choice and parallel_tool_calls.
func (w *Constraints) ReadTools(f *Fields, shape ToolShape) {
	list, ok := f.Get("tools")
	if !ok {
		return
	}
	tools := list.GetArray()
	if list.Type() != fastjson.TypeArray || len(tools) == 0 && shape != FlatTools {
		f.Fail("tools", "non-empty list")
		return
	}
	for _, v := range tools {
		if shape.skips(v) {
			continue
		}
		fn := shape.function(v)
		name := string(fn.GetStringBytes("name"))
		if name == "" {
			f.Fail(strings.ReplaceAll("tools."+string(shape)+".name", "..", "."), "string")
			return
		}
		t := Tool{Name: name}
		if p := fn.Get("parameters"); p != nil && p.Type() == fastjson.TypeObject {
			t.Schema = p.MarshalTo(nil)
		}
		w.Tools = append(w.Tools, t)
	}
	w.OneCall = !f.Boolean("parallel_tool_calls", true)
	w.readToolChoice(f, shape)
}

func (w *Constraints) readToolChoice(f *Fields, shape ToolShape) {
	choice, ok := f.Get("tool_choice")
	if !ok {
		return
	}
	if choice.Type() == fastjson.TypeObject {
		switch kind := string(choice.GetStringBytes("type")); {
		case shape == FlatTools && kind == "allowed_tools":
			f.Refuse("tool_choice", "tool_choice of type 'allowed_tools' is not simulated.")
			return
		case shape.skips(choice):
			w.Tools = nil
			return
		}
		w.Only(f, string(shape.function(choice).GetStringBytes("name")))
		return
	}
	switch kind := string(choice.GetStringBytes()); kind {
	case "auto":
	case "none":
		w.Tools = nil
	case "required":
		w.MustCall = true
	default:
		f.Refuse("tool_choice", fmt.Sprintf("Input should be 'none', 'auto', 'required' or a named function, got %q.", kind))
	}
}

// Only restricts the calls to the tool with a name.
func (w *Constraints) Only(f *Fields, name string) {
	for _, t := range w.Tools {
		if t.Name == name {
			w.Tools, w.MustCall, w.OneCall = []Tool{t}, true, true
			return
		}
	}
	f.Refuse("tool_choice", fmt.Sprintf("The tool %q of tool_choice is not among tools.", name))
}

// LastIs reports whether a text member of the last element has one of these values.
func LastIs(list []*fastjson.Value, member string, values ...string) bool {
	return len(list) > 0 && slices.Contains(values, string(list[len(list)-1].GetStringBytes(member)))
}

// Empty reports whether there are no constraints.
func (w *Constraints) Empty() bool {
	return len(w.Tools) == 0 && w.Structured == nil && w.choices == nil && !w.AnyObject && !w.Logprobs
}

// ReadTop reads and checks the number of alternatives.
func (w *Constraints) ReadTop(f *Fields, name string) { w.Top = f.Within(name, 0, maxLogprobs, 0) }
