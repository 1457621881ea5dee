package api

// PartKind is the kind of a part of an answer.
type PartKind uint8

// The parts of an answer: reasoning first, then the text, or calls in its place.
const (
	Reasoning PartKind = iota
	Text
	Call
)

// Part is a part of a choice.
type Part struct {
	Kind     PartKind
	Index    int // among the parts
	Call     int // number of the call
	From, To int // its tokens: From … To−1, as far as they come
}

// PartAt returns the part of token i.
func (c *Choice) PartAt(i int) Part {
	if i < c.Reasoning {
		return Part{Kind: Reasoning, To: c.Reasoning}
	}
	p := Part{Kind: Text, From: c.Reasoning, To: c.Total}
	if c.Reasoning > 0 {
		p.Index = 1
	}
	for n := range c.Calls {
		if call := &c.Calls[n]; i < c.Reasoning+call.To {
			p.Kind, p.Index, p.Call = Call, p.Index+n, n
			p.From, p.To = c.Reasoning+call.From, min(c.Reasoning+call.To, c.Total)
			break
		}
	}
	return p
}

// Parts returns the parts that have tokens.
func (c *Choice) Parts() (parts []Part) {
	for at := 0; at < c.Total; {
		p := c.PartAt(at)
		parts = append(parts, p)
		at = p.To
	}
	return parts
}

// Bound limits an event that begins after the first sent tokens to one part of the
// choice: reasoning, the answer, the name of a call, or its arguments.
func (c *Choice) Bound(sent, k int) int {
	switch p := c.PartAt(sent); {
	case p.Kind == Text:
		return k
	case p.Kind == Call && sent == p.From:
		return min(k, 1)
	default:
		return min(k, p.To-sent)
	}
}
