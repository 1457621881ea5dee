package answer

import (
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
)

// effect is the effect of every event of one shape on an answer, once the first one
// was read in full.
type effect struct {
	state    effectState
	emits    bool // a chunk
	kind     bench.ChunkKind
	text     int    // hole with the text; -1 = it is always constant
	index    int    // hole with the index of the choice; -1 = it is always choice
	choice   int    // position in Builder.Choices; -1 = none is touched
	call     int    // index of the tool call
	checked  []int  // holes with strings that have no effect, but must be valid
	constant []byte // the text
}

type effectState uint8

const (
	effectUnknown effectState = iota // no event of the shape was read yet
	effectKnown
	effectAny // every event has to be read in full
)

// noHole stands for the number of a hole that is not there.
const noHole = -1

// Role is the meaning of a place in a chunk.
type Role uint8

// The roles of places.
const (
	RoleNone  Role = iota // no effect
	RoleText              // Text of some kind
	roleIndex             // index of a choice
	roleID                // response id: only the first counts
	roleModel             // model: the same
	RoleOther             // anything else
)

// roleOf returns the meaning of the string or number at a place of a chunk.
func roleOf(p Place) Role {
	top := func(names ...string) bool { return slices.Contains(names, p[0]) }
	switch {
	case len(p) == 0 || top("usage", "x_groq", "error", "type", "object", "metrics", "timings", "nvext"):
		return RoleOther
	case len(p) == 1 && top("id"):
		return roleID
	case len(p) == 1 && top("model"):
		return roleModel
	case !top("choices"):
		return RoleNone
	case len(p) < 3 || p[1] != element:
		return RoleOther
	}
	return roleInChoice(p[2:])
}

// roleInChoice is [roleOf] for places in a member of choices.
func roleInChoice(p Place) Role {
	switch p[0] {
	case "index":
		return roleIndex
	case "text":
		return RoleText
	case "delta", "message":
	case "finish_reason", "logprobs", "token_ids", "error":
		return RoleOther
	default:
		return RoleNone
	}
	if len(p) < 2 {
		return RoleOther
	}
	switch p[1] {
	case "content", "reasoning_content", "reasoning", "refusal":
		if len(p) == 2 {
			return RoleText
		}
		return RoleOther
	case "tool_calls":
		if slices.Equal(p[2:], Place{element, "function", "arguments"}) {
			return RoleText
		}
		return RoleOther
	case "function_call", "audio":
		return RoleOther
	}
	return RoleNone
}

// learnFrom learns the effect of a shape from an event that was read just now and
// has emitted so many chunks.
func (d *Decoder) learnFrom(events *eventlog.Log, shape, chunks int) {
	if d.grammar.Role == nil {
		d.effects[shape] = d.learn(events, shape)
		return
	}
	if chunks == 0 || d.Terminal {
		return // the next one may have more
	}
	e := d.learn(events, shape)
	if e.state == effectKnown && !e.emits {
		e.state = effectAny // the event's name determines its kind, not its data
	}
	d.effects[shape] = e
}

// learn finds out what events of a shape do, after one of them was read in full:
// what that one left behind need not be done again.
func (d *Decoder) learn(events *eventlog.Log, shape int) effect {
	whole := effect{state: effectAny}
	if d.probe == nil {
		d.probe = NewDecoder(d.grammar)
	}
	p := d.probe
	p.Reset(&bench.Response{Status: d.Status})
	p.Streamed = true
	p.scratch = appendMarked(p.scratch[:0], events, shape)
	v := p.json.Parse(p.scratch)
	if v == nil {
		return whole
	}
	places, ok := findMarks(v, events, shape)
	if !ok {
		return whole
	}
	e, ok := d.roles(places, events, shape)
	if !ok || !p.take(Document{Value: v, Data: p.scratch}) {
		return whole
	}
	quiet := p.Answer.Failure == nil && len(p.Answer.Warnings) == 0 && p.bad == 0 && !p.HasUsage
	if !quiet || len(p.choices) > 1 || len(p.Answer.Chunks) > 1 || !d.effectOn(&e, p, v) {
		return whole
	}
	e.state = effectKnown
	return e
}

// roles returns the holes with an effect; ok = false when the effect of one is unknown.
func (d *Decoder) roles(places []Place, events *eventlog.Log, shape int) (e effect, ok bool) {
	e = effect{text: noHole, index: noHole, choice: -1}
	of := d.grammar.Role
	if of == nil {
		of = roleOf
	}
	for i, p := range places {
		number, role := events.IsNumber(shape, i), of(p)
		switch {
		case role == RoleNone, role == roleID && d.Answer.ResponseID != "", role == roleModel && d.Answer.Model != "":
			if !number {
				e.checked = append(e.checked, i)
			}
		case role == RoleText && !number && e.text == noHole:
			e.text = i
		case role == roleIndex && number && e.index == noHole:
			e.index = i
		default:
			return e, false
		}
	}
	return e, true
}

// effectOn completes e by what the marked document v made of the empty answer
// in p, and reports whether that is all there is to it.
func (d *Decoder) effectOn(e *effect, p *Decoder, v *fastjson.Value) bool {
	if len(p.choices) == 0 {
		return e.text == noHole && e.index == noHole
	}
	c := &p.choices[0]
	if c.Finish != "" || c.Tokens != 0 {
		return false
	}
	if e.index != noHole {
		if strconv.Itoa(c.index) != mark(e.index, true) {
			return false
		}
	} else if e.choice = d.position(c.index); e.choice < 0 {
		return false
	}
	if len(p.Answer.Chunks) == 0 {
		return e.text == noHole && len(c.Calls) == 0
	}
	chunk := p.Answer.Chunks[0]
	e.emits, e.kind = true, chunk.Kind
	var text []byte
	switch chunk.Kind {
	case bench.Text:
		text = c.Text
	case bench.Reasoning:
		text = c.reasoning
	case bench.Refusal:
		text = c.refusal
	case bench.Tool:
		call := &c.Calls[0]
		if e.text == noHole || len(c.Calls) != 1 || call.Name != "" || call.ID != "" && e.index != noHole || !hasCallIndex(v) {
			return false
		}
		e.call, text = call.index, call.Args
	case bench.Audio,
		bench.Image, bench.ImagePartial, bench.Video, bench.Embedding, bench.Ranking, bench.Binary:
		return false
	}
	if e.text == noHole {
		e.constant = slices.Clone(text)
	}
	return chunk.Tokens == 0 && int(chunk.Bytes) == len(text) &&
		(e.text == noHole || string(text) == mark(e.text, false))
}

// hasCallIndex reports whether the only tool call of a chunk has an index.
func hasCallIndex(v *fastjson.Value) bool {
	for _, name := range []string{"delta", "message"} {
		calls := v.GetArray("choices", "0", name, "tool_calls")
		if len(calls) != 1 {
			continue
		}
		_, ok := IndexOf(calls[0])
		return ok && v.Get("choices", "1") == nil
	}
	return false
}

// apply reads the current event by the effect of its shape; false, and nothing
// is done, when it has to be read in full.
func (d *Decoder) apply(cur *eventlog.Cursor) bool {
	e := &d.effects[cur.Template]
	if e.state != effectKnown || d.Terminal || cur.Size() > bigDocument {
		return false
	}
	for _, hole := range e.checked {
		if !isPlain(cur.Variable(hole)) {
			return false
		}
	}
	text := e.constant
	if e.text != noHole {
		text = cur.Variable(e.text)
		if len(text) == 0 {
			return false // something else may be looked at then
		}
		if !isPlain(text) {
			var ok bool
			d.scratch, ok = appendUnescaped(d.scratch[:0], text)
			if text = d.scratch; !ok {
				return false
			}
		}
	}
	choice := e.choice
	if e.index != noHole {
		if choice = d.smallIndex(cur.Variable(e.index)); choice < 0 {
			return false
		}
	}
	return d.do(e, cur, choice, text)
}

// do has the effect e, with these values, for the current event.
func (d *Decoder) do(e *effect, cur *eventlog.Cursor, choice int, text []byte) bool {
	var call *ToolCall
	if e.emits && e.kind == bench.Tool {
		if call = d.choices[choice].CallAt(e.call); call == nil {
			return false
		}
	}
	d.At, d.Read = cur.At, cur.Read
	if d.Answer.FirstEvent == 0 {
		d.Answer.FirstEvent = cur.At
	}
	d.Valid++
	d.size += len(text)
	d.Credit.OnChunk = false
	switch {
	case call != nil:
		call.Args = append(call.Args, text...)
		d.EmitSize(&d.choices[choice], bench.Tool, len(text))
	case e.emits:
		d.Emit(&d.choices[choice], e.kind, text)
	}
	return true
}

// smallIndex returns the position of the choice whose index is written in
// number; -1 when there is none yet, or it is no small whole number.
func (d *Decoder) smallIndex(number []byte) int {
	index := 0
	for _, c := range number {
		if c < '0' || c > '9' || index > maxChoices {
			return -1
		}
		index = 10*index + int(c-'0')
	}
	return d.position(index)
}
