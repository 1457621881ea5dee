package config

import (
	"encoding/json"
	"testing"
)

// FuzzLoad: no input panics, and no unknown field is accepted.
func FuzzLoad(f *testing.F) {
	for _, row := range problemRows {
		f.Add([]byte("benchmark: {" + row.members + "}"))
	}
	f.Add([]byte(`{"benchmark":{"models":["m"],"phases":[{"requests":200}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := LoadOptions{Choices: someChoices(), Untrusted: true, MaxBytes: 1 << 16}
		if _, _, err := Load(data, o); err != nil {
			return
		}
		extended := withUnknown(data)
		if extended != nil {
			if _, _, err := Load(extended, o); err == nil {
				t.Errorf("an unknown key is accepted: %s", extended)
			}
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
	doc["benchmark"], _ = json.Marshal(section)
	out, _ := json.Marshal(doc)
	return out
}
