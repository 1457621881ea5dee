package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/tokenizer"
)

func TestRawPayload(t *testing.T) {
	records := []json.RawMessage{
		[]byte(`{"model":"m",  "messages":[{"role":"user","content":"one two"},{"role":"user","content":[{"type":"text","text":"three"}]}]}`),
		[]byte(`{"prompt":["a b","c"],"n":1e400}`),
		[]byte(`{"x":1}`),
	}
	all, err := openAll(t.Context(), "raw_payload", Options{Options: source.Options{File: file.File{Records: records}, Tokenizer: tokenizer.Builtin()}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bench.Tokens{3, 3, 0} {
		turn := all.At(i).Turns[0]
		if string(turn.Payload) != string(records[i]) || turn.InputTokens != want {
			t.Errorf("entry %d: %s with %d tokens, want %s with %d", i, turn.Payload, turn.InputTokens, records[i], want)
		}
	}
	other, err := openAll(t.Context(), "raw_payload", Options{Options: source.Options{File: file.File{Records: records[1:]}, Entries: 1}})
	if err != nil || other.Len() != 1 || other.Hash() == all.Hash() {
		t.Errorf("one entry of other bodies: %d, same hash %v, %v", other.Len(), other.Hash() == all.Hash(), err)
	}
	var wrong *file.Error
	if _, err := Open(context.Background(), "raw_payload", Options{Options: source.Options{File: file.File{Records: []json.RawMessage{[]byte(`[1]`), []byte(`{}`), []byte(`"x"`)}}}}); !errors.As(err, &wrong) || len(wrong.Problems) != 2 {
		t.Errorf("bodies that are no objects: %v, want two problems", err)
	}
}

func FuzzRawPayload(f *testing.F) {
	for _, s := range []string{`{"model":"m","messages":[{"role":"user","content":"one"}]}`, "{}\n{\"prompt\":[\"a\"]}", "[1]", "\x28\xb5\x2f\xfd"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := fromText(string(data))
		o.File.MaxBytes = 1 << 20
		s, err := openAll(t.Context(), "raw_payload", o)
		if err != nil {
			return
		}
		for i := range s.Len() {
			if p := s.At(i).Turns[0].Payload; !json.Valid(p) {
				t.Fatalf("entry %d: %q", i, p)
			}
		}
	})
}
