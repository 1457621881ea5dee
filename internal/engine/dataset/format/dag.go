package format

import (
	"encoding/json"
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
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
		field("child", decodeString, func(f *dagFork) *string { return &f.child }),
		field("background", decodeBool, func(f *dagFork) *bool { return &f.background }),
	}
	t.spawn = []member[dagSpawn]{
		field("children", decodeStrings, func(s *dagSpawn) *[]string { return &s.children }),
		field("join_at", decodeCount, func(s *dagSpawn) **int { return &s.joinAt }),
	}
	t.round = []member[dagRound]{
		field("spawns", decodeStrings, func(r *dagRound) *[]string { return &r.spawns }),
		field("think_time_ms", decodeMilliseconds, func(r *dagRound) **float64 { return &r.think }),
	}
	t.turn = t.turnMembers()
	t.conversation = t.conversationMembers()
	return t
}

func (t *dagTables) conversationMembers() []member[dagConversation] {
	type c = dagConversation
	return []member[c]{
		field("session_id", decodeString, func(c *c) *string { return &c.id }),
		{"turns", func(c *c, v json.RawMessage) (err error) {
			c.turns, err = decodeObjects(v, "turns", t.turn)
			return err
		}},
		field("context_mode", decodeMode, func(c *c) *bench.ContextMode { return &c.mode }),
		field("pre_session_spawns", decodeStrings, func(c *c) *[]string { return &c.pre }),
		field("orchestrator", decodeBool, func(c *c) *bool { return &c.orchestrator }),
		field("spawns", decodeStrings, func(c *c) *[]string { return &c.spawns }),
		{"rounds", t.decodeRounds},
		field("think_time_ms", decodeMilliseconds, func(c *c) **float64 { return &c.think.median }),
		{"think_time_sigma", func(c *c, v json.RawMessage) error {
			if err := json.Unmarshal(v, &c.think.sigma); err != nil || c.think.sigma <= 0 || c.think.sigma > 10 {
				return fmt.Errorf("must be a number above 0 and at most 10, not %s", file.Clip(string(v)))
			}
			return nil
		}},
		field("think_time_min_ms", decodeMilliseconds, func(c *c) **float64 { return &c.think.smallest }),
		field("think_time_max_ms", decodeMilliseconds, func(c *c) **float64 { return &c.think.greatest }),
		typeMember[c]("dag_jsonl"),
	}
}

func (t *dagTables) turnMembers() []member[dagTurn] {
	return []member[dagTurn]{
		{"messages", (*dagTurn).setMessages},
		field("model", decodeString, func(d *dagTurn) *string { return &d.turn.Model }),
		field("max_tokens", decodeTokens, func(d *dagTurn) *bench.Tokens { return &d.turn.MaxTokens }),
		{"tools", func(d *dagTurn, v json.RawMessage) error {
			var items []json.RawMessage
			if err := decodeList(v, &items); err != nil {
				return err
			}
			return compact(v, &d.turn.Tools)
		}},
		field("extra", decodeObject, func(d *dagTurn) *json.RawMessage { return &d.turn.ExtraBody }),
		{"delay", func(d *dagTurn, v json.RawMessage) error {
			var ms *float64
			err := decodeMilliseconds(v, &ms)
			if err == nil {
				d.turn.Delay = source.Milliseconds(*ms, nil)
			}
			return err
		}},
		{"forks", func(d *dagTurn, v json.RawMessage) (err error) {
			d.forks, err = decodeEither(v, "forks", t.fork, func(id string) dagFork { return dagFork{child: id} })
			return err
		}},
		{"spawns", func(d *dagTurn, v json.RawMessage) (err error) {
			spawn := func(id string) dagSpawn { return dagSpawn{children: []string{id}} }
			d.spawns, err = decodeEither(v, "spawns", t.spawn, spawn)
			return err
		}},
	}
}

func (d *dagTurn) setMessages(v json.RawMessage) error {
	var items []json.RawMessage
	if err := decodeList(v, &items); err != nil {
		return err
	}
	d.system = -1
	for i, item := range items {
		var m struct {
			Role string `json:"role"`
		}
		if err := decodeAny(item, &m); err != nil || m.Role == "" {
			return fmt.Errorf("item %d: must be an object with a role, not %s", i, file.Clip(string(item)))
		}
		if m.Role == "system" {
			d.system = i
		}
	}
	return compact(v, &d.turn.Messages)
}

func (t *dagTables) decodeRounds(c *dagConversation, v json.RawMessage) (err error) {
	if v[0] == '[' {
		c.rounds, err = decodeObjects(v, "rounds", t.round)
		return err
	}
	var n *int
	if err := decodeCount(v, &n); err != nil || *n < 1 || *n > maxTree {
		return fmt.Errorf("must be a list of rounds or their number, from 1 to %d, not %s", maxTree, file.Clip(string(v)))
	}
	c.count = *n
	return nil
}

// decodeObjects accepts a list of objects.
func decodeObjects[T any](v json.RawMessage, name string, table []member[T]) ([]T, error) {
	return decodeEither(v, name, table, nil)
}

// decodeEither accepts a list of ids or objects; with of = nil, of objects alone.
func decodeEither[T any](v json.RawMessage, name string, table []member[T], of func(id string) T) ([]T, error) {
	var items []json.RawMessage
	if err := decodeList(v, &items); err != nil {
		return nil, err
	}
	decoder := newObject(table)
	out := make([]T, len(items))
	var all source.Problems
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", name, i)
		if item[0] == '{' || of == nil {
			all = append(all, decoder.decode(&out[i], item).Below(at)...)
			continue
		}
		var id string
		if err := decodeString(item, &id); err != nil {
			all = append(all, at+": must be an id or an object, not "+file.Clip(string(item)))
		}
		out[i] = of(id)
	}
	return out, all.OrNil()
}

func decodeBool(v json.RawMessage, to *bool) error {
	if json.Unmarshal(v, to) != nil {
		return fmt.Errorf("must be true or false, not %s", file.Clip(string(v)))
	}
	return nil
}

func decodeCount(v json.RawMessage, to **int) error {
	var n int
	if json.Unmarshal(v, &n) != nil || n < 0 {
		return errors.New("must be a whole number, not negative, not " + file.Clip(string(v)))
	}
	*to = &n
	return nil
}
