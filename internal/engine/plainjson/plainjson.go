// Package plainjson writes JSON without HTML escaping: <, > and & stay as they
// are, so that prompts and "<redacted>" remain readable.
package plainjson

import (
	"bytes"
	"encoding/json"
	"io"
)

// Marshal is [json.Marshal] without HTML escaping.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// WriteIndent writes v as JSON with an indent of two spaces, followed by a line
// feed.
func WriteIndent(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
