package format

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

// formatOf returns a row of the table.
func formatOf(t testing.TB, name string) *source.Format {
	t.Helper()
	for _, f := range Formats() {
		if f.Name == name {
			return &f
		}
	}
	t.Fatalf("there is no format %s", name)
	return nil
}

// of returns options that read a text as the file data.jsonl.
func of(text string) source.Options {
	return source.Options{Seed: 1, File: file.File{Path: "data.jsonl", FS: fstest.MapFS{"data.jsonl": {Data: []byte(text)}}}}
}

// read returns the conversations of a file, and a description.
func read(t testing.TB, name string, o source.Options) ([]*bench.Conversation, source.Description, error) {
	t.Helper()
	s, err := source.OpenFile(t.Context(), formatOf(t, name), o)
	if err != nil {
		return nil, source.Description{}, err
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var all []*bench.Conversation
	for {
		entry, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all, s.Describe(), nil
		}
		if err != nil {
			return nil, source.Description{}, err
		}
		c, err := entry.Make()
		if err != nil {
			return nil, source.Description{}, err
		}
		all = append(all, c)
	}
}

func mustRead(t testing.TB, name string, o source.Options) ([]*bench.Conversation, source.Description) {
	t.Helper()
	all, about, err := read(t, name, o)
	if err != nil {
		t.Fatal(err)
	}
	return all, about
}

// same compares conversations.
func same(t *testing.T, want, got []*bench.Conversation) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Transformer("text", func(m json.RawMessage) string { return string(m) })); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
}

func TestTimestamps(t *testing.T) {
	o := of(`{"text": "b", "timestamp": 250.5, "session_id": "s"}
{"text": "a", "timestamp": 0}
{"text": "c", "delay": 10, "session_id": "s"}
{"text": "d", "timestamp": 250}`)
	o.Timed = true
	got, _ := mustRead(t, "single_turn", o)
	one := func(id string, turns ...bench.Turn) *bench.Conversation {
		return &bench.Conversation{ID: id, Mode: bench.MessageArrayWithResponses, Turns: turns}
	}
	same(t, []*bench.Conversation{
		one("session_000000", bench.Turn{Texts: []string{"a"}, Timed: true}),
		one("session_000001", bench.Turn{Texts: []string{"d"}, Timed: true, At: 250 * time.Millisecond}),
		one("s", bench.Turn{Texts: []string{"b"}, Timed: true, At: 250500 * time.Microsecond}, bench.Turn{Texts: []string{"c"}, Delay: 10 * time.Millisecond}),
	}, got)
}

func TestMultiTurn(t *testing.T) {
	const text = `{"session_id": "trip", "turns": [{"role": "system", "text": "Be brief."}, {"text": "Plan."}, {"text": "Again.", "delay": 1500, "output_length": 80}]}
{"turns": [{"role": "system", "text": "Alone."}], "context_mode": "deltas_with_responses"}
{"turns": [{"role": "system", "text": "One."}, {"role": "system", "text": "Two."}, {"text": "Go."}]}
{"session_id": "trip", "turns": [{"text": "Last.", "image": "https://example.com/a.png"}]}`
	o := of(text)
	o.Systems, o.System = true, "Literal."
	got, _ := mustRead(t, "multi_turn", o)
	turn := func(role, text string) bench.Turn { return bench.Turn{Role: role, Texts: []string{text}} }
	want := []*bench.Conversation{
		{ID: "trip", System: "Literal.\n\nBe brief.", Turns: []bench.Turn{
			turn("", "Plan."), {Texts: []string{"Again."}, Delay: 1500 * time.Millisecond, MaxTokens: 80},
			{Texts: []string{"Last."}, Images: []bench.Media{{URL: "https://example.com/a.png"}}},
		}},
		{ID: "session_000000", System: "Literal.", Mode: bench.DeltasWithResponses, Turns: []bench.Turn{turn("system", "Alone.")}},
		{ID: "session_000001", System: "Literal.", Turns: []bench.Turn{turn("system", "One."), turn("system", "Two."), turn("", "Go.")}},
	}
	same(t, want, got)
	o.System = ""
	if got, _ := mustRead(t, "multi_turn", o); got[0].System != "Be brief." {
		t.Errorf("system message alone = %q", got[0].System)
	}
	o.Systems, o.System = false, "Literal."
	got, _ = mustRead(t, "multi_turn", o)
	want[0].System = "Literal."
	want[0].Turns = append([]bench.Turn{turn("system", "Be brief.")}, want[0].Turns...)
	same(t, want, got)
}

func TestRawPayloadFolder(t *testing.T) {
	folder := fstest.MapFS{
		"in/b.jsonl":   {Data: []byte("{\"messages\":[1]}\n{\"messages\":[2]}\n")},
		"in/a/x.jsonl": {Data: []byte(`{"messages":[ 3 ]}`)},
		"in/.hidden":   {Data: []byte(`nothing`)},
	}
	if name, _, err := source.Detect(t.Context(), file.File{Path: "in", FS: folder}, source.Known{}, Formats()); err != nil || name != "raw_payload" {
		t.Errorf("Detect of the folder = %q, %v", name, err)
	}
	got, _ := mustRead(t, "raw_payload", source.Options{File: file.File{Path: "in", FS: folder}})
	same(t, []*bench.Conversation{
		{ID: "a/x.jsonl", Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{{Payload: []byte(`{"messages":[ 3 ]}`)}}},
		{ID: "b.jsonl", Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{{Payload: []byte(`{"messages":[1]}`)}, {Payload: []byte(`{"messages":[2]}`)}}},
	}, got)
}

func TestInputsJSON(t *testing.T) {
	got, _ := mustRead(t, "inputs_json", of(`{
  "data": [
    {"session_id": "whole", "payloads": [ {"messages": [ {"role": "user", "content": "a b"} ], "stream": true}, {"prompt": "x"} ]},
    {"session_id": "parts", "context_mode": "deltas_without_responses", "payloads": [
      {"messages": [{"role":"system","content":"S"},{"role":"user","content":"one"}], "model": "m", "max_completion_tokens": 9, "stream": true, "seed": 1},
      {"messages": [{"role":"system","content":"S"},{"role":"user","content":"two"}], "model": "m"}
    ]}
  ]
}`))
	same(t, []*bench.Conversation{
		{ID: "whole", Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{
			{Payload: []byte(`{"messages":[{"role":"user","content":"a b"}],"stream":true}`)}, {Payload: []byte(`{"prompt":"x"}`)},
		}},
		{ID: "parts", Turns: []bench.Turn{
			{Messages: json.RawMessage(`[{"role":"system","content":"S"},{"role":"user","content":"one"}]`), MaxTokens: 9, ExtraBody: json.RawMessage(`{"seed":1}`)},
			{Messages: json.RawMessage(`[{"role":"user","content":"two"}]`)},
		}},
	}, got)
}

func TestShareGPT(t *testing.T) {
	const text = `[
{"id": "long", "conversations": [{"from": "human", "value": "one two three four five"}, {"from": "gpt", "value": "six seven eight nine"},
  {"from": "system", "value": "ignored"}, {"from": "gpt", "value": "no prompt"}, {"from": "human", "value": "a b c d"}, {"from": "gpt", "value": "e f g h i j"}]},
{"id": "short answer", "conversations": [{"from": "human", "value": "one two three four five"}, {"from": "gpt", "value": "six"}]},
{"id": "short prompt", "conversations": [{"from": "human", "value": "one"}, {"from": "gpt", "value": "six seven eight nine"}]},
{"id": "nobody answers", "conversations": [{"from": "human", "value": "one"}]},
{"id": "without roles", "conversations": [{"value": "one two three four"}, {"value": "five six seven eight nine"}]}
]`
	o := of(text)
	o.Tokenizer = tokenizer.Builtin()
	got, about := mustRead(t, "sharegpt", o)
	turn := func(text string, in, out bench.Tokens) bench.Turn {
		return bench.Turn{Texts: []string{text}, InputTokens: in, MaxTokens: out}
	}
	want := []*bench.Conversation{
		{ID: "session_000000", Turns: []bench.Turn{turn("one two three four five", 5, 4), turn("a b c d", 4, 6)}},
		{ID: "session_000001", Turns: []bench.Turn{turn("one two three four", 4, 5)}},
	}
	same(t, want, got)
	if diff := cmp.Diff([]string{"records that are not used: 2 with a prompt or answer that is too short or too long, 1 without a prompt that is answered"}, about.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	dist, err := random.New(random.Spec{Points: []random.Point{{Value: 7, Weight: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	o.OSL = dist
	if got, _ := mustRead(t, "sharegpt", o); len(got) != 3 {
		t.Errorf("%d conversations with an output length, want 3", len(got))
	}
}

func TestSpeedBench(t *testing.T) {
	const text = `{"question_id": "q1", "category": "coding", "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "a"}], "source": "x"}
{"question_id": "q2", "category": "high_entropy", "messages": [{"role": "user", "content": "b"}]}
{"question_id": "q3", "category": "coding", "messages": [{"role": "user", "content": "c"}]}`
	system, turn := bench.Turn{Texts: []string{"S"}, Role: "system"}, func(text string) bench.Turn { return bench.Turn{Texts: []string{text}} }
	all := []*bench.Conversation{
		{ID: "q1", Category: "coding", Turns: []bench.Turn{system, turn("a")}},
		{ID: "q2", Category: "high_entropy", Turns: []bench.Turn{turn("b")}},
		{ID: "q3", Category: "coding", Turns: []bench.Turn{turn("c")}},
	}
	for part, want := range map[string][]*bench.Conversation{
		"": all, "speed_bench_qualitative": all, "speed_bench_throughput_2k": all,
		"speed_bench_coding": {all[0], all[2]}, "speed_bench_throughput_32k_high_entropy": {all[1]},
	} {
		o := of(text)
		o.Part = part
		got, _ := mustRead(t, "speed_bench", o)
		same(t, want, got)
	}
	if parts := formatOf(t, "speed_bench").Parts; len(parts) != 1+11+5*4 {
		t.Errorf("%d parts: %v", len(parts), parts)
	}
}

func TestSageMaker(t *testing.T) {
	const text = `{"captureData":{"endpointInput":{"data":"{\"messages\":[{\"role\":\"user\",\"content\":\"late\"}],\"max_tokens\":7,\"model\":\"m\"}","encoding":"JSON"},"endpointOutput":{"data":"{\"usage\":{\"prompt_tokens\":12}}","encoding":"JSON"}},"eventMetadata":{"inferenceTime":"2026-01-31T12:00:01.5Z","eventId":"b"},"eventVersion":"0"}
{"captureData":{"endpointInput":{"data":"eyJtZXNzYWdlcyI6W3sicm9sZSI6InVzZXIiLCJjb250ZW50IjoiZWFybHkifV19"},"endpointOutput":{"data":"event: x","encoding":"JSON"}},"eventMetadata":{"inferenceTime":"2026-01-31T13:00:01+01:00"}}`
	o := of(text)
	o.Timed = true
	got, _ := mustRead(t, "sagemaker_data_capture", o)
	one := func(id string, turn bench.Turn) *bench.Conversation {
		return &bench.Conversation{ID: id, Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{turn}}
	}
	same(t, []*bench.Conversation{
		one("session_000000", bench.Turn{Timed: true, Messages: json.RawMessage(`[{"role":"user","content":"early"}]`)}),
		one("session_000001", bench.Turn{Timed: true, At: 500 * time.Millisecond, MaxTokens: 7, InputTokens: 12, Messages: json.RawMessage(`[{"role":"user","content":"late"}]`)}),
	}, got)
}

// examples are the files of examples/, by format.
func examples(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range Formats() {
		path := filepath.Join("..", "..", "..", "..", "examples", "data", f.Name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			for _, extension := range []string{".jsonl", ".json", ".csv"} {
				if _, err := os.Stat(path + extension); err == nil {
					path += extension
					break
				}
			}
		}
		out[f.Name] = path
	}
	return out
}

func TestDetect(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"rows of SPEED-Bench", `{"question_id": "q", "category": "qa", "messages": [{"role": "user", "content": "a"}]}`, "speed_bench"},
		{"type decides", `{"type": "random_pool", "text": "a"}`, "random_pool"},
		{"another type", `{"type": "question", "text": "a"}`, "single_turn"},
		{"turns with texts", `{"turns": [{"text": "a"}]}`, "multi_turn"},
		{"turns with messages", `{"session_id": "a", "turns": [{"messages": []}]}`, "dag_jsonl"},
		{"messages", `{"messages": []}`, "chat_messages"},
		{"messages with a model", `{"model": "m", "messages": []}`, "raw_payload"},
		{"batch", `{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": []}}`, "openai_batch"},
		{"prompt and model", `{"model": "m", "prompt": "a"}`, "looks like several formats: raw_payload (a model with messages, prompt or input), columns (a prompt, or a table); set"},
		{"null", `{"text": "a", "turns": null}`, "single_turn"},
		{"prompt", `{"prompt": "a"}`, "columns"},
		{"question and other members", `{"id": 1, "question": "a", "answer": "b"}`, "columns"},
		{"prompt with an image", `{"prompt": "a", "image": "a.png"}`, "columns"},
		{"a text", `{"key": 7, "q": "why?", "id": "a"}`, "unrecognised record format (keys: id, key, q); if q is the prompt, the option is --prompt-column q; docs/datasets.md has all formats"},
		{"nothing known", `{"b": 1, "a": 2}`, `unrecognised record format (keys: a, b); write prompts as {"prompt": "…"}; docs/datasets.md has all formats`},
		{"text and prompt", `{"text": "a", "prompt": "b"}`, "looks like several formats: single_turn (text, image, audio or video, and no turns or prompt), columns (a prompt, or a table); set the format (--custom-dataset-type)"},
		{"several", `{"text": "a", "captureData": {}, "eventMetadata": {}}`, "looks like several formats: single_turn (text, image, audio or video, and no turns or prompt), sagemaker_data_capture (captureData and eventMetadata); set the format (--custom-dataset-type)"},
		{"no object", "\n[1]", "data.jsonl: record 1: must be a JSON object"},
		{"no JSON", `{"text":"a"`, "data.jsonl:1: unexpected end of JSON at column 12"},
		{"texts", "Hello", "data.jsonl:1: not valid JSON: invalid character 'H' looking for beginning of value at column 1; the name of a file with one prompt per line must end in .txt"},
		{"empty", "", "no records"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := source.Detect(t.Context(), of(tt.text).File, source.Known{}, Formats())
			if err != nil {
				got = err.Error()
			}
			if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
				t.Errorf("Detect = %q, want %q", got, tt.want)
			}
		})
	}
	got, _, err := source.Detect(t.Context(), file.File{Path: os.DevNull}, source.Known{}, Formats())
	if err == nil || !strings.Contains(err.Error(), "cannot be detected, since it can be read only once: set the format (--custom-dataset-type)") {
		t.Errorf("Detect of a device = %q, %v", got, err)
	}
}

// The problems of a record name file, line and member.
func TestProblems(t *testing.T) {
	tests := []struct{ format, text, want string }{
		{"speed_bench", `{"messages": [{"role": "user", "content": "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"}, {"content": "a"}, {"role": "user"}]}`,
			"data.jsonl:1: category is missing\ndata.jsonl:1: messages[0].content: the text is not in the published dataset; prepare the file with the scripts of SPEED-Bench\n" +
				"data.jsonl:1: messages[1].role is missing\ndata.jsonl:1: messages[2].content is missing"},
		{"single_turn", `{"text": "a", "timestamp": -1}`, "data.jsonl:1: timestamp: must be a number of milliseconds, not negative, not -1"},
		{"single_turn", `{"text": "a", "timestamp": 1, "delay": 1, "session_id": "s"}`, "data.jsonl:1: delay: timestamp and delay are both given; use one of them"},
		{"multi_turn", `{"session_id": "a"}`, "data.jsonl:1: turns is missing"},
		{"multi_turn", `{"turns": []}`, "data.jsonl:1: turns: the list is empty"},
		{"multi_turn", `{"turns": [{"text": "a"}, {"text": "", "foo_bar": 1}, 3]}`, "data.jsonl:1: turns[1].text: must not be empty\n" +
			"data.jsonl:1: turns[1]: unknown member \"foo_bar\"; accepted: text, texts, role, timestamp, delay, output_length, extra, image, images, audio, audios, video, videos, image_uuids\n" +
			"data.jsonl:1: turns[2]: must be a JSON object, one on each line"},
		{"multi_turn", `{"turns": [{"text": "a"}], "context_mode": "all"}`, `data.jsonl:1: context_mode: "all": must be one of deltas_without_responses, deltas_with_responses, message_array_with_responses`},
		{"multi_turn", "{\"session_id\": \"s\", \"turns\": [{\"text\": \"a\"}]}\n{\"session_id\": \"s\", \"turns\": [{\"text\": \"a\"}], \"context_mode\": \"deltas_with_responses\"}",
			`data.jsonl:2: session_id "s": its earlier records have the context mode deltas_without_responses, this one has deltas_with_responses`},
		{"random_pool", `{"text": "a"}` + "\n" + `{"text": "a", "delay": 1}`, `data.jsonl:2: unknown member "delay"; accepted: text, texts, role, output_length, extra, image, images, audio, audios, video, videos, image_uuids, pool, type`},
		{"raw_payload", "{}\n[]", "data.jsonl:2: must be a JSON object, one on each line"},
		{"chat_messages", `{"messages": [{"content": "a"}]}`, "data.jsonl:1: messages[0]: role is missing"},
		{"chat_messages", `{"messages": []}`, "data.jsonl:1: messages: must be a list of messages"},
		{"chat_messages", `{"messages": [{"role": "user", "content": "a"}], "model": ""}`, "data.jsonl:1: model: must not be empty"},
		{"chat_messages", `{"messages": [{"role": "user", "content": "a"}], "max_tokens": 0}`, "data.jsonl:1: max_tokens: must be a whole number of tokens from 1 to 1e+09, not 0"},
		{"openai_batch", `{"method": "GET", "body": {"messages": 1}, "url": "/v1/chat/completions"}`, "data.jsonl:1: custom_id is missing\ndata.jsonl:1: method: must be POST, not \"GET\"\ndata.jsonl:1: body.messages: must not be a JSON number"},
		{"openai_batch", `{"custom_id": "a", "extra": 1}`, "data.jsonl:1: unknown member \"extra\"; accepted: custom_id, method, url, body\ndata.jsonl:1: body is missing"},
		{"inputs_json", `{"data": [{"session_id": "a", "payloads": [{}, 1]}]}`, "data.jsonl: record 1: payloads[1]: must be an object, not 1"},
		{"inputs_json", `{"data": [{"payloads": [{"prompt": "a"}], "context_mode": "deltas_without_responses"}]}`, "data.jsonl: record 1: payloads[0]: messages: must be a list of messages"},
		{"sharegpt", `[{"conversations": [{"from": "human", "value": 1}]}]`, "data.jsonl: record 1: conversations.value: must not be a JSON number"},
		{"sharegpt", `[{}]`, "data.jsonl: record 1: conversations is missing"},
		{"sharegpt", `[{"conversations": []}]`, "none of 1 records is used: 1 without a prompt that is answered"},
		{"sagemaker_data_capture", `{"captureData": {}, "eventMetadata": {"inferenceTime": "noon"}}`, `data.jsonl:1: eventMetadata.inferenceTime: must be a time as 2026-01-31T12:00:00Z, not "noon"` + "\n" +
			"data.jsonl:1: captureData.endpointInput.data is missing"},
		{"sagemaker_data_capture", `{"captureData": {"endpointInput": {"data": "a,b", "encoding": "CSV"}}, "eventMetadata": {"inferenceTime": "2026-01-31T12:00:00Z"}}`,
			`data.jsonl:1: captureData.endpointInput.encoding: must be JSON or BASE64, not "CSV"`},
	}
	for _, tt := range tests {
		t.Run(tt.format+" "+tt.want, func(t *testing.T) {
			_, _, err := read(t, tt.format, of(tt.text))
			if want := "open dataset data.jsonl: " + tt.want; err == nil || err.Error() != want {
				t.Errorf("error = %v\nwant    %s", err, want)
			}
		})
	}
}
