package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/random"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

// fromText returns options that read the text as file chats.jsonl.
func fromText(text string) Options {
	return Options{Options: source.Options{File: file.File{Path: "in/chats.jsonl", FS: fstest.MapFS{"in/chats.jsonl": {Data: []byte(text)}}}}}
}

// entries copies the conversations of a source.
func entries(s *opened) []bench.Conversation {
	var out []bench.Conversation
	for i := range s.Len() {
		out = append(out, *s.At(i))
	}
	return out
}

const goodFile = `{"text": "List three rivers.", "output_length": 40}

{"texts": ["first input", "second input"], "role": "system", "image": null}
  {"session_id": "s", "text": "one", "type": "single_turn"}
{"text": {"name": "a", "contents": ["x", "y"]}, "extra": {"temperature": 0, "stop": [ "a b" ]}}
{"delay": 1500.5, "session_id": "s", "texts": [{"contents": ["two"]}, "three"]}
{"text": "Grüße, \"世界\" \u00e9", "session_id": "session_000000"}`

// goodEntries is what goodFile means.
func goodEntries() []bench.Conversation {
	one := func(id string, t ...bench.Turn) bench.Conversation {
		return bench.Conversation{ID: id, Turns: t, Mode: bench.MessageArrayWithResponses}
	}
	return []bench.Conversation{
		one("session_000001", bench.Turn{Texts: []string{"List three rivers."}, MaxTokens: 40}),
		one("session_000002", bench.Turn{Texts: []string{"first input", "second input"}, Role: "system"}),
		one("s", bench.Turn{Texts: []string{"one"}},
			bench.Turn{Texts: []string{"two", "three"}, Delay: 1500500 * time.Microsecond}),
		one("session_000003", bench.Turn{Texts: []string{"x", "y"},
			ExtraBody: json.RawMessage(`{"temperature":0,"stop":["a b"]}`)}),
		one("session_000000", bench.Turn{Texts: []string{`Grüße, "世界" é`}}),
	}
}

func TestSingleTurn(t *testing.T) {
	var zipped, packed bytes.Buffer
	g := gzip.NewWriter(&zipped)
	z, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{g, z} {
		if _, err := w.Write([]byte("\ufeff" + goodFile)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"plain":           goodFile,
		"byte order mark": "\ufeff" + goodFile,
		"windows lines":   strings.ReplaceAll(goodFile, "\n", "\r\n") + "\r\n",
		"gzip":            zipped.String(),
		"zstd":            packed.String(),
	} {
		t.Run(name, func(t *testing.T) {
			s := mustOpen(t, "single_turn", fromText(text))
			if diff := cmp.Diff(goodEntries(), entries(s)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			want := source.Description{Path: "in/chats.jsonl", Entries: 5}
			if diff := cmp.Diff(want, s.Describe()); diff != "" {
				t.Errorf("Describe (-want +got):\n%s", diff)
			}
			if want := "cdd0e65d11bb49afd95e5160fb3e11c7a2afb07378ef567b91ec5740d9d87758"; s.Hash() != want {
				t.Errorf("hash = %s, want %s", s.Hash(), want)
			}
		})
	}
}

func TestSingleTurnInline(t *testing.T) {
	var o Options
	for line := range strings.Lines(goodFile) {
		if strings.TrimSpace(line) != "" {
			o.File.Records = append(o.File.Records, json.RawMessage(line))
		}
	}
	s := mustOpen(t, "single_turn", o)
	if diff := cmp.Diff(goodEntries(), entries(s)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	for len(o.File.Records) <= 500 {
		o.File.Records = append(o.File.Records, json.RawMessage(`{"text": "x"}`))
	}
	if w := mustOpen(t, "single_turn", o).Describe().Warnings; len(w) != 1 || !strings.HasPrefix(w[0], "501 inline records") {
		t.Errorf("warnings = %q, want one about 501 inline records", w)
	}
}

func TestSingleTurnOptions(t *testing.T) {
	const text = `{"text": "a b c", "output_length": 40}` + "\n" +
		`{"text": "d", "session_id": "s"}` + "\n" +
		`{"text": "e"}` + "\n" +
		`{"text": "f", "session_id": "s", "delay": 90000}` + "\n"
	o := fromText(text)
	o.Entries, o.System, o.Tokenizer = 2, "Be brief.", tokenizer.Builtin()
	o.OSL = made(t, random.Spec{Points: []random.Point{{Value: 7, Weight: 1}}})
	s := mustOpen(t, "single_turn", o)
	want := []bench.Conversation{
		{ID: "session_000000", System: "Be brief.", Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{
			{Texts: []string{"a b c"}, MaxTokens: 40, InputTokens: 3},
		}},
		{ID: "s", System: "Be brief.", Mode: bench.MessageArrayWithResponses, Turns: []bench.Turn{
			{Texts: []string{"d"}, MaxTokens: 7, InputTokens: 1},
			{Texts: []string{"f"}, MaxTokens: 7, InputTokens: 1, Delay: 90 * time.Second},
		}},
	}
	if diff := cmp.Diff(want, entries(s)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if w := s.Describe().Warnings; len(w) != 1 || !strings.Contains(w[0], "longest delay is 1m30s") {
		t.Errorf("warnings = %q, want one about the delay", w)
	}
	o.DelayCap = new(10 * time.Second)
	s = mustOpen(t, "single_turn", o)
	if got := s.At(1).Turns[1].Delay; got != 10*time.Second || len(s.Describe().Warnings) != 0 {
		t.Errorf("capped delay = %v with warnings %q, want 10s and none", got, s.Describe().Warnings)
	}
}

func TestSingleTurnSeeds(t *testing.T) {
	o := fromText(strings.Repeat(`{"text": "x"}`+"\n", 20))
	o.OSL = normal(t, 1000, 300)
	a, b := mustOpen(t, "single_turn", o), mustOpen(t, "single_turn", o)
	if diff := cmp.Diff(entries(a), entries(b)); diff != "" || a.Hash() != b.Hash() {
		t.Errorf("the same seed gives another dataset:\n%s", diff)
	}
	o.Seed = 1
	if mustOpen(t, "single_turn", o).Hash() == a.Hash() {
		t.Error("seeds 0 and 1 draw the same output lengths")
	}
}

func TestSingleTurnRecordProblems(t *testing.T) {
	tests := []struct{ record, want string }{
		{`{}`, `text is missing`},
		{`{"text": ""}`, `text: must not be empty`},
		{`{"text": 3}`, `text: must be a string, {name, contents}, or a list of either, not 3`},
		{`{"text": null}`, `text is missing`},
		{`{"texts": []}`, `texts: the list is empty`},
		{`{"texts": ["a", 4]}`, `texts: item 1: must be a string, {name, contents}, or a list of either, not 4`},
		{`{"texts": ["a", ""]}`, `texts: item 1: must not be empty`},
		{`{"texts": [["a"]]}`, `texts: item 0: must be a string, {name, contents}, or a list of either, not ["a"]`},
		{`{"text": "a", "texts": ["b"]}`, `texts: text and texts are both given; use one of them`},
		{`{"text": {"name": "a"}}`, `text: contents is missing`},
		{`{"text": {"contents": []}}`, `text: contents: must be a list of strings, not []`},
		{`{"text": {"contents": [1]}}`, `text: contents: item 0: must be a string, not 1`},
		{`{"text": {"contents": ["a"], "name": 1}}`, `text: name: must be a string, not 1`},
		{`{"text": {"contents": ["a"], "nam": "x"}}`, `text: unknown member "nam"; accepted: name, contents`},
		{`{"text": "a", "role": ""}`, `role: must not be empty`},
		{`{"text": "a", "session_id": 7}`, `session_id: must be a string, not 7`},
		{`{"text": "a", "delay": 5}`, `delay: needs a session_id, since a record of its own has no previous answer to wait after`},
		{`{"text": "a", "session_id": "s", "delay": -1}`, `delay: must be a number of milliseconds, not negative, not -1`},
		{`{"text": "a", "session_id": "s", "delay": "1s"}`, `delay: must be a number of milliseconds, not negative, not "1s"`},
		{`{"text": "a", "session_id": "s", "delay": 1e999}`, `delay: must be a number of milliseconds, not negative, not 1e999`},
		{`{"text": "a", "output_length": 0}`, `output_length: must be a whole number of tokens from 1 to 1e+09, not 0`},
		{`{"text": "a", "output_length": 1.5}`, `output_length: must be a whole number of tokens from 1 to 1e+09, not 1.5`},
		{`{"text": "a", "output_length": "9"}`, `output_length: must be a whole number of tokens from 1 to 1e+09, not "9"`},
		{`{"text": "a", "extra": []}`, `extra: must be an object, not []`},
		{`{"text": "a", "type": "multi_turn"}`, `type: "multi_turn": this file is read as single_turn`},
		{`{"text": "a", "image": ["http://h/a.png", "http://h/b.png"], "image_uuids": ["a"]}`, `image_uuids: 1 keys for 2 images; there must be one for each`},
		{`{"text": "a", "image_uuids": "a"}`, `image_uuids: must be a list of strings, not "a"`},
		{`{"text": "a", "image_uuids": ["a", ""]}`, `image_uuids: item 1: must not be empty`},
		{`{"text": "a", "txet": "b"}`, `unknown member "txet"; did you mean "text"?`},
		{`{"text": "a", "sessionid": "b"}`, `unknown member "sessionid"; did you mean "session_id"?`},
		{`{"text": "a", "wholly_else": 1}`, `unknown member "wholly_else"; accepted: text, texts, role, timestamp, delay, output_length, extra, image, images, audio, audios, video, videos, image_uuids, session_id, type`},
		{`{"text": "a", "text": "b"}`, `text: given twice`},
		{`["a"]`, `must be a JSON object, one on each line`},
		{`"a"`, `must be a JSON object, one on each line`},
		{`{"text": "a"`, `unexpected end of JSON at column 13`},
		{`{"text": `, `unexpected end of JSON at column 9`},
		{`{"text": "a"} {"text": "b"}`, `unexpected text after the JSON object`},
		{"{\"text\": \"\xff\"}", `the record is not valid UTF-8`},
		{`{"text": a}`, `not valid JSON: invalid character 'a' looking for beginning of value at column 10`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			_, err := Open(t.Context(), "single_turn", fromText("{\"text\": \"fine\"}\n"+tt.record+"\n"))
			var wrong *file.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("error = %v, want a file.Error", err)
			}
			want := []file.Problem{{Where: "chats.jsonl:2", Message: tt.want}}
			if diff := cmp.Diff(want, wrong.Problems); diff != "" {
				t.Errorf("problems of %s (-want +got):\n%s", tt.record, diff)
			}
			if want := "open dataset in/chats.jsonl: chats.jsonl:2: " + tt.want; err.Error() != want {
				t.Errorf("error = %q, want %q", err, want)
			}
		})
	}
}

func TestSingleTurnListsProblems(t *testing.T) {
	_, err := Open(t.Context(), "single_turn", fromText(`{"foo_bar": 1, "role": 2}`+"\n\n"+`{"text": 1}`))
	const want = `open dataset in/chats.jsonl: chats.jsonl:1: unknown member "foo_bar"; accepted: text, texts, role, timestamp, delay, output_length, extra, image, images, audio, audios, video, videos, image_uuids, session_id, type
chats.jsonl:1: role: must be a string, not 2
chats.jsonl:3: text: must be a string, {name, contents}, or a list of either, not 1`
	if err == nil || err.Error() != want {
		t.Errorf("error = %v\nwant    %s", err, want)
	}
	_, err = Open(t.Context(), "single_turn", fromText(strings.Repeat("{}\n", 1000)))
	var wrong *file.Error
	if !errors.As(err, &wrong) || len(wrong.Problems) != 20 || !wrong.More ||
		!strings.HasSuffix(err.Error(), "chats.jsonl:20: text is missing\nstopped after 20 problems") {
		t.Errorf("error of 1000 bad records = %v, want 20 problems", err)
	}
	_, err = Open(t.Context(), "single_turn", fromText(strings.Repeat("{}\n", 20)))
	if !errors.As(err, &wrong) || len(wrong.Problems) != 20 || wrong.More {
		t.Errorf("error of 20 bad records = %v, want 20 problems and no more", err)
	}
	o := Options{Options: source.Options{File: file.File{Records: []json.RawMessage{[]byte(`{"text":"a"}`), []byte(`7`), nil}}}}
	_, err = openAll(t.Context(), "single_turn", o)
	if want := "open dataset inline records: records[1]: must be a JSON object, one on each line\n" +
		"records[2]: unexpected end of JSON at column 1"; err == nil || err.Error() != want {
		t.Errorf("error = %v\nwant    %s", err, want)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"text", "texts", "session_id", "output_length"}
	for name, want := range map[string]string{
		"txet": "text", "Text": "text", "sessionId": "session_id", "output_lenght": "output_length",
		"": "", "zzz": "", "outputs": "", strings.Repeat("text", 20): "",
	} {
		if got := file.Nearest(name, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzSingleTurn(f *testing.F) {
	for line := range strings.Lines(goodFile) {
		f.Add([]byte(line))
	}
	f.Add([]byte(goodFile))
	f.Add([]byte("{\"text\":\"a\"}\n{\"text\":[1]}"))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Add([]byte(`{"image": "data:image/png;base64,iVBORw0KGgo=", "audios": ["wav,AAAA", {"name": "x", "contents": ["http://h/a.wav"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := fromText(string(data))
		o.File.MaxBytes = 1 << 20
		s, err := openAll(t.Context(), "single_turn", o)
		if err != nil {
			var wrong *file.Error
			if errors.As(err, &wrong) && (len(wrong.Problems) == 0 || len(wrong.Problems) > file.MaxProblems) {
				t.Fatalf("%d problems", len(wrong.Problems))
			}
			return
		}
		ids := map[string]bool{}
		for i := range s.Len() {
			c := s.At(i)
			if c.ID == "" || ids[c.ID] || len(c.Turns) == 0 {
				t.Fatalf("entry %d: id %q, %d turns", i, c.ID, len(c.Turns))
			}
			ids[c.ID] = true
			for _, turn := range c.Turns {
				media := len(turn.Images) + len(turn.Audios) + len(turn.Videos)
				if len(turn.Texts)+media == 0 || turn.MaxTokens < 0 || turn.Delay < 0 ||
					turn.ExtraBody != nil && (!json.Valid(turn.ExtraBody) || turn.ExtraBody[0] != '{') {
					t.Fatalf("entry %d: turn %+v", i, turn)
				}
			}
		}
		if again := mustOpen(t, "single_turn", o); again.Hash() != s.Hash() {
			t.Fatal("the second reading gives another hash")
		}
	})
}

// TestSingleTurnNamedTexts: texts with a part to play keep their names, are counted
// and belong to the dataset's hash.
func TestSingleTurnNamedTexts(t *testing.T) {
	const ranked = `{"texts": [{"name": "query", "contents": ["what is it"]}, "plain", {"name": "passages", "contents": ["this", "that"]}, {"name": "note", "contents": ["x"]}]}`
	o := fromText(ranked + "\n" + `{"text": {"name": "text_1", "contents": ["a"]}}`)
	o.Tokenizer = tokenizer.Builtin()
	source := mustOpen(t, "single_turn", o)
	got := entries(source)
	want := []bench.Turn{
		{Texts: []string{"plain", "x"}, InputTokens: 7, Named: []bench.NamedTexts{
			{Name: "query", Texts: []string{"what is it"}}, {Name: "passages", Texts: []string{"this", "that"}},
		}},
		{InputTokens: 1, Named: []bench.NamedTexts{{Name: "text_1", Texts: []string{"a"}}}},
	}
	if diff := cmp.Diff(want, []bench.Turn{got[0].Turns[0], got[1].Turns[0]}); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	o = fromText(strings.Replace(ranked, "passages", "documents", 1) + "\n" + `{"text": {"name": "text_1", "contents": ["a"]}}`)
	if mustOpen(t, "single_turn", o).Hash() == source.Hash() {
		t.Error("another name gives the same hash")
	}
}
