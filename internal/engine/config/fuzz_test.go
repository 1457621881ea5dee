package config

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzLoad: no input panics, nothing unknown is accepted, and what is accepted
// and has no secrets can be posted back as it is shown.
func FuzzLoad(f *testing.F) {
	for _, doc := range roundTrips {
		f.Add([]byte(doc))
	}
	for _, row := range problemRows {
		f.Add([]byte("benchmark: {" + row.members + "}"))
	}
	f.Add([]byte(`{"benchmark":{"models":["m"],"phases":[{"requests":200}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := LoadOptions{Choices: someChoices(), Untrusted: true, MaxBytes: 1 << 16}
		d, _, err := Load(data, o)
		if err != nil {
			return
		}
		extended := withUnknown(data)
		if extended != nil {
			if _, _, err := Load(extended, o); err == nil {
				t.Errorf("an unknown key is accepted: %s", extended)
			}
		}
		shown := encode(Compat(d))
		if bytes.Contains(shown, []byte("<redacted>")) || bytes.Contains(shown, []byte("${")) {
			return
		}
		again, _, err := Load(shown, o)
		if err != nil {
			t.Fatalf("posting back: %v\n%s", err, shown)
		}
		if d.RandomSeed != nil {
			return // it moves into the dataset
		}
		if diff := cmp.Diff(d.Benchmark, again.Benchmark, compareDocuments); diff != "" {
			t.Errorf("posting back (-first +second):\n%s", diff)
		}
	})
}

// withUnknown adds a key to the benchmark section of a JSON document.
func withUnknown(data []byte) []byte {
	var doc map[string]json.RawMessage
	var section map[string]json.RawMessage
	if json.Unmarshal(data, &doc) != nil || json.Unmarshal(doc["benchmark"], &section) != nil || section == nil {
		return nil
	}
	section["zzUnknown"] = json.RawMessage("null")
	doc["benchmark"] = encode(section)
	return encode(doc)
}
