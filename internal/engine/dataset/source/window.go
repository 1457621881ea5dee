package source

import (
	"cmp"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/tokenizer"
)

// window holds the conversations whose records are not all known, in the order of their
// first records, or of their times.
type window struct {
	timed    bool // in the order of their times
	queue    []*pending
	sessions map[string]*pending
	bytes    int // of the records
}

// pending is a conversation in a window.
type pending struct {
	conversation bench.Conversation
	session      bool // has an id, so that more records may follow
	bytes        int
	parts        []part
}

// part is a range of turns that have to be finished.
type part struct {
	from, to int
	finish   func(turns []bench.Turn) error
}

func newWindow(timed bool) window {
	return window{timed: timed, sessions: map[string]*pending{}}
}

// add adds a row to its conversation, or as a new one.
func (w *window) add(r *Row, size int) {
	w.bytes += size
	p := w.sessions[r.Session]
	if p == nil {
		p = &pending{conversation: r.Conversation, session: r.Session != ""}
		p.conversation.ID, p.conversation.Turns = cmp.Or(r.Session, r.Conversation.ID), nil
		if p.session {
			w.sessions[r.Session] = p
		}
	}
	c, from := &p.conversation, len(p.conversation.Turns)
	c.Turns = append(c.Turns, r.Conversation.Turns...)
	if r.Finish != nil {
		p.parts = append(p.parts, part{from, len(c.Turns), r.Finish})
	}
	if p.bytes += size; from == 0 {
		w.insert(p)
	}
}

// insert adds a conversation to the queue.
func (w *window) insert(p *pending) {
	at := len(w.queue)
	for w.timed && at > 0 && w.queue[at-1].at() > p.at() {
		at--
	}
	w.queue = slices.Insert(w.queue, at, p)
}

// at returns the time of the first turn.
func (p *pending) at() time.Duration { return p.conversation.Turns[0].At }

// take removes the first conversation if no record of it, and none that is earlier, is
// expected any more; nil = more records have to be read.
func (w *window) take(ended bool) *pending {
	if len(w.queue) == 0 {
		return nil
	}
	p := w.queue[0]
	full := w.bytes > windowBytes || w.timed && len(w.queue) > windowTimed
	if !ended && !full && (w.timed || p.session) {
		return nil
	}
	w.queue[0] = nil
	w.queue = w.queue[1:]
	w.bytes -= p.bytes
	delete(w.sessions, p.conversation.ID)
	return p
}

// finish returns the complete conversation. With hoist, a first turn of the system is
// its system message.
func (p *pending) finish(tok tokenizer.Tokenizer, hoist bool) (*bench.Conversation, error) {
	c := p.conversation
	c.Turns = slices.Clone(c.Turns)
	for _, part := range p.parts {
		if err := part.finish(c.Turns[part.from:part.to]); err != nil {
			return nil, err
		}
	}
	if hoist {
		hoistSystem(&c)
	}
	for i := range c.Turns {
		if t := &c.Turns[i]; tok != nil && t.InputTokens == 0 {
			t.InputTokens = count(tok, t)
		}
	}
	return &c, nil
}

// hoistSystem makes a first turn with the role system and only text the system message,
// unless it is the only one or the next has that role too.
func hoistSystem(c *bench.Conversation) {
	const role = "system"
	first := &c.Turns[0]
	if len(c.Turns) < 2 || first.Role != role || c.Turns[1].Role == role || len(first.Texts) == 0 ||
		len(first.Named)+len(first.Images)+len(first.Audios)+len(first.Videos) > 0 {
		return
	}
	c.System = join(c.System, strings.Join(first.Texts, "\n\n"))
	if next := &c.Turns[1]; first.Timed && !next.Timed {
		next.At, next.Timed = first.At, true
	}
	c.Turns = c.Turns[1:]
}

// Complete adds to turn number n of a dataset what its record lacks: the maximum output,
// and the counted input.
func (o *Options) Complete(t *bench.Turn, n int) {
	if t.MaxTokens == 0 && o.OSL.Given() {
		t.MaxTokens = bench.Tokens(o.OSL.DrawInt(o.Seed.Index(bench.StreamMaxTokens, n)))
	}
	if o.Tokenizer != nil {
		t.InputTokens = count(o.Tokenizer, t)
	}
}

// count counts the tokens of the texts and messages of a turn, or of those in its body.
func count(tok tokenizer.Tokenizer, t *bench.Turn) (n bench.Tokens) {
	if t.Payload != nil {
		return countBody(tok, t.Payload)
	}
	n = countMessages(tok, t.Messages)
	for _, text := range t.Texts {
		n += bench.Tokens(tok.Count(text))
	}
	for _, named := range t.Named {
		for _, text := range named.Texts {
			n += bench.Tokens(tok.Count(text))
		}
	}
	return n
}

// countMessages counts the tokens of a list of chat messages.
func countMessages(tok tokenizer.Tokenizer, raw json.RawMessage) (n bench.Tokens) {
	var messages []struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &messages) == nil {
		for _, m := range messages {
			n += countJSON(tok, m.Content)
		}
	}
	return n
}

// countBody counts the tokens of a request body: of its messages, and of the input members
// of other APIs.
func countBody(tok tokenizer.Tokenizer, body []byte) (n bench.Tokens) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return 0 // its texts are not known
	}
	n = countMessages(tok, members["messages"])
	for _, name := range [...]string{"system", "prompt", "input", "inputs", "text"} {
		n += countJSON(tok, members[name])
	}
	return n
}

// countJSON counts the tokens of a JSON text, of texts, or of typed parts with text.
func countJSON(tok tokenizer.Tokenizer, raw json.RawMessage) bench.Tokens {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return 0
	}
	return bench.Tokens(tokensIn(tok, v))
}

func tokensIn(tok tokenizer.Tokenizer, v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = tok.Count(v)
	case []any:
		for _, element := range v {
			n += tokensIn(tok, element)
		}
	case map[string]any:
		n = tokensIn(tok, v["text"]) + tokensIn(tok, v["content"])
	}
	return n
}

// sessions is a set of ids that remembers the last of them.
type sessions struct {
	seed   maphash.Seed
	recent Recent[uint64, struct{}]
}

func newSessions() sessions {
	return sessions{seed: maphash.MakeSeed(), recent: NewRecent[uint64, struct{}](1 << 17)}
}

func (s *sessions) add(id string) { s.recent.Set(maphash.String(s.seed, id), struct{}{}) }

func (s *sessions) has(id string) bool {
	_, ok := s.recent.Get(maphash.String(s.seed, id))
	return ok
}

// Recent is a map that remembers the last keys that were set: at least so many, at most
// twice as many.
type Recent[K comparable, V any] struct {
	least    int
	new, old map[K]V
}

// NewRecent returns a map that remembers at least the last keys, so many.
func NewRecent[K comparable, V any](least int) Recent[K, V] {
	return Recent[K, V]{least: least, new: map[K]V{}}
}

// Get returns the value of a key; false = it was not set, or is forgotten.
func (r *Recent[K, V]) Get(key K) (V, bool) {
	v, ok := r.new[key]
	if !ok {
		v, ok = r.old[key]
	}
	return v, ok
}

// Set sets the value of a key.
func (r *Recent[K, V]) Set(key K, v V) {
	if len(r.new) == r.least {
		if _, ok := r.new[key]; !ok {
			r.new, r.old = make(map[K]V, r.least/8), r.new
		}
	}
	r.new[key] = v
}
