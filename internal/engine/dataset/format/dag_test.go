package format

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
)

// say is a turn with one message.
func say(text string) string { return fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]`, text) }

func said(text string) bench.Turn {
	return bench.Turn{Messages: json.RawMessage(fmt.Sprintf(`[{"role":"user","content":%q}]`, text))}
}

func TestDAG(t *testing.T) {
	text := strings.Join([]string{
		`{"session_id":"boss","pre_session_spawns":["early"],"turns":[` +
			say("split") + `,"spawns":["w1",{"children":["w2"],"join_at":2}],"model":"big","max_tokens":5,"tools":[{"type":"function"}],"extra":{"seed":1}},` +
			say("work") + `,"delay":5,"forks":[{"child":"aside","background":true}]},` + say("merge") + `,"forks":["end"],"spawns":["w1"]}]}`,
		`{"session_id":"w1","turns":[` + say("one") + `}]}`,
		`{"session_id":"w2","context_mode":"message_array_with_responses","turns":[` + say("two") + `}]}`,
		`{"session_id":"early","turns":[` + say("early") + `}]}`,
		`{"session_id":"aside","turns":[` + say("aside") + `}]}`,
		`{"session_id":"end","turns":[` + say("end") + `}]}`,
		`{"session_id":"rounds","orchestrator":true,"think_time_ms":7,"rounds":[{"spawns":["w1"]},{"spawns":["w2"],"think_time_ms":90000}]}`,
		`{"session_id":"count","orchestrator":true,"spawns":["w1"],"rounds":2,"think_time_ms":1000,"think_time_sigma":10,"think_time_min_ms":500,"think_time_max_ms":501}`,
	}, "\n")
	o := of(text)
	o.System, o.DelayCap = "S", new(10*time.Second)
	got, _ := mustRead(t, "dag_jsonl", o)
	one := func(id, text string) *bench.Conversation {
		return &bench.Conversation{ID: id, System: "S", Turns: []bench.Turn{said(text)}}
	}
	fork := func(id, text string) *bench.Conversation {
		return &bench.Conversation{ID: id, Turns: []bench.Turn{said(text)}}
	}
	w2 := one("w2", "two")
	w2.Mode = bench.MessageArrayWithResponses
	split, work, merge := said("split"), said("work"), said("merge")
	split.Model, split.MaxTokens, split.ExtraBody, split.Tools = "big", 5, json.RawMessage(`{"seed":1}`), json.RawMessage(`[{"type":"function"}]`)
	split.Spawns = []bench.Spawn{{Children: []*bench.Conversation{one("w1", "one")}, JoinAt: 1}, {Children: []*bench.Conversation{w2}, JoinAt: 2}}
	work.Delay, work.Forks = 5*time.Millisecond, []bench.Fork{{Child: fork("aside", "aside"), Background: true}}
	merge.Forks, merge.Spawns = []bench.Fork{{Child: fork("end", "end")}}, []bench.Spawn{{Children: []*bench.Conversation{one("w1", "one")}}}
	round := func(think time.Duration, child *bench.Conversation) bench.Round {
		return bench.Round{Think: think, Children: []*bench.Conversation{child}}
	}
	want := []*bench.Conversation{
		{ID: "boss", System: "S", Before: []*bench.Conversation{one("early", "early")}, Turns: []bench.Turn{split, work, merge}},
		{ID: "rounds", System: "S", Rounds: []bench.Round{round(7*time.Millisecond, one("w1", "one")), round(10*time.Second, w2)}},
	}
	same(t, want, got[:2])
	if len(got) != 3 || len(got[2].Rounds) != 2 {
		t.Fatalf("%d roots, want 3, the last with 2 rounds", len(got))
	}
	for i, r := range got[2].Rounds {
		if r.Think < 500*time.Millisecond || r.Think > 501*time.Millisecond || r.Children[0].ID != "w1" {
			t.Errorf("round %d waits %v, want a time between the bounds", i, r.Think)
		}
	}
}

func TestDAGProblems(t *testing.T) {
	w := `{"session_id":"w","turns":[` + say("w") + `}]}`
	root := func(turn string) string { return `{"session_id":"r","turns":[` + say("r") + turn + "}]}\n" }
	tests := []struct{ text, want string }{
		{`{"turns":[` + say("a") + `}]}`, "data.jsonl:1: session_id is missing"},
		{`{"session_id":"a"}`, "data.jsonl:1: turns is missing"},
		{`{"session_id":"a","turns":[{}]}`, "data.jsonl:1: turns[0]: messages is missing"},
		{`{"session_id":"a","turns":[{"messages":[{"content":"x"}]}]}`, `data.jsonl:1: turns[0].messages: item 0: must be an object with a role, not {"content":"x"}`},
		{`{"session_id":"a","turns":[` + say("a") + `,"temperature":1}]}`, `data.jsonl:1: turns[0]: unknown member "temperature"; accepted: messages, model, max_tokens, tools, extra, delay, forks, spawns`},
		{`{"session_id":"a","foo":1,"turns":[` + say("a") + `}]}`, `data.jsonl:1: unknown member "foo"; accepted: session_id, turns, context_mode, pre_session_spawns, orchestrator, spawns, rounds, think_time_ms, think_time_sigma, think_time_min_ms, think_time_max_ms, type`},
		{w + "\n" + w, `data.jsonl:2: session_id: "w" is given in data.jsonl:1 too`},
		{root(`,"spawns":["x"]`), `data.jsonl:1: turns[0].spawns: there is no conversation with the session_id "x"`},
		{root(`,"spawns":["w","w"]`) + w, `data.jsonl:1: turns[0]: forks and spawns: child "w" is given twice`},
		{root(`,"spawns":[{"children":["w"],"join_at":1}]`) + w, "data.jsonl:1: turns[0].spawns[0].join_at: must be the index of a later turn, not 1; the conversation has 1 turns"},
		{root(`,"spawns":[{"children":["w"],"later":1}]`) + w, `data.jsonl:1: turns[0].spawns[0]: unknown member "later"; accepted: children, join_at`},
		{root(`,"spawns":["r"]`), "data.jsonl:1: the conversation starts itself: r → r"},
		{root(`,"forks":["w"]},`+say("b")+``) + w, "data.jsonl:1: turns[0].forks[0]: ends the conversation, so that only its last turn can have it; or set background"},
		{root(`,"forks":["w"]`) + `{"session_id":"r2","turns":[` + say("b") + `,"forks":["w"]}]}` + "\n" + w, `data.jsonl:2: turns[0].forks: "w" is a fork of "r" already; it can have the history of one conversation`},
		{root(`,"forks":["w"]`) + strings.Replace(w, `"turns"`, `"context_mode":"message_array_with_responses","turns"`, 1), `data.jsonl:1: turns[0].forks: "w" has the context mode message_array_with_responses, so that it has no use for a history; spawn it`},
		{root(`,"forks":["w"]`) + strings.Replace(w, "user", "system", 1), "data.jsonl:2: turns[0].messages[0]: a message of the system must be the first of its history"},
		{root(`,"forks":["w"]`) + `{"session_id":"p","pre_session_spawns":["w"],"turns":[` + say("p") + "}]}\n" + w, `data.jsonl:2: pre_session_spawns: "w" is a fork of "r", so that it needs the history of that conversation`},
		{`{"session_id":"o","orchestrator":true,"turns":[` + say("a") + `}]}`, "data.jsonl:1: turns: an orchestrator has none\ndata.jsonl:1: spawns is missing"},
		{`{"session_id":"o","orchestrator":true,"spawns":["w"],"rounds":0}` + "\n" + w, "data.jsonl:1: rounds: must be a list of rounds or their number, from 1 to 10000, not 0"},
		{`{"session_id":"o","orchestrator":true,"spawns":["w"],"rounds":10000}` + "\n" + w, "data.jsonl:1: the conversation and its descendants are more than 10000"},
		{`{"session_id":"o","orchestrator":true,"spawns":["w"],"think_time_sigma":11}` + "\n" + w, "data.jsonl:1: think_time_sigma: must be a number above 0 and at most 10, not 11"},
		{`{"session_id":"o","orchestrator":true,"spawns":["w"],"think_time_sigma":1}` + "\n" + w, "data.jsonl:1: think_time_sigma: needs think_time_ms, the median"},
		{root(`,"spawns":["w"],"rounds":1`) + w, `data.jsonl:1: turns[0]: unknown member "rounds"; accepted: messages, model, max_tokens, tools, extra, delay, forks, spawns`},
		{strings.Replace(root(""), `"turns"`, `"rounds":1,"turns"`, 1), "data.jsonl:1: spawns, rounds and think times of a conversation need orchestrator: true"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			_, _, err := read(t, "dag_jsonl", of(tt.text))
			if want := "open dataset data.jsonl: " + tt.want; err == nil || err.Error() != want {
				t.Errorf("error = %v\nwant    %s", err, want)
			}
		})
	}
}

// chain is a file of conversations each of which spawns the next one.
func chain(n int) string {
	var b strings.Builder
	for i := range n - 1 {
		fmt.Fprintf(&b, `{"session_id":"c%d","turns":[%s,"spawns":["c%d"]}]}`+"\n", i, say("a"), i+1)
	}
	fmt.Fprintf(&b, `{"session_id":"c%d","turns":[%s}]}`, n-1, say("a"))
	return b.String()
}

// TestDAGDepth: conversations may start each other to a depth of 1,000.
func TestDAGDepth(t *testing.T) {
	inline := func(text string) source.Options {
		o := source.Options{Seed: 1}
		for line := range strings.Lines(text) {
			o.File.Records = append(o.File.Records, json.RawMessage(line))
		}
		return o
	}
	for _, tt := range []struct {
		name  string
		o     source.Options
		place string
	}{
		{"file", of(chain(2000)), "open dataset data.jsonl: data.jsonl:1: "},
		{"inline records", inline(chain(2000)), "open dataset inline records: records[0]: "},
	} {
		_, _, err := read(t, "dag_jsonl", tt.o)
		if want := tt.place + "turns[0].spawns: conversations start each other to a depth of more than 1000, the most that is accepted"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error = %v, want %s", tt.name, err, want)
		}
	}
	ring := chain(5000)
	ring = ring[:len(ring)-len(say("a")+`}]}`)] + say("a") + `,"spawns":["c0"]}]}`
	if _, _, err := read(t, "dag_jsonl", of(ring)); err == nil || !strings.HasSuffix(err.Error(), "data.jsonl:1: every conversation is started by another one; at least one must be a root") {
		t.Errorf("a long ring: error = %v", err)
	}
	for _, o := range []source.Options{of(chain(1000)), inline(chain(1000))} {
		if got, _ := mustRead(t, "dag_jsonl", o); len(got) != 1 || got[0].Requests() != 1000 {
			t.Errorf("%d roots, want one with 1000 requests", len(got))
		}
	}
}

// The number of conversations doubles with every level of this file.
func TestDAGExplosion(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		next := fmt.Sprintf(`"c%d"`, i+1)
		fmt.Fprintf(&b, `{"session_id":"c%d","turns":[%s,"spawns":[%s]},%s,"spawns":[%s]}]}`+"\n", i, say("a"), next, say("b"), next)
	}
	fmt.Fprintf(&b, `{"session_id":"c100","turns":[%s}]}`, say("a"))
	_, _, err := read(t, "dag_jsonl", of(b.String()))
	if err == nil || !strings.HasSuffix(err.Error(), "data.jsonl:1: the conversation and its descendants are more than 10000") {
		t.Errorf("error = %v", err)
	}
}
