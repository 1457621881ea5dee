package request

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
)

// shown writes what the model reads of a conversation, one text per line.
func shown(c *bench.Conversation) string {
	var out []string
	add := func(role, text string) {
		if text != "" {
			out = append(out, role+": "+strings.ReplaceAll(text, "\n", "|"))
		}
	}
	add("system", c.System)
	add("context", c.Context)
	for i := range c.Turns {
		role := c.Turns[i].Role
		if role == "" {
			role = "user"
		}
		for _, n := range c.Turns[i].Named {
			for _, text := range n.Texts {
				add(role+" "+n.Name, text)
			}
		}
		for _, text := range c.Turns[i].Texts {
			add(role, text)
		}
		add("messages", string(c.Turns[i].Messages))
	}
	return strings.Join(out, "\n")
}

// chats is a plan of chat requests with markers.
func chats(bust plan.CacheBust) *plan.Plan {
	return &plan.Plan{Measure: plan.Measure{Kind: endpoint.Kinds()[0]}, CacheBust: bust}
}

func TestCacheBust(t *testing.T) {
	const mark = "[rid:0e79a9967755]" // SHA-256 of run:0:4:c
	turn := func(role string, texts ...string) bench.Turn {
		return bench.Turn{Role: role, Texts: texts, InputTokens: 9}
	}
	plain := &bench.Conversation{ID: "c", Turns: []bench.Turn{turn("", "a"), turn("", "b")}}
	full := &bench.Conversation{ID: "c", System: "s", Context: "x", Turns: []bench.Turn{turn("", "a", "a2"), turn("", "b")}}
	own := &bench.Conversation{ID: "c", Turns: []bench.Turn{turn("system", "s"), turn("", "a")}}
	alone := &bench.Conversation{ID: "c", Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{turn("", "a"), turn("", "b")}}
	named := &bench.Conversation{ID: "c", Turns: []bench.Turn{{Named: []bench.NamedTexts{{Name: "n", Texts: []string{"q"}}}}}}
	array := func(messages string) *bench.Conversation {
		return &bench.Conversation{ID: "c", Turns: []bench.Turn{{Messages: []byte(messages)}}}
	}
	chat := array(`[{"role":"system","content":"s"},{"role":"user","name":"n","content":"a < b"},{"role":"user","content":"b"}]`)
	parts := array(`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}]`)
	picture := &bench.Conversation{ID: "c", Turns: []bench.Turn{{Images: make([]bench.Media, 1)}}}
	system, user := plan.CacheBust{Target: "x", System: true}, plan.CacheBust{Target: "x"}
	suffixed := func(b plan.CacheBust) plan.CacheBust { b.Suffix = true; return b }
	warmup := func(b plan.CacheBust) plan.CacheBust { b.Warmup = true; return b }
	each := plan.CacheBust{Target: "x", System: true, EachRequest: true}
	tests := []struct {
		name string
		bust plan.CacheBust
		kind bench.PhaseKind
		data *bench.Conversation
		want string
	}{
		{"none", plan.CacheBust{}, bench.Profiling, plain, "user: a\nuser: b"},
		{"system", system, bench.Profiling, full, "system: " + mark + "||s\ncontext: x\nuser: a\nuser: a2\nuser: b"},
		{"system of the data", system, bench.Profiling, own, "system: " + mark + "||s\nuser: a"},
		{"no system", system, bench.Profiling, plain, "user: " + mark + "||a\nuser: b"},
		{"end of the system", suffixed(system), bench.Profiling, full, "system: s||" + mark + "\ncontext: x\nuser: a\nuser: a2\nuser: b"},
		{"end of no system", suffixed(system), bench.Profiling, plain, "user: a||" + mark + "\nuser: b"},
		{"first turn", user, bench.Profiling, plain, "user: " + mark + "||a\nuser: b"},
		{"first turn with a context", user, bench.Profiling, full, "system: s\ncontext: " + mark + "||x\nuser: a\nuser: a2\nuser: b"},
		{"first turn of a user", user, bench.Profiling, own, "system: s\nuser: " + mark + "||a"},
		{"end of the first turn", suffixed(user), bench.Profiling, full, "system: s\ncontext: x\nuser: a\nuser: a2||" + mark + "\nuser: b"},
		{"turns without history", user, bench.Profiling, alone, "user: " + mark + "||a\nuser: " + mark + "||b"},
		{"named texts", user, bench.Profiling, named, "user n: " + mark + "||q"},
		{"end of named texts", suffixed(user), bench.Profiling, named, "user n: q||" + mark},
		{"no text", user, bench.Profiling, picture, "user: " + mark},
		{"every request", each, bench.Profiling, full, "system: " + mark + "||s\ncontext: x\nuser: a\nuser: a2\nuser: b"},
		{"every request, with a context", each, bench.Profiling, &bench.Conversation{ID: "c", Context: "x", Turns: full.Turns}, "context: " + mark + "||x\nuser: a\nuser: a2\nuser: b"},
		{"every request, with a system of the data", each, bench.Profiling, own, "system: " + mark + "||s\nuser: a"},
		{"messages", user, bench.Profiling, chat, `messages: [{"role":"system","content":"s"},{"role":"user","name":"n","content":"` + mark + `\n\na < b"},{"role":"user","content":"b"}]`},
		{"system message", system, bench.Profiling, chat, `messages: [{"role":"system","content":"` + mark + `\n\ns"},{"role":"user","name":"n","content":"a < b"},{"role":"user","content":"b"}]`},
		{"every request, in messages", each, bench.Profiling, chat, `messages: [{"role":"system","content":"` + mark + `\n\ns"},{"role":"user","name":"n","content":"a < b"},{"role":"user","content":"b"}]`},
		{"messages without a system message", suffixed(system), bench.Profiling, array(`[{"role":"user","content":"a"}]`), `messages: [{"role":"user","content":"a\n\n` + mark + `"}]`},
		{"parts of a message", user, bench.Profiling, parts, `messages: [{"role":"user","content":[{"type":"text","text":"` + mark + `\n\n"},{"type":"image_url","image_url":{"url":"u"}}]}]`},
		{"end of the parts", suffixed(user), bench.Profiling, parts, `messages: [{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}},{"type":"text","text":"\n\n` + mark + `"}]}]`},
		{"no content", user, bench.Profiling, array(`[{"role":"assistant"}]`), `messages: [{"role":"assistant","content":"` + mark + `"}]`},
		{"warm-up", warmup(user), bench.Warmup, plain, "user: [warmup]||a\nuser: b"},
		{"system of a warm-up", warmup(system), bench.Warmup, full, "system: [warmup]||s\ncontext: x\nuser: a\nuser: a2\nuser: b"},
		{"after the warm-up", warmup(user), bench.Profiling, plain, "user: a\nuser: b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := shown(tt.data)
			d := &load.Dialogue{Session: 4, Root: "c", Phase: tt.kind, Entry: tt.data, Conversation: tt.data}
			if _, err := NewEncoder(Options{Plan: chats(tt.bust), RunID: "run"}).Encode(d, &bench.Record{RequestID: "c"}, new(transport.Request)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, shown(d.Conversation)); diff != "" {
				t.Errorf("conversation (-want +got):\n%s", diff)
			}
			if after := shown(tt.data); after != before {
				t.Errorf("the entry of the dataset is now\n%s\nand was\n%s", after, before)
			}
			if marked := strings.Contains(shown(d.Conversation), "["); marked != (strings.TrimSpace(d.Marker.Text) != "") {
				t.Errorf("the marker is %q", d.Marker.Text)
			}
			for i := range d.Conversation.Turns {
				turn := &d.Conversation.Turns[i]
				if counted := turn.InputTokens != 0; counted == strings.Contains(strings.Join(turn.Texts, ""), "[") && len(turn.Images)+len(turn.Named)+len(turn.Messages) == 0 {
					t.Errorf("turn %d %q has a length of %d", i, turn.Texts, turn.InputTokens)
				}
			}
		})
	}
}

// TestCacheBustOfLaterTurns: the marker of a session stays; with one for every request,
// the history of earlier ones keeps theirs.
func TestCacheBustOfLaterTurns(t *testing.T) {
	const first, third = "[rid:0e79a9967755]", "[rid:1e0710d6c4c3]" // run:0:4:c and run:2:4:c
	data := &bench.Conversation{ID: "c", Turns: []bench.Turn{{Texts: []string{"a"}}, {Texts: []string{"b"}}, {Texts: []string{"d"}}}}
	for _, each := range []bool{false, true} {
		m := marking{bust: plan.CacheBust{Target: "x", System: each, EachRequest: each}, runID: "run"}
		d := &load.Dialogue{Session: 4, Root: "c", Entry: data, Conversation: data}
		m.mark(d, 0, "c")
		d.History = []bench.Exchange{{Turn: d.Conversation.Turns[0]}, {Turn: d.Conversation.Turns[1]}}
		before := d.History
		m.mark(d, 2, "c")
		want := first
		if each {
			want = third
		}
		if got := d.History[0].Turn.Texts[0]; got != want+"\n\na" || d.Marker.Text != want+"\n\n" || d.History[1].Turn.Texts[0] != "b" {
			t.Errorf("each %v: history %q, marker %q, want %s", each, got, d.Marker.Text, want)
		}
		if got := before[0].Turn.Texts[0]; got != first+"\n\na" {
			t.Errorf("each %v: the history of the request before is now %q", each, got)
		}
	}
}

// TestCacheBustOfFamilies: the sessions of a family have the same marker, a fork in the
// history that it begins with.
func TestCacheBustOfFamilies(t *testing.T) {
	const want = "[rid:0e79a9967755]\n\n"
	m := marking{bust: plan.CacheBust{Target: "x"}, runID: "run"}
	said := func(id, text string) *bench.Conversation {
		return &bench.Conversation{ID: id, Turns: []bench.Turn{{Texts: []string{text}}}}
	}
	of := func(c *bench.Conversation) *load.Dialogue {
		return &load.Dialogue{Session: 4, Root: "c", Entry: c, Conversation: c}
	}
	root, fork, spawn := of(said("c", "a")), of(said("f", "b")), of(said("s", "d"))
	m.mark(root, 0, "")
	fork.History, fork.Marker = []bench.Exchange{{Turn: root.Conversation.Turns[0]}}, root.Marker
	m.mark(fork, 0, "")
	m.mark(spawn, 0, "")
	if got := fork.History[0].Turn.Texts[0] + "|" + fork.Conversation.Turns[0].Texts[0] + "|" + fork.Marker.Text; got != want+"a|b|"+want {
		t.Errorf("fork: %q", got)
	}
	if got := spawn.Conversation.Turns[0].Texts[0] + "|" + spawn.Marker.Text; got != want+"d|"+want {
		t.Errorf("spawn: %q", got)
	}
}
