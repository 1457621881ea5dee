package mock

import (
	"fmt"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/jsonappend"
)

// readMessageWishes reads tools and tool_choice of a Messages request; nil means that
// nothing is to be called. Tools of the server itself (web search and the like) are
// never called.
func readMessageWishes(f *fields) *wishes {
	list, ok := f.get("tools")
	if !ok {
		return nil
	}
	if list.Type() != fastjson.TypeArray {
		f.fail("tools", "list")
		return nil
	}
	w := &wishes{}
	for _, v := range list.GetArray() {
		if kind := string(v.GetStringBytes("type")); kind != "" && kind != "custom" {
			continue
		}
		t := tool{name: string(v.GetStringBytes("name"))}
		if t.name == "" {
			f.fail("tools.name", "string")
			return nil
		}
		if schema := v.Get("input_schema"); schema != nil && schema.Type() == fastjson.TypeObject {
			t.schema = schema.MarshalTo(nil)
		}
		w.tools = append(w.tools, t)
	}
	w.readMessageChoice(f)
	if len(w.tools) == 0 || hasResult(f.v.GetArray("messages")) {
		return nil
	}
	return w
}

// readMessageChoice reads Anthropic's tool_choice.
func (w *wishes) readMessageChoice(f *fields) {
	choice, ok := f.member("tool_choice")
	if !ok {
		return
	}
	w.oneCall = choice.GetBool("disable_parallel_tool_use")
	switch kind := string(choice.GetStringBytes("type")); kind {
	case "auto":
	case "any":
		w.mustCall = true
	case "none":
		w.tools = nil
	case "tool":
		w.only(f, string(choice.GetStringBytes("name")))
	default:
		f.refuse("tool_choice", fmt.Sprintf("tool_choice: type should be 'auto', 'any', 'tool' or 'none', got %q.", kind))
	}
}

// hasResult reports whether the last message brings what a tool returned: the call was
// made, and now the answer is wanted.
func hasResult(messages []*fastjson.Value) bool {
	if len(messages) == 0 {
		return false
	}
	for _, block := range messages[len(messages)-1].GetArray("content") {
		if string(block.GetStringBytes("type")) == "tool_result" {
			return true
		}
	}
	return false
}

// A call of a tool in a message is a block of its own (Anthropic API reference,
// "Streaming messages"): it starts with its name and an empty input, gets the input as
// pieces of JSON, and stops. The event that starts it is content: the name is its
// first token.

// callContent adds the tokens from … to−1, which are of call n: its name, or a part of
// its input.
func (p *messagesAPI) callContent(e *events, c *choice, n, from, to int) error {
	if start, _ := c.span(n); from > start {
		p.callBlock(e, c, "content_block_delta", n)
		e.b = append(e.b, `,"delta":{"type":"input_json_delta","partial_json":"`...)
		e.b = append(c.appendTokens(e.b, from, to), '"', '}')
		return p.stop(e, true)
	}
	if from > 0 {
		if err := p.closeAt(e, c, from-1); err != nil {
			return err
		}
	}
	p.callBlock(e, c, "content_block_start", n)
	e.b = append(e.b, `,"content_block":`...)
	e.b = append(appendToolUse(e.b, c, n), `,"input":{}}`...)
	return p.stop(e, true)
}

// closeAt adds the end of the block that token i belongs to.
func (p *messagesAPI) closeAt(e *events, c *choice, i int) error {
	if n := c.callAt(i); n >= 0 {
		p.callBlock(e, c, "content_block_stop", n)
		return p.stop(e, false)
	}
	return p.closeBlock(e, c, c.sideOf(i))
}

// callBlock starts an event about the block of call n.
func (p *messagesAPI) callBlock(e *events, c *choice, kind string, n int) {
	p.start(e, kind)
	e.b = append(e.b, `,"index":`...)
	e.b = appendCallIndex(e.b, c, n)
}

// appendToolUse appends the block of call n, up to its input.
func appendToolUse(dst []byte, c *choice, n int) []byte {
	dst = append(dst, `{"type":"tool_use","id":`...)
	dst = jsonappend.String(dst, "toolu_"+strings.TrimPrefix(c.calls[n].id, "call_"))
	dst = append(dst, `,"name":"`...)
	from, _ := c.span(n)
	return append(c.appendTokens(dst, from, from+1), '"')
}

// toolInput returns the object that the beginning of a JSON string, with its opening
// quote, holds; empty if that is none.
func toolInput(quoted []byte) []byte {
	v, err := fastjson.ParseBytes(append(quoted, '"'))
	if err == nil && fastjson.ValidateBytes(v.GetStringBytes()) == nil {
		return v.GetStringBytes()
	}
	return []byte("{}")
}

// appendToolUses appends the blocks of all calls that have begun. The input of one
// that was cut short is no JSON, and empty.
func appendToolUses(dst []byte, c *choice) []byte {
	for n := range c.calls {
		from, to := c.span(n)
		if from >= c.total {
			break
		}
		if n > 0 || c.reasoning > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendToolUse(dst, c, n), `,"input":`...)
		dst = append(append(dst, toolInput(c.appendTokens([]byte{'"'}, from+1, to))...), '}')
	}
	return dst
}
