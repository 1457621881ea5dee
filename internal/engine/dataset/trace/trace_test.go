package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

// from returns the options of a trace with this text.
func from(text string) source.Options {
	return source.Options{
		Seed: 3, Tokenizer: tokenizer.Builtin(),
		File: file.File{Path: "in/trace.jsonl", FS: fstest.MapFS{"in/trace.jsonl": {Data: []byte(text)}}},
	}
}

// read returns all conversations of a trace.
func read(ctx context.Context, format string, o source.Options, spec Spec) (out []bench.Conversation, err error) {
	s, err := Open(ctx, format, o, spec)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for {
		entry, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		c, err := entry.Make()
		if err != nil {
			return nil, err
		}
		out = append(out, *c)
	}
}

func mustRead(t testing.TB, format, text string, spec Spec) []bench.Conversation {
	t.Helper()
	out, err := read(t.Context(), format, from(text), spec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// describe returns conversations in short: times, delays, lengths, blocks and literal
// content of their turns.
func describe(all []bench.Conversation) (lines []string) {
	for i := range all {
		c := &all[i]
		line := fmt.Sprintf("%s %s:", c.ID, c.Mode)
		for k := range c.Turns {
			t := &c.Turns[k]
			line += " ["
			if t.Timed {
				line += fmt.Sprintf("at %v ", t.At)
			}
			if t.Delay > 0 {
				line += fmt.Sprintf("after %v ", t.Delay)
			}
			line += fmt.Sprintf("isl %d osl %d", t.InputTokens, t.MaxTokens)
			if t.BlockIDs != nil {
				line += fmt.Sprintf(" blocks %d of %d", t.BlockIDs, t.BlockSize)
			}
			for _, literal := range [][]byte{t.Messages, t.Tools, t.Payload, t.ExtraBody} {
				if literal != nil {
					line += " " + string(literal)
				}
			}
			if t.BlockIDs == nil && len(t.Texts) > 0 && len(t.Texts[0]) < 20 {
				line += " " + t.Texts[0]
			}
			line += "]"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestMooncake(t *testing.T) {
	const text = `{"timestamp": 0, "input_length": 1300, "output_length": 64, "hash_ids": [10, 11, 12]}

{"timestamp": 40.25, "input_length": 1100, "output_length": 0, "hash_ids": [10, 11, 57], "other": {"a": 1}}
{"session_id": "s", "input_length": 30, "timestamp": 60, "extra": {"top_p": 0.5}, "type": "mooncake_trace"}
{"text_input": "Hello", "delay": null, "output_length": 4.0}
{"session_id": "s", "input_length": 700, "delay": 1500, "hash_ids": [10]}
{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}], "timestamp": 70}
{"payload": {"model": "m", "prompt": "p"}, "timestamp": 80, "session_id": "p"}
{"session_id": "p", "payload": {"model": "m", "prompt": "q"}, "timestamp": 90}`
	got := describe(mustRead(t, "mooncake_trace", text, Spec{}))
	want := []string{
		"session_000000 deltas_without_responses: [at 0s isl 1300 osl 64 blocks [10 11 12] of 512]",
		"session_000001 deltas_without_responses: [at 40.25ms isl 1100 osl 1 blocks [10 11 57] of 512]",
		`s deltas_without_responses: [at 60ms isl 30 osl 0 {"top_p":0.5}] [after 1.5s isl 700 osl 0]`,
		"session_000002 deltas_without_responses: [isl 1 osl 4 Hello]",
		`session_000003 message_array_with_responses: [at 70ms isl 1 osl 0 [{"role":"user","content":"x"}] [{"type":"function"}]]`,
		`p message_array_with_responses: [at 80ms isl 1 osl 0 {"model":"m","prompt":"p"}] [at 90ms isl 1 osl 0 {"model":"m","prompt":"q"}]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBailian(t *testing.T) {
	const text = `{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 40, "output_length": 132, "type": "text", "turn": 1, "hash_ids": [1, 2, 3]}
{"chat_id": 160, "timestamp": 62, "input_length": 17, "output_length": 5, "hash_ids": []}
{"chat_id": 161, "parent_chat_id": 159, "timestamp": 62.5, "input_length": 48, "output_length": 80, "type": "text", "turn": 2, "hash_ids": [1, 2, 4]}
{"chat_id": 170, "parent_chat_id": 161, "timestamp": 63, "input_length": 50, "output_length": 0, "turn": 3}`
	got := describe(mustRead(t, "bailian_trace", text, Spec{}))
	want := []string{
		"159 message_array_with_responses: [at 1m1.114s isl 40 osl 132 blocks [1 2 3] of 16] " +
			"[at 1m2.5s isl 48 osl 80 blocks [1 2 4] of 16] [at 1m3s isl 50 osl 1]",
		"160 message_array_with_responses: [at 1m2s isl 17 osl 5]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBurstGPT(t *testing.T) {
	const text = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,0,0,0,API log\n"
	o := from(text)
	o.File = file.File{Path: "trace.csv", FS: fstest.MapFS{"trace.csv": {Data: []byte(text)}}}
	got, err := read(t.Context(), "burst_gpt_trace", o, Spec{})
	want := []string{
		"session_000000 deltas_without_responses: [at 5s isl 472 osl 18]",
		"session_000001 deltas_without_responses: [at 45.5s isl 1 osl 1",
	}
	if err != nil || len(got) != 2 || describe(got)[0] != want[0] || !strings.HasPrefix(describe(got)[1], want[1]) {
		t.Errorf("%q, %v; want %q", describe(got), err, want)
	}
}

func TestBaseten(t *testing.T) {
	const text = `{"timestamp_start_unix_ms": 1700000000100, "prompt": "one", "input_tokens": 1, "output_tokens": 8, "provided_session_id": "a", "total_hashes": [18446744073709551615, 2], "block_size": 64}
{"timestamp_start_unix_ms": 1700000000400, "prompt": "two", "input_tokens": 90, "output_tokens": 0, "provided_session_id": 7}
{"timestamp_start_unix_ms": 1700000000090, "prompt": "three", "input_tokens": 1, "output_tokens": 4, "provided_session_id": null, "poor_man_session_id": 9, "total_hashes": null}
{"timestamp_start_unix_ms": 1700000000900, "prompt": "four", "input_tokens": 1, "output_tokens": 20, "provided_session_id": "a"}`
	got := describe(mustRead(t, "baseten_trace", text, Spec{Synthesis: Synthesis{MaxISL: 80, MaxOSL: 10}}))
	want := []string{
		`a message_array_with_responses: [at 0s isl 1 osl 8 blocks [-1 2] of 64 {"min_tokens":8,"hash_ids":[18446744073709551615,2],"block_size":64}] ` +
			`[at 800ms isl 1 osl 10 {"min_tokens":10} four]`,
		`9 message_array_with_responses: [at -10ms isl 1 osl 4 {"min_tokens":4} three]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Open(t.Context(), "baseten_trace", from(text), Spec{Synthesis: Synthesis{Roots: 2}}); err == nil ||
		!strings.Contains(err.Error(), "baseten_trace has recorded prompts, which multipliers of prefixes and prompts do not change") {
		t.Errorf("error of a multiplier: %v", err)
	}
}

// The variants of the replay of AIPerf 0.13: what is sent, and when.
func TestBasetenVariants(t *testing.T) {
	const text = `{"timestamp_start_unix_ms": 1000, "duration_e2e_ms": 300, "prompt": "a1", "input_tokens": 1, "output_tokens": 8, "provided_session_id": "a", "total_hashes": [7], "block_size": 64}
{"timestamp_start_unix_ms": 61000, "prompt": "b1", "input_tokens": 1, "output_tokens": 8}
{"timestamp_start_unix_ms": 62000, "duration_e2e_ms": 9000, "prompt": "a2", "input_tokens": 1, "output_tokens": 8, "provided_session_id": "a"}
{"timestamp_start_unix_ms": 65000, "prompt": "a3", "input_tokens": 1, "output_tokens": 8, "provided_session_id": "a"}`
	const mode = " message_array_with_responses:"
	bare := func(turn string) string { return strings.ReplaceAll(turn, `{"min_tokens":8} `, "") }
	for _, tt := range []struct {
		name    string
		options Baseten
		want    []string
	}{
		{"strict", Baseten{Strict: true}, []string{
			"session_000000" + mode + ` [at 0s isl 2 osl 8 blocks [7] of 64 {"min_tokens":8,"hash_ids":[7],"block_size":64}]`,
			"session_000001" + mode + ` [at 1m0s isl 2 osl 8 {"min_tokens":8} b1]`,
			"session_000002" + mode + ` [at 1m1s isl 2 osl 8 {"min_tokens":8} a2]`,
			"session_000003" + mode + ` [at 1m4s isl 2 osl 8 {"min_tokens":8} a3]`,
		}},
		{"closed", Baseten{Closed: true, NoHints: true}, []string{
			"a" + mode + ` [at 0s isl 2 osl 8 blocks [7] of 64 {"min_tokens":8}] [after 1m0.7s isl 2 osl 8 {"min_tokens":8} a2] [isl 2 osl 8 {"min_tokens":8} a3]`,
			"session_000000" + mode + ` [at 1m0s isl 2 osl 8 {"min_tokens":8} b1]`,
		}},
		{"gaps of at most 2 s", Baseten{IdleCap: 2 * time.Second, NoLeast: true, NoHints: true}, []string{
			"a" + mode + bare(` [at 0s isl 2 osl 8 blocks [7] of 64] [at 3s isl 2 osl 8 {"min_tokens":8} a2] [at 5s isl 2 osl 8 {"min_tokens":8} a3]`),
			"session_000000" + mode + bare(` [at 2s isl 2 osl 8 {"min_tokens":8} b1]`),
		}},
		{"gaps between the beginnings of sessions", Baseten{IdleCap: 2 * time.Second, Closed: true, NoLeast: true, NoHints: true}, []string{
			"a" + mode + bare(` [at 0s isl 2 osl 8 blocks [7] of 64] [after 1m0.7s isl 2 osl 8 {"min_tokens":8} a2] [isl 2 osl 8 {"min_tokens":8} a3]`),
			"session_000000" + mode + bare(` [at 2s isl 2 osl 8 {"min_tokens":8} b1]`),
		}},
	} {
		got := describe(mustRead(t, FormatBaseten, text, Spec{Baseten: tt.options}))
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	// A sample of the sessions has no gaps of those that are not in it, and none is torn by the option.
	o := from(text)
	for o.Seed = 0; o.Sampled("a", 1) || !o.Sampled("", 2); o.Seed++ {
		o.Sample = new(0.5)
	}
	one, err := read(t.Context(), FormatBaseten, o, Spec{Baseten: Baseten{IdleCap: time.Second, Strict: true}})
	if err != nil || len(one) != 1 || one[0].Turns[0].At != time.Minute {
		t.Errorf("sample: %v, %v", describe(one), err)
	}
}

// TestProblems: the message of a bad record names the file, the line and what is accepted.
func TestProblems(t *testing.T) {
	const kinds = "exactly one of input_length, text_input, messages and payload must be given"
	const other = "; the trace may have another block size (--isl-block-size)"
	tests := []struct{ format, text, want string }{
		{"mooncake_trace", `{}`, kinds},
		{"mooncake_trace", `{"input_length": 3, "text_input": "x"}`, "input_length and text_input are given; " + kinds},
		{"mooncake_trace", `{"input_length": 0}`, "input_length: must be an integer from 1 to 16777216, not 0"},
		{"mooncake_trace", `{"input_length": "many"}`, `input_length: must be an integer from 1 to 16777216, not "many"`},
		{"mooncake_trace", `{"input_length": 5, "output_length": -1}`, "output_length: must be an integer from 0 to 16777216, not -1"},
		{"mooncake_trace", `{"input_length": 5, "timestamp": -1}`, "timestamp: must be a number of milliseconds, not negative, not -1"},
		{"mooncake_trace", `{"input_length": 5, "delay": "1"}`, `delay: must be a number of milliseconds, not negative, not "1"`},
		{"mooncake_trace", `{"input_length": 5, "session_id": ""}`, "session_id: must not be empty"},
		{"mooncake_trace", `{"input_length": 5, "session_id": 7}`, "session_id: must be a string, not 7"},
		{"mooncake_trace", `{"input_length": 5, "extra": []}`, "extra: must be an object, not empty, not []"},
		{"mooncake_trace", `{"input_length": 5, "type": "x"}`, `type: "x": this file is read as mooncake_trace`},
		{"mooncake_trace", `{"input_length": 5, "hash_ids": [1.5]}`, "hash_ids: must be a list of integers of 64 bits, not [1.5]"},
		{"mooncake_trace", `{"input_length": 512, "hash_ids": [1, 2]}`, "hash_ids: 2 blocks of 512 tokens are more than an input_length of 512" + other},
		{"mooncake_trace", `{"text_input": "x", "hash_ids": [1]}`, "hash_ids: needs input_length"},
		{"mooncake_trace", `{"text_input": "x", "tools": [{}]}`, "tools: needs messages"},
		{"mooncake_trace", `{"messages": []}`, "messages: must be a list of objects, not empty, not []"},
		{"mooncake_trace", `{"messages": [{"role": "user"}, {}]}`, "messages: item 1 has no role"},
		{"mooncake_trace", `{"payload": {}}`, "payload: must be an object, not empty, not {}"},
		{"mooncake_trace", `{"payload": {"a": 1}, "extra": {"b": 2}}`, "extra: a payload is sent as it is"},
		{"mooncake_trace", `[1]`, "must be a JSON object, one on each line"},
		{"mooncake_trace", `{"input_length": 5`, "unexpected end of JSON at column 19"},
		{"mooncake_trace", "{\"text_input\": \"\xff\"}", "the record is not valid UTF-8"},
		{"bailian_trace", `{}`, "chat_id is missing"},
		{"burst_gpt_trace", `{"Timestamp": 3, "Request tokens": "x", "Response tokens": 2}`, `Request tokens: must be an integer from 0 to 16777216, not "x"`},
		{"burst_gpt_trace", `{"Timestamp": 3, "Response tokens": 2}`, "Request tokens is missing"},
		{"baseten_trace", `{"timestamp_start_unix_ms": 3, "prompt": 5, "input_tokens": 2, "output_tokens": 3}`, "prompt: must be a string, not 5"},
		{"baseten_trace", `{"timestamp_start_unix_ms": 3, "prompt": "x", "input_tokens": 2}`, "output_tokens is missing"},
		{"baseten_trace", `{"timestamp_start_unix_ms": 3, "prompt": "x", "input_tokens": 2, "output_tokens": 3, "block_size": 0}`,
			"block_size: must be an integer from 1 to 16777216, not 0"},
		{"bailian_trace", `{"chat_id": 1, "timestamp": true, "input_length": 5, "output_length": 5}`, "timestamp: must be a number of seconds, not negative, not true"},
		{"bailian_trace", `{"chat_id": 2, "parent_chat_id": 1, "timestamp": 0, "input_length": 5, "output_length": 5}`,
			"parent_chat_id: no record with the chat_id 1 is among the last 32768 before this one"},
	}
	good := map[string]string{
		"mooncake_trace":  `{"input_length": 5}`,
		"burst_gpt_trace": `{"Timestamp": 3, "Request tokens": 4, "Response tokens": 2}`,
		"baseten_trace":   `{"timestamp_start_unix_ms": 3, "prompt": "x", "input_tokens": 2, "output_tokens": 3}`,
		"bailian_trace":   `{"chat_id": 0, "timestamp": 0, "input_length": 5, "output_length": 5}`,
	}
	for _, tt := range tests {
		_, err := read(t.Context(), tt.format, from(good[tt.format]+"\n\n"+tt.text+"\n"), Spec{})
		var bad *file.Error
		if !errors.As(err, &bad) || bad.Problems[0].Where != "trace.jsonl:3" || bad.Problems[0].Message != tt.want {
			t.Errorf("%s %s:\ngot  %v\nwant trace.jsonl:3: %s", tt.format, tt.text, err, tt.want)
		}
	}
}

// TestProblemsOfSessions: records that contradict others.
func TestProblemsOfSessions(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"session_id": "a", "input_length": 5}` + "\n" + `{"session_id": "a", "messages": [{"role": "user"}]}`,
			`trace.jsonl:2: session "a" has messages, but its records before have input_length; a session has one kind`},
		{`{"session_id": "a", "payload": {"a": 1}}` + "\n" + `{"session_id": "a", "messages": [{"role": "user"}]}`,
			`trace.jsonl:2: session "a" has messages, but its records before have payload; a session has one kind`},
		{`{"input_length": 600, "hash_ids": [1, 2]}` + "\n" + `{"input_length": 700, "hash_ids": [1, 2]}`,
			"trace.jsonl:2: hash_ids: 2 is a block of 188 tokens here and one of 88 tokens before; the trace may have another block size (--isl-block-size)"},
	}
	for _, tt := range tests {
		_, err := read(t.Context(), "mooncake_trace", from(tt.text), Spec{})
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
	ok := `{"session_id": "a", "input_length": 5}` + "\n" + `{"session_id": "a", "text_input": "x"}`
	if got := mustRead(t, "mooncake_trace", ok, Spec{}); len(got) != 1 || len(got[0].Turns) != 2 {
		t.Errorf("generated and literal prompts of one session: %v", describe(got))
	}
}

// TestSameSeedSameText: texts depend on the seed, the ids and the file, not on the order of
// their making.
func TestSameSeedSameText(t *testing.T) {
	const text = `{"input_length": 100, "hash_ids": [1, 2]}
{"input_length": 100, "hash_ids": [1, 3]}
{"input_length": 100}`
	texts := func(text string, seed bench.Seed) (out []string) {
		o := from(text)
		o.Seed, o.BlockSize = seed, 64
		s, err := Open(t.Context(), "mooncake_trace", o, Spec{})
		if err != nil {
			t.Fatal(err)
		}
		var entries []source.Entry
		for entry, err := s.Next(t.Context()); err == nil; entry, err = s.Next(t.Context()) {
			entries = append(entries, entry)
		}
		out = make([]string, len(entries))
		for i, entry := range slices.Backward(entries) {
			c, err := entry.Make()
			if err != nil {
				t.Fatal(err)
			}
			out[i] = c.Turns[0].Texts[0]
		}
		return out
	}
	first := texts(text, 1)
	var again []string
	for _, c := range func() []bench.Conversation {
		o := from(text)
		o.Seed, o.BlockSize = 1, 64
		all, err := read(t.Context(), "mooncake_trace", o, Spec{})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}() {
		again = append(again, c.Turns[0].Texts[0])
	}
	if !slices.Equal(first, again) {
		t.Error("two readings of a trace have different texts")
	}
	for what, other := range map[string][]string{"seed": texts(text, 2), "file": texts(text+"\n", 1)} {
		if other[0] == first[0] {
			t.Errorf("another %s gives the same text", what)
		}
	}
}

// TestOffsets: conversations are left out by the time at which they begin.
func TestOffsets(t *testing.T) {
	const text = `{"timestamp": 10, "text_input": "a"}
{"timestamp": 20, "text_input": "b", "session_id": "s"}
{"timestamp": 30, "text_input": "c"}
{"timestamp": 40, "text_input": "d", "session_id": "s"}`
	o := from(text)
	o.Timed, o.From, o.Until = true, new(15*time.Millisecond), new(25*time.Millisecond)
	got, err := read(t.Context(), "mooncake_trace", o, Spec{})
	if err != nil || len(got) != 1 || len(got[0].Turns) != 2 {
		t.Errorf("%v, %v; want one conversation of two turns", describe(got), err)
	}
	o.From = new(time.Second)
	if _, err := read(t.Context(), "mooncake_trace", o, Spec{}); err == nil || !strings.Contains(err.Error(), "no conversation begins within the start and end offsets") {
		t.Errorf("error %v for offsets behind the trace", err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(`{"timestamp": 0, "input_length": 1300, "output_length": 64, "hash_ids": [10, 11, 12], "delay": 3}`)
	f.Add(`{"messages": [{"role": "user"}], "tools": [{}], "extra": {"a": 1}, "session_id": "s"}`)
	f.Add(`{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 40, "output_length": 132, "hash_ids": [1]}`)
	f.Add(`{"timestamp_start_unix_ms": 3, "prompt": "x", "input_tokens": 2, "output_tokens": 3, "total_hashes": [1], "block_size": 4}`)
	f.Add(`{"Timestamp": 3.5, "Request tokens": 4, "Response tokens": 2}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range formats() {
			r, problems := format.decoder()([]byte(text))
			if len(problems) > 0 {
				continue
			}
			if r.Input < 0 || r.Output < 0 || r.At < 0 || r.delay < 0 || r.kind == generated && r.Input == 0 {
				t.Errorf("%s %q: %+v", format.Name, text, r)
			}
		}
	})
}
