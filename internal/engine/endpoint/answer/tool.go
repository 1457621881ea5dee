package answer

import (
	"cmp"
	"math"
	"slices"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// ToolCall is one tool call while it is being collected.
type ToolCall struct {
	index    int
	ID, Name string
	Args     []byte
}

// NoCall is the index of a tool call that does not exist.
const NoCall = -1

// maxCalls bounds the tool calls of one choice.
const maxCalls = 4096

// IndexOf reads the member index of v.
func IndexOf(v *fastjson.Value) (int, bool) {
	index := v.Get("index")
	if index == nil {
		return 0, false
	}
	n, ok := TokenCount(index)
	return int(min(n, math.MaxInt32)), ok
}

// Call adds to a tool call, which may be nil, and records a chunk of its name, if that
// is new, and of its arguments.
func (b *Builder) Call(c *Choice, call *ToolCall, id []byte, function *fastjson.Value) {
	if call == nil {
		return
	}
	if call.ID == "" {
		call.ID = string(id)
	}
	if function == nil {
		return
	}
	size := 0
	if name := Str(function.Get("name")); len(name) > 0 && call.Name != string(name) {
		call.Name += string(name) // a repeated name is not new
		size += len(name)
	}
	args := function.Get("arguments")
	if args == nil {
		args = function.Get("input")
	}
	before := len(call.Args)
	if args != nil {
		switch args.Type() {
		case fastjson.TypeString:
			call.Args = append(call.Args, Str(args)...)
		case fastjson.TypeObject, fastjson.TypeArray: // Ollama writes JSON instead of a string
			call.Args = args.MarshalTo(call.Args)
		case fastjson.TypeNull, fastjson.TypeTrue, fastjson.TypeFalse, fastjson.TypeNumber:
		}
	}
	if size += len(call.Args) - before; size > 0 {
		b.EmitSize(c, bench.Tool, size)
	}
}

// CallAt returns the call with the given index, made when it is new; nil when
// there are too many.
func (c *Choice) CallAt(index int) *ToolCall {
	for i := range c.Calls {
		if c.Calls[i].index == index {
			return &c.Calls[i]
		}
	}
	if len(c.Calls) >= maxCalls {
		return nil
	}
	c.Calls = append(c.Calls, ToolCall{index: index})
	return &c.Calls[len(c.Calls)-1]
}

// CallByID finds the call of an entry without index: in a stream an id other
// than the last call's opens a new call and anything else continues the last;
// in a whole answer every entry is a call.
func (c *Choice) CallByID(id string, streamed bool) *ToolCall {
	n := len(c.Calls)
	if n > 0 && streamed && (id == "" || id == c.Calls[n-1].ID) {
		return &c.Calls[n-1]
	}
	next := 0
	for i := range c.Calls {
		next = max(next, c.Calls[i].index+1)
	}
	return c.CallAt(next)
}

// toolCalls returns the calls in the order of their index.
func (c *Choice) toolCalls() []bench.ToolCall {
	if len(c.Calls) == 0 {
		return nil
	}
	slices.SortStableFunc(c.Calls, func(a, b ToolCall) int { return cmp.Compare(a.index, b.index) })
	calls := make([]bench.ToolCall, len(c.Calls))
	for i := range c.Calls {
		calls[i] = bench.ToolCall{ID: c.Calls[i].ID, Name: c.Calls[i].Name, Arguments: string(c.Calls[i].Args)}
	}
	return calls
}
