package secret

import (
	"bytes"
	"encoding/json"
	"net/url"

	"aiperfd/internal/engine/redact"
)

// Hidden returns the texts that [redact.Value] hides in a member of a JSON object.
func Hidden(name string, value json.RawMessage) []string {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var decoded any
	if d.Decode(&decoded) != nil {
		return nil
	}
	before := map[string]any{name: decoded}
	return hidden(before, redact.Value(before))
}

// hidden returns the texts of before that are not in after.
func hidden(before, after any) []string {
	var all []string
	switch before := before.(type) {
	case map[string]any:
		cleaned, _ := after.(map[string]any)
		for name, value := range before {
			all = append(all, hidden(value, cleaned[name])...)
		}
	case []any:
		cleaned, ok := after.([]any)
		for i, value := range before {
			if ok && i < len(cleaned) {
				all = append(all, hidden(value, cleaned[i])...)
				continue
			}
			all = append(all, hidden(value, nil)...)
		}
	case string:
		if after != any(before) {
			all = append(all, before)
		}
	case json.Number:
		if after != any(before) {
			all = append(all, before.String())
		}
	}
	return all
}

// SensitiveParam reports whether redact.URL hides the value of a query's pair.
func SensitiveParam(name, value string) bool {
	probe := "http://h/?" + url.Values{name: {value}}.Encode()
	return redact.URL(probe) != probe
}
