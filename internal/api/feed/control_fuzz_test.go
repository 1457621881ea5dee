package feed

import (
	"encoding/json"
	"testing"
)

// FuzzMessage checks that every message of a client is accepted or answered by an error
// in JSON.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{"type":"ping"}`, `{"type":"subscribe","types":["*"],"run":"r","from_seq":1}`, `{"type":"unsubscribe"}`, `[]`, `{"type":1}`, "{", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, failure := parse(data)
		if failure != nil && !json.Valid(failure) {
			t.Errorf("answer %s", failure)
		}
	})
}
