package endpoint

import (
	"cmp"
	"math"
	"slices"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// callState is one tool call in the making.
type callState struct {
	index    int
	id, name string
	args     []byte
}

// maxCalls bounds the tool calls of one choice.
const maxCalls = 4096

// tool reads one member of tool_calls: the start of a call, or more of one.
func (d *decoder) tool(c *choiceState, v *fastjson.Value) {
	id := str(v.Get("id"))
	var call *callState
	if index, ok := indexOf(v); ok {
		call = c.callAt(index)
	} else {
		call = c.callByID(string(id), d.streamed)
	}
	function := v.Get("function")
	if function == nil || function.GetObject() == nil {
		function = v.Get("custom") // a tool whose input is free text
	}
	d.call(c, call, id, function)
}

// indexOf reads the member index of v.
func indexOf(v *fastjson.Value) (int, bool) {
	index := v.Get("index")
	if index == nil {
		return 0, false
	}
	n, ok := tokenCount(index)
	return int(min(n, math.MaxInt32)), ok
}

// call adds to a call; the event is the name, if new, and the arguments.
func (d *decoder) call(c *choiceState, call *callState, id []byte, function *fastjson.Value) {
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
		d.emitSize(c, bench.Tool, size)
	}
}

// callAt returns the call with the given index, made when it is new; nil when
// there are too many.
func (c *choiceState) callAt(index int) *callState {
	for i := range c.calls {
		if c.calls[i].index == index {
			return &c.calls[i]
		}
	}
	if len(c.calls) >= maxCalls {
		return nil
	}
	c.calls = append(c.calls, callState{index: index})
	return &c.calls[len(c.calls)-1]
}

// callByID finds the call of an entry without index: in a stream an id other
// than the last call's opens a new call and anything else continues the last;
// in a whole answer every entry is a call.
func (c *choiceState) callByID(id string, streamed bool) *callState {
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
func (c *choiceState) toolCalls() []bench.ToolCall {
	if len(c.calls) == 0 {
		return nil
	}
	slices.SortStableFunc(c.calls, func(a, b callState) int { return cmp.Compare(a.index, b.index) })
	calls := make([]bench.ToolCall, len(c.calls))
	for i := range c.calls {
		calls[i] = bench.ToolCall{ID: c.calls[i].id, Name: c.calls[i].name, Arguments: string(c.calls[i].args)}
	}
	return calls
}
