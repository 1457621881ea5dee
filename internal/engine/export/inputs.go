package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"aiperfd/internal/engine/plainjson"
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
	w.b.WriteString(",\n    ")
	if w.count++; w.count == 1 {
		w.b.Reset()
		w.b.WriteString("{\n  \"data\": [\n    ")
	}
	session := struct {
		ID       string            `json:"session_id"`
		Mode     string            `json:"context_mode,omitempty"`
		Payloads []json.RawMessage `json:"payloads"`
	}{w.secrets.Exact(s.ID), s.Mode, make([]json.RawMessage, len(s.Payloads))}
	for i, p := range s.Payloads {
		if session.Payloads[i] = w.secrets.JSON(p); !json.Valid(p) {
			return fmt.Errorf("payload %d of session %s is no JSON", i, s.ID)
		}
	}
	data, err := plainjson.Marshal(session)
	if err == nil {
		err = json.Indent(&w.b, data, "    ", "  ")
	}
	if err != nil {
		return fmt.Errorf("encode session %s: %w", s.ID, err)
	}
	_, err = w.b.WriteTo(w.w)
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
