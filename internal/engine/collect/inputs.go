package collect

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
)

// InputOptions configure [WriteInputs].
type InputOptions struct {
	Dir      string // of the artifacts
	Plan     *plan.Plan
	Source   dataset.Source
	Secrets  *redact.Set
	TokenIDs func(t *bench.Turn, model string) []int // nil = the API takes none
	Warn     func(code, detail string)               // adds a warning to the result
}

func (o *InputOptions) tokenIDs(t *bench.Turn, model string) []int {
	if o.TokenIDs == nil {
		return nil
	}
	return o.TokenIDs(t, model)
}

// WriteInputs writes the request bodies of the dataset. Turns do not contain the
// history with which they are sent.
func WriteInputs(o *InputOptions) (err error) {
	path := filepath.Join(o.Dir, export.NamesFor(o.Plan.Files.Prefix).Inputs)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, export.FileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffer := bufio.NewWriterSize(file, 256<<10)
	var fault error
	if err := export.WriteInputs(buffer, o.inputs(maxInputs, &fault), o.Secrets); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return errors.Join(fault, buffer.Flush())
}

// maxInputs bounds the bodies in inputs.json. Bodies with images and audio can take
// many gigabytes, more than the dataset in memory.
const maxInputs = 512 << 20

// inputs encodes the dataset. The first turn that cannot be encoded is reported in
// fault and ends the sequence. The bound ends it with a warning.
func (o *InputOptions) inputs(bound int, fault *error) iter.Seq2[string, []json.RawMessage] {
	return func(yield func(string, []json.RawMessage) bool) {
		size := 0
		for i := range o.Source.Len() {
			c := o.Source.At(i)
			if size > bound {
				o.Warn("inputs-cut", fmt.Sprintf(
					"inputs.json holds the first %d of %d conversations: it is bounded to %d MiB", i, o.Source.Len(), bound>>20))
				return
			}
			var bodies []json.RawMessage
			for t := range c.Turns {
				model := o.Plan.ModelOf(c, t)
				body, err := o.Plan.Kind.Body(nil, &endpoint.Request{
					Model: model, System: c.System, Context: c.Context,
					Turn: c.Turns[t], TokenIDs: o.tokenIDs(&c.Turns[t], model), Settings: &o.Plan.Settings,
				})
				if err != nil {
					*fault = fmt.Errorf("encode turn %d of conversation %s: %w", t, c.ID, err)
					return
				}
				bodies = append(bodies, export.Payload(o.Plan.Header.Get("Content-Type"), body))
				size += len(body)
			}
			if !yield(c.ID, bodies) {
				return
			}
		}
	}
}
