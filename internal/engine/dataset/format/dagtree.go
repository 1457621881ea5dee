package format

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
)

// The bounds of a dataset of trees.
const (
	maxDAG  = 32 << 20 // bytes of records, which stay in memory
	maxTree = 10_000   // conversations that one root and its descendants start
	maxDeep = 1000     // conversations from a root to one of its descendants
)

// dagJSONL reads trees of conversations.
func dagJSONL() source.Format {
	tables := newDagTables()
	return source.Format{
		Name:     "dag_jsonl",
		Sampling: "random",
		Needs:    "turns with messages, forks or spawns, or orchestrator",
		Detect: func(h *source.Head) bool {
			return !h.Folder && (h.HasAny("orchestrator") || source.HasAny(h.First("turns"), "messages", "forks", "spawns"))
		},
		Open: func(ctx context.Context, o source.Options) (source.Source, error) { return openDAG(ctx, o, tables) },
	}
}

// dag are the conversations of a file.
type dag struct {
	o     source.Options
	all   []*dagConversation
	byID  map[string]*dagConversation
	roots []*dagConversation
	about source.Description
}

func openDAG(ctx context.Context, o source.Options, tables *dagTables) (source.Source, error) {
	d := &dag{o: o, byID: map[string]*dagConversation{}}
	d.about.Path = o.File.Path
	decoder := newObject(tables.conversation)
	size, turns := 0, 0
	err := source.EachRecord(ctx, o.File, o.SkipBad, &d.about, func(record file.Record) (problem, err error) {
		if size += len(record.Data); size > maxDAG {
			return nil, fmt.Errorf("the file has more than %d MiB: split it", maxDAG>>20)
		}
		c := &dagConversation{place: record.Place.String(), number: len(d.all), first: turns}
		all := decoder.decode(c, record.Data)
		if len(all) == 0 {
			all = c.check()
		}
		if earlier := d.byID[c.id]; len(all) == 0 && earlier != nil {
			all = append(all, fmt.Sprintf("session_id: %q is given in %s too", c.id, earlier.place))
		}
		if len(all) > 0 {
			return all, nil
		}
		turns += len(c.turns)
		d.all, d.byID[c.id] = append(d.all, c), c
		return nil, nil
	})
	if err == nil && len(d.all) == 0 {
		err = errors.New("no records")
	}
	if err == nil {
		err = d.link()
	}
	if err != nil {
		return nil, err
	}
	n := len(d.roots)
	if o.Entries > 0 {
		n = min(n, o.Entries)
	}
	return source.NewIndexed(n, func(i int) source.Entry {
		return source.Entry{Number: i, Make: func() (*bench.Conversation, error) { return d.tree(d.roots[i]), nil }}
	}, func() source.Description { return d.about }), nil
}

// check checks a conversation by itself.
func (c *dagConversation) check() (all source.Problems) {
	if c.id == "" {
		all = append(all, "session_id is missing")
	}
	if c.orchestrator {
		return append(all, c.checkOrchestrator()...)
	}
	if len(c.turns) == 0 {
		all = append(all, "turns is missing")
	}
	if c.spawns != nil || c.rounds != nil || c.count > 0 || c.think != (dagThink{}) {
		all = append(all, "spawns, rounds and think times of a conversation need orchestrator: true")
	}
	for i := range c.turns {
		at := fmt.Sprintf("turns[%d]", i)
		all = append(all, c.checkTurn(i).Below(at)...)
	}
	return append(all, repeated("pre_session_spawns", c.pre)...)
}

// checkTurn checks a turn and sets the default of joins.
func (c *dagConversation) checkTurn(i int) (all source.Problems) {
	t := &c.turns[i]
	if t.turn.Messages == nil {
		all = append(all, "messages is missing")
	}
	var children []string
	for k, f := range t.forks {
		if children = append(children, f.child); f.child == "" {
			all = append(all, fmt.Sprintf("forks[%d].child is missing", k))
		}
		if !f.background && i < len(c.turns)-1 {
			all = append(all, fmt.Sprintf("forks[%d]: ends the conversation, so that only its last turn can have it; or set background", k))
		}
	}
	for k, s := range t.spawns {
		if children = append(children, s.children...); len(s.children) == 0 {
			all = append(all, fmt.Sprintf("spawns[%d].children is missing", k))
		}
		if s.joinAt != nil && (*s.joinAt <= i || *s.joinAt >= len(c.turns)) {
			all = append(all, fmt.Sprintf("spawns[%d].join_at: must be the index of a later turn, not %d; the conversation has %d turns", k, *s.joinAt, len(c.turns)))
		}
	}
	return append(all, repeated("forks and spawns", children)...)
}

func (c *dagConversation) checkOrchestrator() (all source.Problems) {
	if len(c.turns) > 0 {
		all = append(all, "turns: an orchestrator has none")
	}
	if len(c.pre) > 0 {
		all = append(all, "pre_session_spawns: an orchestrator has spawns instead")
	}
	if c.rounds != nil && c.spawns != nil {
		all = append(all, "spawns: a list of rounds has the spawns of each one")
	}
	if c.rounds == nil && c.spawns == nil {
		all = append(all, "spawns is missing")
	}
	var children []string
	for i, r := range c.rounds {
		if children = append(children, r.spawns...); len(r.spawns) == 0 {
			all = append(all, fmt.Sprintf("rounds[%d].spawns is missing", i))
		}
	}
	t := &c.think
	if t.sigma > 0 && t.median == nil {
		all = append(all, "think_time_sigma: needs think_time_ms, the median")
	}
	if t.sigma == 0 && (t.smallest != nil || t.greatest != nil) {
		all = append(all, "think_time_min_ms, think_time_max_ms: need think_time_sigma")
	}
	if t.smallest != nil && t.greatest != nil && *t.smallest > *t.greatest {
		all = append(all, "think_time_max_ms: must not be less than think_time_min_ms")
	}
	return append(append(all, repeated("rounds", children)...), repeated("spawns", c.spawns)...)
}

// repeated returns the problems of children that are given twice.
func repeated(where string, children []string) (all source.Problems) {
	for i, id := range children {
		if id != "" && slices.Contains(children[:i], id) {
			all = append(all, fmt.Sprintf("%s: child %q is given twice", where, id))
		}
	}
	return all
}

// children calls do with all children of a conversation.
func (c *dagConversation) children(do func(where, id string, fork bool)) {
	each := func(where string, ids []string) {
		for _, id := range ids {
			do(where, id, false)
		}
	}
	each("pre_session_spawns", c.pre)
	for i := range c.turns {
		for _, f := range c.turns[i].forks {
			do(fmt.Sprintf("turns[%d].forks", i), f.child, true)
		}
		for _, s := range c.turns[i].spawns {
			each(fmt.Sprintf("turns[%d].spawns", i), s.children)
		}
	}
	each("spawns", c.spawns)
	for i := range c.rounds {
		each(fmt.Sprintf("rounds[%d].spawns", i), c.rounds[i].spawns)
	}
}

// link checks the references between conversations and finds the roots.
func (d *dag) link() error {
	var wrong file.Error
	for _, c := range d.all {
		c.children(func(where, id string, fork bool) {
			if problem := d.refer(c, id, fork); problem != "" {
				wrong.Add(c.place, where+": "+problem)
			}
		})
	}
	if len(wrong.Problems) == 0 {
		for _, c := range d.all {
			for _, problem := range c.checkSystem() {
				wrong.Add(c.place, problem)
			}
			for _, id := range c.pre {
				if d.byID[id].parent != "" {
					wrong.Add(c.place, fmt.Sprintf("pre_session_spawns: %q is a fork of %q, so that it needs the history of that conversation", id, d.byID[id].parent))
				}
			}
			if !c.child {
				d.roots = append(d.roots, c)
			}
		}
		d.checkTrees(&wrong)
	}
	return wrong.OrNil()
}

// refer records that a conversation has a child and returns the problem of that.
func (d *dag) refer(c *dagConversation, id string, fork bool) string {
	child := d.byID[id]
	if child == nil {
		return fmt.Sprintf("there is no conversation with the session_id %q", id)
	}
	child.child = true
	if !fork {
		return ""
	}
	switch {
	case child.parent != "":
		return fmt.Sprintf("%q is a fork of %q already; it can have the history of one conversation", id, child.parent)
	case child.mode == bench.MessageArrayWithResponses:
		return fmt.Sprintf("%q has the context mode %v, so that it has no use for a history; spawn it", id, child.mode)
	case child.orchestrator:
		return fmt.Sprintf("%q is an orchestrator, which has no use for a history; spawn it", id)
	}
	child.parent = c.id
	return ""
}

// checkSystem checks that messages of the system are only where a history begins.
func (c *dagConversation) checkSystem() (all []string) {
	for i := range c.turns {
		at := c.turns[i].system
		whole := c.mode == bench.MessageArrayWithResponses || i == 0 && c.parent == ""
		if at > 0 || at == 0 && !whole {
			all = append(all, fmt.Sprintf("turns[%d].messages[%d]: a message of the system must be the first of its history", i, at))
		}
	}
	return all
}

// treeSize is the size of a conversation with its descendants.
type treeSize struct {
	all   int    // conversations, at most maxTree + 1
	depth int    // conversations on the longest way down, at most maxDeep + 1; 1 = it starts none
	via   string // where the conversation refers to the next one on this way
}

// checkTrees checks that no conversation is its own descendant, and the sizes of trees.
func (d *dag) checkTrees(wrong *file.Error) {
	sizes := make(map[*dagConversation]treeSize, len(d.all))
	var path []*dagConversation
	open := make(map[*dagConversation]bool)
	var size func(c *dagConversation) treeSize
	size = func(c *dagConversation) treeSize {
		if n, ok := sizes[c]; ok {
			return n
		}
		if open[c] {
			var ids []string
			for _, p := range append(path[slices.Index(path, c):], c) {
				ids = append(ids, p.id)
			}
			wrong.Add(c.place, "the conversation starts itself: "+strings.Join(ids, " → "))
			return treeSize{all: 1, depth: 1}
		}
		if len(path) > maxDeep {
			return treeSize{all: 1, depth: maxDeep + 1}
		}
		path, open[c] = append(path, c), true
		n := treeSize{all: 1, depth: 1}
		c.children(func(where, id string, _ bool) {
			child := size(d.byID[id])
			n.all = min(n.all+child.all, maxTree+1)
			if child.depth >= n.depth {
				n.depth, n.via = min(child.depth+1, maxDeep+1), where
			}
		})
		path, open[c] = path[:len(path)-1], false
		n.all = min(n.all*max(c.count, 1), maxTree+1)
		sizes[c] = n
		return n
	}
	for _, c := range d.all {
		n := size(c)
		if c.child {
			continue
		}
		if n.all > maxTree {
			wrong.Add(c.place, fmt.Sprintf("the conversation and its descendants are more than %d", maxTree))
		}
		if n.depth > maxDeep {
			wrong.Add(c.place, fmt.Sprintf("%s: conversations start each other to a depth of more than %d, the most that is accepted", n.via, maxDeep))
		}
	}
	if len(d.roots) == 0 && len(wrong.Problems) == 0 {
		wrong.Add(d.all[0].place, "every conversation is started by another one; at least one must be a root")
	}
}

// tree makes a conversation and its descendants.
func (d *dag) tree(c *dagConversation) *bench.Conversation {
	out := &bench.Conversation{ID: c.id, Mode: c.mode, Before: d.trees(c.pre)}
	if c.parent == "" {
		out.System = d.o.System
	}
	for i := range c.turns {
		out.Turns = append(out.Turns, d.turn(c, i))
	}
	if c.orchestrator {
		out.Rounds = d.rounds(c)
	}
	return out
}

func (d *dag) trees(ids []string) (out []*bench.Conversation) {
	for _, id := range ids {
		out = append(out, d.tree(d.byID[id]))
	}
	return out
}

func (d *dag) turn(c *dagConversation, i int) bench.Turn {
	from := &c.turns[i]
	t := from.turn
	if d.o.DelayCap != nil {
		t.Delay = min(t.Delay, *d.o.DelayCap)
	}
	d.o.Complete(&t, c.first+i)
	for _, f := range from.forks {
		t.Forks = append(t.Forks, bench.Fork{Child: d.tree(d.byID[f.child]), Background: f.background})
	}
	for _, s := range from.spawns {
		spawn := bench.Spawn{Children: d.trees(s.children)}
		if s.joinAt != nil {
			spawn.JoinAt = *s.joinAt
		} else if i < len(c.turns)-1 {
			spawn.JoinAt = i + 1
		}
		t.Spawns = append(t.Spawns, spawn)
	}
	return t
}

func (d *dag) rounds(c *dagConversation) (out []bench.Round) {
	rounds := c.rounds
	if rounds == nil {
		rounds = slices.Repeat([]dagRound{{spawns: c.spawns}}, max(c.count, 1))
	}
	draws := d.o.Seed.Index(bench.StreamThinkTime, c.number)
	for _, r := range rounds {
		think := r.think
		if think == nil {
			think = c.think.median
		}
		var wait time.Duration
		if think != nil {
			ms := *think
			if c.think.sigma > 0 {
				ms *= math.Exp(c.think.sigma * draws.NormFloat64())
			}
			if c.think.smallest != nil {
				ms = max(ms, *c.think.smallest)
			}
			if c.think.greatest != nil {
				ms = min(ms, *c.think.greatest)
			}
			wait = source.Milliseconds(ms, d.o.DelayCap)
		}
		out = append(out, bench.Round{Think: wait, Children: d.trees(r.spawns)})
	}
	return out
}
