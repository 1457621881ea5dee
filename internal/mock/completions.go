package mock

import (
	"encoding/binary"
	"strings"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/seed"
)

// completionDialect is POST /v1/completions.
type completionDialect struct{}

var _ dialect = completionDialect{}

func (completionDialect) names() (idPrefix, object, chunk string) {
	return "cmpl-", "text_completion", "text_completion"
}

func (completionDialect) hasRole() bool { return false }

func (completionDialect) hasReasoning() bool { return false }

func (completionDialect) openDelta(dst []byte, _ bool, _ string) []byte {
	return append(dst, `,"text":"`...)
}

func (completionDialect) closeDelta(dst []byte, _ bool, _ string) []byte {
	return append(dst, '"')
}

func (completionDialect) appendMessage(dst []byte, c *choice, _ string) []byte {
	dst = append(dst, `,"text":"`...)
	dst = c.appendTokens(dst, 0, c.total)
	return append(dst, '"')
}

// wishes reads structured output and logprobs.
func (completionDialect) wishes(f *fields) *wishes {
	w := readStructured(f)
	if w == nil {
		w = &wishes{}
	}
	if _, ok := f.get("logprobs"); ok {
		w.logprobs = true
		w.readTop(f, "logprobs")
	}
	if w.empty() {
		return nil
	}
	return w
}

// prompts reads a string, a list of strings, a list of token ids or a list of
// such lists.
func (completionDialect) prompts(m *model, f *fields) []prompt {
	v, ok := f.get("prompt")
	if !ok {
		f.fail("prompt", "string or list")
		return nil
	}
	if v.Type() == fastjson.TypeString {
		return []prompt{textPrompt(m, v.GetStringBytes())}
	}
	list, err := v.Array()
	if err != nil || len(list) == 0 {
		f.fail("prompt", "string or non-empty list")
		return nil
	}
	if list[0].Type() == fastjson.TypeNumber {
		return []prompt{tokenPrompt(f, list)}
	}
	prompts := make([]prompt, 0, len(list))
	for _, e := range list {
		if e.Type() == fastjson.TypeString {
			prompts = append(prompts, textPrompt(m, e.GetStringBytes()))
			continue
		}
		ids, err := e.Array()
		if err != nil || len(ids) == 0 {
			f.fail("prompt", "list of strings or of token id lists")
			return nil
		}
		prompts = append(prompts, tokenPrompt(f, ids))
	}
	return prompts
}

func textPrompt(m *model, b []byte) prompt {
	var p prompt
	var said strings.Builder
	readText(m, b, &p, &said)
	p.echo = said.String()
	return p
}

// tokenPrompt counts token ids as they are; they cannot be echoed as text.
func tokenPrompt(f *fields, ids []*fastjson.Value) prompt {
	p := prompt{tokens: len(ids)}
	var b [8]byte
	for _, v := range ids {
		id, err := v.Int64()
		if err != nil || id < 0 {
			f.fail("prompt", "list of token ids")
			return p
		}
		binary.LittleEndian.PutUint64(b[:], uint64(id))
		p.hash = seed.Hash(p.hash, b[:])
		p.ids = append(p.ids, uint32(id))
	}
	return p
}
