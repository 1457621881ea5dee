package request

import (
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// marking is an encoder that puts the markers of a plan into conversations.
type marking struct {
	load.Encoder
	bust  plan.CacheBust
	runID string
}

// Encode implements [load.Encoder].
func (m *marking) Encode(d *load.Dialogue, rec *bench.Record, r *transport.Request) (items int, err error) {
	m.mark(d, rec.Turn, rec.RequestID)
	return m.Encoder.Encode(d, rec, r)
}

// mark puts the marker of a turn into a dialogue. The marker of a session stays, unless
// each request has its own; id is that of the request. All sessions of a family have the
// same marker: a fork begins with the history of its parent, which has it. The lane of a
// marker is the number of the session in the run, so that no two families have the same.
func (m *marking) mark(d *load.Dialogue, turn int, id string) {
	bust := &m.bust
	if len(d.History) > turn || turn > d.First && !bust.EachRequest {
		return
	}
	d.Conversation, d.Marker = d.Entry, bench.Mark{}
	if bust.Warmup && d.Phase != bench.Warmup {
		return
	}
	pass, name := 0, d.Root
	if bust.EachRequest {
		pass, name = turn, id
	}
	text := marker{bust.Marker(m.runID, pass, d.Session, name), bust.Suffix}
	d.Marker = bench.Mark{Text: text.text, System: bust.System, Suffix: bust.Suffix}
	if bust.System {
		d.Conversation = text.system(d.Entry)
	} else {
		d.Conversation = text.user(d.Entry)
	}
	if turn > 0 && len(d.History) == turn { // earlier requests still refer to the old one
		d.History = slices.Clone(d.History)
		for i := range d.History {
			d.History[i].Turn = d.Conversation.Turns[i]
		}
	}
}

// marker is a text that is put into a conversation. Its methods return a copy of the
// conversation.
type marker struct {
	text   string // with the blank lines that separate it
	suffix bool   // after the text it is put into
}

// system puts the marker into the system message: that of the conversation, or the one
// that its first turn is or begins with. Without one, it goes into the first user message.
func (m marker) system(c *bench.Conversation) *bench.Conversation {
	switch {
	case c.System != "":
		out := *c
		out.System = m.join(c.System)
		return &out
	case c.Turns[0].Script != nil, beginsWithSystem(&c.Turns[0]):
		return m.turns(c, 0, isSystem)
	}
	return m.user(c)
}

// user puts the marker into the first user message: the context if there is one and the
// marker comes first, otherwise the first turn of a user.
func (m marker) user(c *bench.Conversation) *bench.Conversation {
	if c.Context != "" && !m.suffix {
		out := *c
		out.Context = m.join(c.Context)
		return &out
	}
	first := slices.IndexFunc(c.Turns, func(t bench.Turn) bool { return isUser(t.Role) })
	return m.turns(c, max(0, first), isUser)
}

func isSystem(role string) bool { return role == "system" || role == "developer" }

// isUser reports whether a turn of a role is a user's; that is the default.
func isUser(role string) bool { return role == "" || role == "user" }

// turns puts the marker into one turn, and into all that are sent without history. wanted
// selects the message in a turn of several.
func (m marker) turns(c *bench.Conversation, first int, wanted func(role string) bool) *bench.Conversation {
	if c.Turns[0].Script != nil {
		return c // which is marked when it is written
	}
	out := *c
	out.Turns = slices.Clone(c.Turns)
	for i := range out.Turns {
		switch t := &out.Turns[i]; {
		case i != first && c.Mode != bench.MessageArrayWithResponses:
		case t.Messages != nil:
			t.Messages = m.messages(t.Messages, wanted)
		default:
			m.turn(t)
		}
	}
	return &out
}

// turn puts the marker into the first text of a turn, or into the last one.
func (m marker) turn(t *bench.Turn) {
	t.InputTokens = 0
	texts := &t.Texts
	if n := len(t.Named); n > 0 && (!m.suffix || len(t.Texts) == 0) { // they come first
		t.Named = slices.Clone(t.Named)
		texts = &t.Named[0].Texts
		if m.suffix {
			texts = &t.Named[n-1].Texts
		}
	}
	if len(*texts) == 0 {
		*texts = []string{strings.TrimSpace(m.text)}
		return
	}
	*texts = slices.Clone(*texts)
	at := 0
	if m.suffix {
		at = len(*texts) - 1
	}
	(*texts)[at] = m.join((*texts)[at])
}

// join puts the marker before a text, or after it.
func (m marker) join(text string) string {
	if m.suffix {
		return text + m.text
	}
	return m.text + text
}
