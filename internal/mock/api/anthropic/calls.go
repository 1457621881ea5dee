package anthropic

import (
	"fmt"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/jsonappend"
)

// readMessageConstraints reads tools and tool_choice of a Messages request; nil means
// that no tool is called. Server tools (such as web search) are never called.
func readMessageConstraints(f *api.Fields) *api.Constraints {
	list, ok := f.Get("tools")
	if !ok {
		return nil
	}
	if list.Type() != fastjson.TypeArray {
		f.Fail("tools", "list")
		return nil
	}
	w := &api.Constraints{}
	for _, v := range list.GetArray() {
		if kind := string(v.GetStringBytes("type")); kind != "" && kind != "custom" {
			continue
		}
		t := api.Tool{Name: string(v.GetStringBytes("name"))}
		if t.Name == "" {
			f.Fail("tools.name", "string")
			return nil
		}
		if schema := v.Get("input_schema"); schema != nil && schema.Type() == fastjson.TypeObject {
			t.Schema = schema.MarshalTo(nil)
		}
		w.Tools = append(w.Tools, t)
	}
	readMessageChoice(w, f)
	if len(w.Tools) == 0 || hasResult(f.Value.GetArray("messages")) {
		return nil
	}
	return w
}

// readMessageChoice reads Anthropic's tool_choice.
func readMessageChoice(w *api.Constraints, f *api.Fields) {
	choice, ok := f.Member("tool_choice")
	if !ok {
		return
	}
	w.OneCall = choice.GetBool("disable_parallel_tool_use")
	switch kind := string(choice.GetStringBytes("type")); kind {
	case "auto":
	case "any":
		w.MustCall = true
	case "none":
		w.Tools = nil
	case "tool":
		w.Only(f, string(choice.GetStringBytes("name")))
	default:
		f.Refuse("tool_choice", fmt.Sprintf("tool_choice: type should be 'auto', 'any', 'tool' or 'none', got %q.", kind))
	}
}

// hasResult reports whether the last message contains the result of a tool, so that the
// answer must be text.
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

// A tool call in a message is a separate block (Anthropic API reference,
// "Streaming messages"): it starts with its name and an empty input, gets the input as
// pieces of JSON, and stops. The event that starts it is content: the name is its
// first token.

// callContent adds the tokens from … to−1, which belong to call n: its name, or a part
// of its input.
func (p *messages) callContent(e *api.Events, c *api.Choice, n, from, to int) error {
	if start, _ := c.Span(n); from > start {
		p.callBlock(e, c, "content_block_delta", n)
		e.B = append(e.B, `,"delta":{"type":"input_json_delta","partial_json":"`...)
		e.B = append(c.AppendTokens(e.B, from, to), '"', '}')
		return p.stop(e, true)
	}
	if from > 0 {
		if err := p.closeAt(e, c, from-1); err != nil {
			return err
		}
	}
	p.callBlock(e, c, "content_block_start", n)
	e.B = append(e.B, `,"content_block":`...)
	e.B = append(appendToolUse(e.B, c, n), `,"input":{}}`...)
	return p.stop(e, true)
}

// closeAt adds the end of the block of token i.
func (p *messages) closeAt(e *api.Events, c *api.Choice, i int) error {
	if n := c.CallAt(i); n >= 0 {
		p.callBlock(e, c, "content_block_stop", n)
		return p.stop(e, false)
	}
	return p.closeBlock(e, c, c.SideOf(i))
}

// callBlock starts an event about the block of call n.
func (p *messages) callBlock(e *api.Events, c *api.Choice, kind string, n int) {
	p.start(e, kind)
	e.B = append(e.B, `,"index":`...)
	e.B = api.AppendCallIndex(e.B, c, n)
}

// appendToolUse appends the block of call n, up to its input.
func appendToolUse(dst []byte, c *api.Choice, n int) []byte {
	dst = append(dst, `{"type":"tool_use","id":`...)
	dst = jsonappend.String(dst, "toolu_"+strings.TrimPrefix(c.Calls[n].ID, "call_"))
	dst = append(dst, `,"name":"`...)
	from, _ := c.Span(n)
	return append(c.AppendTokens(dst, from, from+1), '"')
}

// toolInput returns the object in an unterminated JSON string that includes its opening
// quote, or an empty object if the string is not complete JSON.
func toolInput(quoted []byte) []byte {
	v, err := fastjson.ParseBytes(append(quoted, '"'))
	if err == nil && fastjson.ValidateBytes(v.GetStringBytes()) == nil {
		return v.GetStringBytes()
	}
	return []byte("{}")
}

// appendToolUses appends the blocks of all calls that have begun. The input of a
// truncated call is not valid JSON and is sent as an empty object.
func appendToolUses(dst []byte, c *api.Choice) []byte {
	for n := range c.Calls {
		from, to := c.Span(n)
		if from >= c.Total {
			break
		}
		if n > 0 || c.Reasoning > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendToolUse(dst, c, n), `,"input":`...)
		dst = append(append(dst, toolInput(c.AppendTokens([]byte{'"'}, from+1, to))...), '}')
	}
	return dst
}
