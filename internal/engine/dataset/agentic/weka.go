package agentic

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// FormatWeka is the name of the format of kv-cache-tester: one object per trace, whose prompts are ids of blocks.
const FormatWeka = "weka_trace"

// wekaTrace is a trace as it is recorded.
type wekaTrace struct {
	id       string
	block    int
	declared int // tokens of tools and system prompt
	main     []call
	subs     []wekaSub
}

// wekaSub is a sub-agent.
type wekaSub struct {
	outer    int // index in the list of the trace
	t        float64
	duration *float64 // seconds; nil = not recorded
	agent    string
	declared int
	calls    []call
}

// call is a request of one scope: of the trace or of a sub-agent.
type call struct {
	index int // in the list of the scope
	Request
}

// looksLikeWeka reports whether the first record of a file is one of this format.
func looksLikeWeka(data []byte) bool {
	return bytes.Contains(data, []byte(`"block_size"`)) && bytes.Contains(data, []byte(`"hash_id_scope"`)) &&
		bytes.Contains(data, []byte(`"requests"`))
}

// wekaParser reads one record and notes what is wrong, and what it has repaired.
type wekaParser struct {
	problems []string
	repairs  *Repairs
	strict   bool // unknown members are problems
	id       string
	lists    [][]int64 // of ids, by the numbers that the record has
}

// parseWeka reads a record, which must be a valid JSON object, with its lists of ids. The trace may be used if there
// are no problems.
func parseWeka(data []byte, lists [][]int64, strict bool, repairs *Repairs) (*wekaTrace, []string) {
	p := &wekaParser{repairs: repairs, strict: strict, lists: lists}
	o, ok := open("", data, &p.problems)
	if !ok {
		return nil, p.problems
	}
	t := &wekaTrace{id: o.text("id", true)}
	if t.id == "" && len(p.problems) == 0 {
		o.fault("id must not be empty")
	}
	p.id = t.id
	o.where = p.at("")
	o.texts("models")
	t.block = o.whole("block_size", 1, true)
	if scope := o.text("hash_id_scope", true); scope != "local" && scope != "" {
		o.fault(`hash_id_scope must be "local", not %q`, scope)
	}
	t.declared = o.whole("tool_tokens", 0, false) + o.whole("system_tokens", 0, false)
	o.take("totals", false)
	list := o.take("requests", true)
	p.rest(o)
	switch {
	case list == nil:
		return t, p.problems
	case list[0] != '[':
		o.fault("requests must be a list, not %s", shown(list))
		return t, p.problems
	}
	elements(list, func(i int, value []byte) { p.entry(t, i, value) })
	if len(t.main) == 0 && len(p.problems) == 0 {
		o.fault("requests has no request of the main stream")
	}
	if len(p.problems) == 0 {
		p.finish(t)
	}
	return t, p.problems
}

// at returns the place of a problem.
func (p *wekaParser) at(what string) string {
	where := "trace " + p.id
	if p.id == "" {
		where = "trace without an id"
	}
	if what != "" {
		where += ": " + what
	}
	return where
}

// rest counts the members that nothing has read.
func (p *wekaParser) rest(o *object) {
	for _, name := range o.unknown() {
		if p.strict {
			o.fault("unknown member %q", name)
			continue
		}
		p.repairs.UnknownMembers++
	}
}

// entry reads an element of the list of a trace: a request or a sub-agent.
func (p *wekaParser) entry(t *wekaTrace, i int, value []byte) {
	where := p.at(fmt.Sprintf("requests[%d]", i))
	o, ok := open(where, value, &p.problems)
	if !ok {
		return
	}
	switch kind := o.text("type", true); kind {
	case "n", "s":
		t.main = append(t.main, p.request(o, t.block, Place{Outer: i}))
	case "subagent":
		t.subs = append(t.subs, p.sub(o, t, i))
	case "":
	default:
		o.fault(`type must be "n", "s" or "subagent", not %q`, kind)
	}
}

// sub reads a sub-agent.
func (p *wekaParser) sub(o *object, t *wekaTrace, outer int) wekaSub {
	s := wekaSub{outer: outer, agent: o.text("agent_id", true)}
	if at := o.seconds("t", true); at != nil {
		s.t = *at
	}
	o.text("subagent_type", true)
	o.text("status", true)
	o.texts("models")
	o.whole("total_tokens", 0, false)
	o.whole("tool_use_count", 0, false)
	if ms := o.seconds("duration_ms", false); ms != nil {
		s.duration = new(*ms / 1000)
	}
	s.declared = o.whole("tool_tokens", 0, false) + o.whole("system_tokens", 0, false)
	list := o.take("requests", true)
	p.rest(o)
	if list == nil {
		return s
	}
	if list[0] != '[' {
		o.fault("requests must be a list, not %s", shown(list))
		return s
	}
	elements(list, func(i int, value []byte) {
		where := p.at(fmt.Sprintf("requests[%d] (sub-agent %s, inner %d)", outer, s.agent, i))
		inner, ok := open(where, value, &p.problems)
		if !ok {
			return
		}
		if kind := inner.text("type", true); kind != "n" && kind != "s" && kind != "" {
			inner.fault(`type must be "n" or "s", not %q`, kind)
		}
		c := p.request(inner, t.block, Place{Outer: outer, Inner: &i})
		if c.T+epsilon < s.t { // old captures count from the sub-agent's beginning
			c.T += s.t
		}
		s.calls = append(s.calls, c)
	})
	return s
}

// request reads a request.
func (p *wekaParser) request(o *object, block int, place Place) call {
	c := call{index: place.Outer}
	if place.Inner != nil {
		c.index = *place.Inner
	}
	c.Place = place
	if at := o.seconds("t", true); at != nil {
		c.T = *at
	}
	c.Model = o.text("model", true)
	c.In, c.Out = o.whole("in", 1, true), o.whole("out", 0, true)
	c.blocks = o.ids("hash_ids", p.lists)
	c.Inputs = o.texts("input_types")
	o.texts("output_types")
	c.Stop = o.text("stop", false)
	c.API, c.Think, c.TTFT = o.seconds("api_time", false), o.seconds("think_time", false), o.seconds("ttft", false)
	p.rest(o)
	if c.Out == 0 {
		c.Out = 1
		p.repairs.EmptyAnswers++
	}
	if block > 0 {
		most := (c.In + block - 1) / block
		if len(c.blocks) > most {
			c.blocks = c.blocks[:most]
			p.repairs.TrimmedBlocks++
		}
		if (len(c.blocks)+1)*block <= c.In {
			p.repairs.UncoveredTails++
		}
	}
	return c
}

// finish checks what members say together, and repairs what can be.
func (p *wekaParser) finish(t *wekaTrace) {
	first := slices.MinFunc(t.main, byTime)
	if t.declared > first.In {
		t.declared = first.In
		p.repairs.ClampedPrefixes++
	}
	if n := len(first.blocks); n > 0 && (t.declared+t.block-1)/t.block > n {
		p.problems = append(p.problems, p.at(fmt.Sprintf(
			"tool_tokens and system_tokens are %d tokens, but the %d ids of the first request are %d", t.declared, n, n*t.block)))
	}
	began := slices.MinFunc(t.main, func(a, b call) int { return cmp.Compare(a.index, b.index) }).index
	seen := map[string]bool{}
	t.subs = slices.DeleteFunc(t.subs, func(s wekaSub) bool {
		switch {
		case s.outer < began:
			p.repairs.EarlySubAgents++
		case len(s.calls) == 0:
			p.repairs.EmptySubAgents++
		default:
			return false
		}
		return true
	})
	for i := range t.subs {
		s := &t.subs[i]
		name := s.agent
		for n := 2; seen[name]; n++ {
			name = fmt.Sprintf("%s#%d", s.agent, n)
		}
		if name != s.agent {
			p.repairs.DuplicateAgents++
		}
		s.agent, seen[name] = name, true
	}
}

// byTime orders requests as the recording has them.
func byTime(a, b call) int { return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.index, b.index)) }
