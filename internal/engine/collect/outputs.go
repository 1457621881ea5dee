package collect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
)

// outputFiles are the paths of outputs.json and of what it is made of.
type outputFiles struct{ fragments, outputs string }

func outputsIn(dir string, n export.Names) outputFiles {
	return outputFiles{filepath.Join(dir, export.FragmentsFile), filepath.Join(dir, n.Outputs)}
}

// remove removes the files of an earlier run in the folder.
func (o *outputFiles) remove() {
	for _, old := range []string{o.fragments, o.outputs} {
		_ = os.Remove(old) // mostly it does not exist
	}
}

// join writes outputs.json and removes the fragments.
func (o *outputFiles) join() error {
	in, err := os.Open(o.fragments)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := export.ReplaceFile(o.outputs, func(w io.Writer) error { return export.WriteOutputs(w, in) }); err != nil {
		return fmt.Errorf("write outputs.json: %w", err)
	}
	return os.Remove(o.fragments)
}

// RecoverOutputs writes outputs.json of what a run of an earlier process has left, if
// it was to write one.
func RecoverOutputs(dir, prefix string) error {
	o := outputsIn(dir, export.NamesFor(prefix))
	if err := o.join(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// answerBytes returns about how much memory the texts of a response take.
func answerBytes(r *bench.Record) int {
	n := 0
	for i := range r.Answer.Choices {
		c := &r.Answer.Choices[i]
		n += len(c.Text) + len(c.Reasoning) + len(c.Refusal)
		for _, call := range c.ToolCalls {
			n += len(call.Arguments)
		}
	}
	return n
}
