package endpoint

import (
	"cmp"
	"math"
	"slices"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// toolCall is one tool call while it is being collected.
type toolCall struct {
	index    int
	id, name string
	args     []byte
}

// noCall is the index of a tool call that does not exist.
const noCall = -1

// maxCalls bounds the tool calls of one choice.
const maxCalls = 4096

// indexOf reads the member index of v.
func indexOf(v *fastjson.Value) (int, bool) {
	index := v.Get("index")
	if index == nil {
		return 0, false
	}
	n, ok := tokenCount(index)
	return int(min(n, math.MaxInt32)), ok
}

// call adds to a tool call, which may be nil, and records a chunk of its name, if that
// is new, and of its arguments.
func (b *builder) call(c *choice, call *toolCall, id []byte, function *fastjson.Value) {
	if call == nil {
		return
	}
	if call.id == "" {
		call.id = string(id)
	}
	if function == nil {
		return
	}
	size := 0
	if name := str(function.Get("name")); len(name) > 0 && call.name != string(name) {
		call.name += string(name) // repeated names say nothing new
		size += len(name)
	}
	args := function.Get("arguments")
	if args == nil {
		args = function.Get("input")
	}
	before := len(call.args)
	if args != nil {
		switch args.Type() {
		case fastjson.TypeString:
			call.args = append(call.args, str(args)...)
		case fastjson.TypeObject, fastjson.TypeArray: // Ollama writes JSON instead of a string
			call.args = args.MarshalTo(call.args)
		case fastjson.TypeNull, fastjson.TypeTrue, fastjson.TypeFalse, fastjson.TypeNumber:
		}
	}
	if size += len(call.args) - before; size > 0 {
		b.emitSize(c, bench.Tool, size)
	}
}

// callAt returns the call with the given index, made when it is new; nil when
// there are too many.
func (c *choice) callAt(index int) *toolCall {
	for i := range c.calls {
		if c.calls[i].index == index {
			return &c.calls[i]
		}
	}
	if len(c.calls) >= maxCalls {
		return nil
	}
	c.calls = append(c.calls, toolCall{index: index})
	return &c.calls[len(c.calls)-1]
}

// callByID finds the call of an entry without index: in a stream an id other
// than the last call's opens a new call and anything else continues the last;
// in a whole answer every entry is a call.
func (c *choice) callByID(id string, streamed bool) *toolCall {
	n := len(c.calls)
	if n > 0 && streamed && (id == "" || id == c.calls[n-1].id) {
		return &c.calls[n-1]
	}
	next := 0
	for i := range c.calls {
		next = max(next, c.calls[i].index+1)
	}
	return c.callAt(next)
}

// toolCalls returns the calls in the order of their index.
func (c *choice) toolCalls() []bench.ToolCall {
	if len(c.calls) == 0 {
		return nil
	}
	slices.SortStableFunc(c.calls, func(a, b toolCall) int { return cmp.Compare(a.index, b.index) })
	calls := make([]bench.ToolCall, len(c.calls))
	for i := range c.calls {
		calls[i] = bench.ToolCall{ID: c.calls[i].id, Name: c.calls[i].name, Arguments: string(c.calls[i].args)}
	}
	return calls
}
