package collect

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
)

// maxInputs bounds the bodies in inputs.json. Bodies with images and audio can take
// many gigabytes.
const maxInputs = 512 << 20

// InputOptions configure [OpenInputs].
type InputOptions struct {
	Dir      string // of the artifacts
	Plan     *plan.Plan
	Secrets  *redact.Set
	TokenIDs func(t *bench.Turn, model string) []int // nil = the API takes none
}

// Inputs writes inputs.json while a run goes on. Only one goroutine may use it.
type Inputs struct {
	o      InputOptions
	file   *os.File
	buffer *bufio.Writer
	writer *export.InputsWriter
	bound  int // bytes of bodies
	size   int
	count  int
	cut    bool // conversations are missing
}

// OpenInputs creates the file.
func OpenInputs(o InputOptions) (*Inputs, error) {
	path := filepath.Join(o.Dir, export.NamesFor(o.Plan.Files.Layout.Prefix).Inputs)
	file, err := durable.Create(path, durable.Shared)
	if err != nil {
		return nil, err
	}
	w := &Inputs{o: o, file: file, buffer: bufio.NewWriterSize(file, 256<<10), bound: maxInputs}
	w.writer = export.NewInputsWriter(w.buffer, o.Secrets)
	return w, nil
}

// Add writes the request bodies of a conversation and of those that it starts, unless the
// bound is reached. Turns do not contain the history with which they are sent.
func (w *Inputs) Add(c *bench.Conversation) error {
	if err := w.add(c); err != nil {
		return err
	}
	for child := range c.Children() {
		if err := w.Add(child); err != nil {
			return err
		}
	}
	return nil
}

func (w *Inputs) add(c *bench.Conversation) error {
	if w.size > w.bound {
		w.cut = true
		return nil
	}
	if len(c.Turns) == 0 {
		return nil
	}
	s := export.InputsSession{ID: c.ID}
	if len(c.Turns) > 1 && c.Mode != bench.MessageArrayWithResponses {
		s.Mode = c.Mode.String()
	}
	for t := range c.Turns {
		body, err := w.body(c, t)
		if err != nil {
			return fmt.Errorf("encode turn %d of conversation %s: %w", t, c.ID, err)
		}
		s.Payloads = append(s.Payloads, export.Payload(w.o.Plan.Header.Get("Content-Type"), body))
		w.size += len(body)
	}
	w.count++
	return w.writer.Add(&s)
}

// body encodes a turn.
func (w *Inputs) body(c *bench.Conversation, turn int) (json.RawMessage, error) {
	p, model := w.o.Plan, w.o.Plan.ModelOf(c, turn)
	r := &endpoint.Request{Model: model, System: c.System, Context: c.Context, Turn: c.Turns[turn], Settings: &p.Settings}
	if w.o.TokenIDs != nil {
		r.TokenIDs = w.o.TokenIDs(&c.Turns[turn], model)
	}
	return p.Kind.Body(nil, r)
}

// Close completes the file. The warning says that conversations are missing; empty =
// none are.
func (w *Inputs) Close() (warning string, err error) {
	if w.cut {
		warning = fmt.Sprintf("inputs.json holds the first %d conversations: it is bounded to %d MiB", w.count, w.bound>>20)
	}
	return warning, errors.Join(w.writer.Close(), w.buffer.Flush(), w.file.Close())
}
