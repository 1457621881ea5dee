package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"aiperfd/internal/engine/redact"
)

// WriteInputs writes inputs.json: the request bodies of every conversation in
// the order of the sequence. It holds one conversation at a time in memory and
// does not keep the slices. Exact secrets are taken out of every string. It
// writes in small pieces; w should buffer.
func WriteInputs(w io.Writer, conversations iter.Seq2[string, []json.RawMessage], secrets *redact.Set) error {
	var b bytes.Buffer
	b.WriteString("{\n  \"data\": [")
	first := true
	for id, payloads := range conversations {
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteString("\n    {\n      \"session_id\": ")
		b.Write(appendText(nil, secrets.Exact(id)))
		b.WriteString(",\n      \"payloads\": [")
		for i, p := range payloads {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n        ")
			if err := json.Indent(&b, redactJSON(p, secrets), "        ", "  "); err != nil {
				return fmt.Errorf("indent payload %d of session %s: %w", i, id, err)
			}
		}
		if len(payloads) > 0 {
			b.WriteString("\n      ")
		}
		b.WriteString("]\n    }")
		if _, err := b.WriteTo(w); err != nil {
			return err
		}
	}
	if !first {
		b.WriteString("\n  ")
	}
	b.WriteString("]\n}\n")
	_, err := b.WriteTo(w)
	return err
}
