package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"aiperfd/internal/engine/redact"
)

// InputsWriter writes inputs.json: the request bodies of conversations, in the order in
// which they are added. It writes in small pieces; the writer below should buffer.
type InputsWriter struct {
	w       io.Writer
	secrets *redact.Set // exact secrets are taken out of every string
	b       bytes.Buffer
	count   int
}

// InputsSession is a conversation in inputs.json.
type InputsSession struct {
	ID       string
	Payloads []json.RawMessage // one per turn
	Mode     string            // context mode of a conversation whose later turns are sent with history; empty = none
}

// NewInputsWriter returns a writer.
func NewInputsWriter(w io.Writer, secrets *redact.Set) *InputsWriter {
	return &InputsWriter{w: w, secrets: secrets}
}

// Add writes a conversation. It does not keep the payloads.
func (w *InputsWriter) Add(s *InputsSession) error {
	if w.count > 0 {
		w.b.WriteByte(',')
	} else {
		w.b.WriteString("{\n  \"data\": [")
	}
	w.count++
	w.b.WriteString("\n    {\n      \"session_id\": ")
	w.b.Write(described(w.secrets.Exact(s.ID)))
	if s.Mode != "" {
		w.b.WriteString(",\n      \"context_mode\": \"" + s.Mode + "\"")
	}
	w.b.WriteString(",\n      \"payloads\": [")
	for i, p := range s.Payloads {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.b.WriteString("\n        ")
		if err := json.Indent(&w.b, w.secrets.JSON(p), "        ", "  "); err != nil {
			return fmt.Errorf("indent payload %d of session %s: %w", i, s.ID, err)
		}
	}
	if len(s.Payloads) > 0 {
		w.b.WriteString("\n      ")
	}
	w.b.WriteString("]\n    }")
	_, err := w.b.WriteTo(w.w)
	return err
}

// Close writes the end. It does not close the writer below.
func (w *InputsWriter) Close() error {
	if w.count == 0 {
		w.b.WriteString("{\n  \"data\": []\n}\n")
	} else {
		w.b.WriteString("\n  ]\n}\n")
	}
	_, err := w.b.WriteTo(w.w)
	return err
}
