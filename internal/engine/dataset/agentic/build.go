package agentic

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// name returns the name of a request.
func name(stream string, turn int) string { return stream + "/" + strconv.Itoa(turn) }

// graph returns the session graph of a trace.
func (t *wekaTrace) graph(rules Rules, sum string) *Graph {
	g := &Graph{ID: t.id, Block: t.block, Needs: map[string][]string{}, Source: Source{FormatWeka, sum}}
	parts := split(t.main, rules)
	root := g.add(&parts[0], t.id, t.declared)
	for i := range parts[1:] {
		p := &parts[i+1]
		s := g.add(p, t.id+"::"+p.suffix, t.inherited(parts[0].lead, p.lead, t.declared))
		s.Spawn = &Spawn{After: name(root.ID, began(root, s.start())), T: s.start()}
		g.awaited(root, s, s.end())
	}
	for i := range t.subs {
		g.addSub(t, &t.subs[i], root, rules)
	}
	slices.SortStableFunc(g.Streams[1:], func(a, b *Stream) int { return cmp.Compare(a.start(), b.start()) })
	g.pack()
	return g
}

// add adds a stream.
func (g *Graph) add(p *part, id string, declared int) *Stream {
	s := &Stream{ID: id, Kind: p.kind, Declared: declared}
	for i := range p.calls {
		s.Requests = append(s.Requests, p.calls[i].Request)
	}
	g.Streams = append(g.Streams, s)
	return s
}

// addSub adds a sub-agent and the agents that its requests tell of.
func (g *Graph) addSub(t *wekaTrace, sub *wekaSub, root *Stream, rules Rules) {
	after := 0
	for i := range root.Requests {
		if root.Requests[i].Place.Outer < sub.outer {
			after = i
		}
	}
	parts := split(sub.calls, rules)
	end := sub.t
	for i := range sub.calls {
		end = max(end, sub.calls[i].End())
	}
	if sub.duration != nil {
		end = sub.t + *sub.duration
	}
	for i := range parts {
		p := &parts[i]
		id, declared := t.id+"::sa:"+sub.agent, sub.declared
		if i == 0 {
			p.kind = Sub
		} else {
			id, declared = id+":"+p.suffix, t.inherited(parts[0].lead, p.lead, sub.declared)
		}
		s := g.add(p, id, declared)
		s.Spawn = &Spawn{After: name(root.ID, after), T: sub.t}
		g.awaited(root, s, end)
	}
}

// inherited returns the declared prefix of a stream that was found in another: that of the other if the blocks
// prove it, otherwise none.
func (t *wekaTrace) inherited(from, to []int64, declared int) int {
	n := (declared + t.block - 1) / t.block
	if n == 0 || common(from, to) < n {
		return 0
	}
	return declared
}

// began returns the last request of a stream that had begun at a time.
func began(s *Stream, at float64) (turn int) {
	for i := range s.Requests {
		if s.Requests[i].T <= at+epsilon {
			turn = i
		}
	}
	return turn
}

// awaited notes the first request of the main stream that began after the end of another: it waited for it.
func (g *Graph) awaited(root, s *Stream, end float64) {
	for i := range root.Requests {
		if r := &root.Requests[i]; r.T+epsilon >= end && r.T >= s.start() {
			at := name(root.ID, i)
			g.Needs[at] = append(g.Needs[at], name(s.ID, len(s.Requests)-1))
			return
		}
	}
}

// splitName returns the stream and the turn of a request's name; turn -1 = it is none.
func splitName(name string) (stream string, turn int) {
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return name, -1
	}
	turn, err := strconv.Atoi(name[at+1:])
	if err != nil {
		turn = -1
	}
	return name[:at], turn
}
