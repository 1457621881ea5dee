package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
)

// dagConversation is one decoded record of format dag_jsonl: a conversation, or an
// orchestrator.
type dagConversation struct {
	place string
	id    string
	mode  bench.ContextMode
	turns []dagTurn
	pre   []string // ids of children that start with the conversation

	orchestrator bool
	spawns       []string
	rounds       []dagRound
	count        int // of rounds that all start spawns; 0 = not given
	think        dagThink

	number int    // in the file, from 0
	first  int    // number of its first turn in the file
	parent string // id of the conversation that forks it; empty = none
	child  bool   // some conversation refers to it
}

// dagTurn is one turn of a conversation.
type dagTurn struct {
	turn   bench.Turn
	forks  []dagFork
	spawns []dagSpawn
	system int // index of the last message with the role system; -1 = there is none
}

type dagFork struct {
	child      string
	background bool
}

type dagSpawn struct {
	children []string
	joinAt   *int // nil = the next turn, if there is one
}

// dagRound is one round of an orchestrator.
type dagRound struct {
	spawns []string
	think  *float64 // milliseconds; nil = that of the orchestrator
}

// dagThink is the time before a round, in milliseconds.
type dagThink struct {
	median             *float64
	sigma              float64 // of the logarithm; 0 = the time is constant
	smallest, greatest *float64
}

// dagTables are the tables of the members of dag_jsonl.
type dagTables struct {
	conversation []member[dagConversation]
	turn         []member[dagTurn]
	fork         []member[dagFork]
	spawn        []member[dagSpawn]
	round        []member[dagRound]
}

func newDagTables() *dagTables {
	t := &dagTables{}
	t.fork = []member[dagFork]{
		{source.Field{Name: "child"}, func(f *dagFork, v json.RawMessage) error { return decodeString(v, &f.child) }},
		{source.Field{Name: "background"}, func(f *dagFork, v json.RawMessage) error { return decodeBool(v, &f.background) }},
	}
	t.spawn = []member[dagSpawn]{
		{source.Field{Name: "children"}, func(s *dagSpawn, v json.RawMessage) (err error) {
			s.children, err = decodeStrings(v)
			return err
		}},
		{source.Field{Name: "join_at"}, func(s *dagSpawn, v json.RawMessage) error { return decodeCount(v, &s.joinAt) }},
	}
	t.round = []member[dagRound]{
		{source.Field{Name: "spawns"}, func(r *dagRound, v json.RawMessage) (err error) {
			r.spawns, err = decodeStrings(v)
			return err
		}},
		{source.Field{Name: "think_time_ms"}, func(r *dagRound, v json.RawMessage) error { return decodeMilliseconds(v, &r.think) }},
	}
	t.turn = t.turnMembers()
	t.conversation = t.conversationMembers()
	return t
}

func (t *dagTables) conversationMembers() []member[dagConversation] {
	type c = dagConversation
	return []member[c]{
		{source.Field{Name: "session_id", Type: "string", Doc: "Id of the conversation, unique in the file; required."}, func(c *c, v json.RawMessage) error {
			return decodeString(v, &c.id)
		}},
		{source.Field{Name: "turns", Type: "list of objects", Doc: "The turns, with the members below; required unless the conversation is an orchestrator."}, func(c *c, v json.RawMessage) (err error) {
			c.turns, err = decodeObjects(v, "turns", t.turn)
			return err
		}},
		{contextModeField("deltas_without_responses"), func(c *c, v json.RawMessage) (err error) {
			c.mode, err = decodeMode(v)
			return err
		}},
		{source.Field{Name: "pre_session_spawns", Type: "list of strings", Doc: "Ids of children that start before the first turn. Nothing waits for them."}, func(c *c, v json.RawMessage) (err error) {
			c.pre, err = decodeStrings(v)
			return err
		}},
		{source.Field{Name: "orchestrator", Type: "boolean", Doc: "The conversation has no turns: it sends nothing and starts children in rounds."}, func(c *c, v json.RawMessage) error {
			return decodeBool(v, &c.orchestrator)
		}},
		{source.Field{Name: "spawns", Type: "list of strings", Doc: "Orchestrator: ids of the children of each round."}, func(c *c, v json.RawMessage) (err error) {
			c.spawns, err = decodeStrings(v)
			return err
		}},
		{source.Field{Name: "rounds", Type: "integer, or list of {spawns, think_time_ms}", Doc: "Orchestrator: number of rounds, default 1, or the children of each round. A round begins when all children of the one before have ended."}, t.decodeRounds},
		{source.Field{Name: "think_time_ms", Type: "number", Doc: "Orchestrator: time before each round, in milliseconds."}, func(c *c, v json.RawMessage) error {
			return decodeMilliseconds(v, &c.think.median)
		}},
		{source.Field{Name: "think_time_sigma", Type: "number", Doc: "Orchestrator: the time is log-normal with the median think_time_ms and this standard deviation of the logarithm, above 0 and at most 10."}, func(c *c, v json.RawMessage) error {
			if err := json.Unmarshal(v, &c.think.sigma); err != nil || c.think.sigma <= 0 || c.think.sigma > 10 {
				return fmt.Errorf("must be a number above 0 and at most 10, not %s", clip(string(v)))
			}
			return nil
		}},
		{source.Field{Name: "think_time_min_ms", Type: "number", Doc: "Orchestrator: least time that is drawn."}, func(c *c, v json.RawMessage) error {
			return decodeMilliseconds(v, &c.think.smallest)
		}},
		{source.Field{Name: "think_time_max_ms", Type: "number", Doc: "Orchestrator: greatest time that is drawn."}, func(c *c, v json.RawMessage) error {
			return decodeMilliseconds(v, &c.think.greatest)
		}},
		{source.Field{Name: "type", Type: "string", Doc: "Name of the format, dag_jsonl."}, decodeName[c]("dag_jsonl")},
	}
}

func (t *dagTables) turnMembers() []member[dagTurn] {
	return []member[dagTurn]{
		{source.Field{Name: "turns[].messages", Type: "list of objects", Doc: "Chat messages that are added to the history; required. A message of the system can be only the first of a conversation that nothing forks."}, func(d *dagTurn, v json.RawMessage) error {
			return d.setMessages(v)
		}},
		{source.Field{Name: "turns[].model", Type: "string", Doc: "Model of the request."}, func(d *dagTurn, v json.RawMessage) error {
			return decodeString(v, &d.turn.Model)
		}},
		{source.Field{Name: "turns[].max_tokens", Type: "integer", Doc: "Maximum output tokens, at least 1."}, func(d *dagTurn, v json.RawMessage) (err error) {
			d.turn.MaxTokens, err = decodeTokens(v)
			return err
		}},
		{source.Field{Name: "turns[].tools", Type: "list of objects", Doc: "Tools as in the chat API."}, func(d *dagTurn, v json.RawMessage) (err error) {
			if _, err = decodeList(v); err == nil {
				d.turn.Tools, err = compact(v)
			}
			return err
		}},
		{source.Field{Name: "turns[].extra", Type: "object", Doc: "Merged into the request body."}, func(d *dagTurn, v json.RawMessage) (err error) {
			d.turn.ExtraBody, err = decodeObject(v)
			return err
		}},
		{source.Field{Name: "turns[].delay", Type: "number", Doc: "Milliseconds to wait before the turn."}, func(d *dagTurn, v json.RawMessage) error {
			var ms *float64
			err := decodeMilliseconds(v, &ms)
			if err == nil {
				d.turn.Delay = source.Milliseconds(*ms, nil)
			}
			return err
		}},
		{source.Field{Name: "turns[].forks", Type: "list of ids or {child, background}", Doc: "Children that continue the conversation with its history, answer to this turn included. Without background the conversation ends with its forks, so that only the last turn can have them."}, func(d *dagTurn, v json.RawMessage) (err error) {
			d.forks, err = decodeEither(v, "forks", t.fork, func(id string) dagFork { return dagFork{child: id} })
			return err
		}},
		{source.Field{Name: "turns[].spawns", Type: "list of ids or {children, join_at}", Doc: "Children with a history of their own. The turn with the index join_at, default the next one, waits until all have ended; nothing waits for those of the last turn."}, func(d *dagTurn, v json.RawMessage) (err error) {
			d.spawns, err = decodeEither(v, "spawns", t.spawn, func(id string) dagSpawn { return dagSpawn{children: []string{id}} })
			return err
		}},
	}
}

// inner returns a table with the names as they are in the object.
func inner[T any](table []member[T]) []member[T] {
	out := make([]member[T], len(table))
	for i, m := range table {
		m.Name = m.Name[strings.LastIndexByte(m.Name, '.')+1:]
		out[i] = m
	}
	return out
}

func (d *dagTurn) setMessages(v json.RawMessage) error {
	items, err := decodeList(v)
	if err != nil {
		return err
	}
	d.system = -1
	for i, item := range items {
		var m struct {
			Role string `json:"role"`
		}
		if err := decodeAny(item, &m); err != nil || m.Role == "" {
			return fmt.Errorf("item %d: must be an object with a role, not %s", i, clip(string(item)))
		}
		if m.Role == "system" {
			d.system = i
		}
	}
	d.turn.Messages, err = compact(v)
	return err
}

func (t *dagTables) decodeRounds(c *dagConversation, v json.RawMessage) (err error) {
	if v[0] == '[' {
		c.rounds, err = decodeObjects(v, "rounds", t.round)
		return err
	}
	var n *int
	if err := decodeCount(v, &n); err != nil || *n < 1 || *n > maxTree {
		return fmt.Errorf("must be a list of rounds or their number, from 1 to %d, not %s", maxTree, clip(string(v)))
	}
	c.count = *n
	return nil
}

// decodeObjects accepts a list of objects.
func decodeObjects[T any](v json.RawMessage, name string, table []member[T]) ([]T, error) {
	items, err := decodeList(v)
	if err != nil {
		return nil, err
	}
	decoder := newObject(inner(table))
	out := make([]T, len(items))
	var all problems
	for i, item := range items {
		all = append(all, decoder.decode(&out[i], item).below(fmt.Sprintf("%s[%d]", name, i))...)
	}
	return out, all.all()
}

// decodeEither accepts a list of ids or objects.
func decodeEither[T any](v json.RawMessage, name string, table []member[T], of func(id string) T) ([]T, error) {
	items, err := decodeList(v)
	if err != nil {
		return nil, err
	}
	decoder := newObject(table)
	out := make([]T, len(items))
	var all problems
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", name, i)
		if item[0] == '{' {
			all = append(all, decoder.decode(&out[i], item).below(at)...)
			continue
		}
		var id string
		if err := decodeString(item, &id); err != nil {
			all = append(all, at+": must be an id or an object, not "+clip(string(item)))
		}
		out[i] = of(id)
	}
	return out, all.all()
}

func decodeBool(v json.RawMessage, to *bool) error {
	if json.Unmarshal(v, to) != nil {
		return fmt.Errorf("must be true or false, not %s", clip(string(v)))
	}
	return nil
}

func decodeCount(v json.RawMessage, to **int) error {
	var n int
	if json.Unmarshal(v, &n) != nil || n < 0 {
		return errors.New("must be a whole number, not negative, not " + clip(string(v)))
	}
	*to = &n
	return nil
}
