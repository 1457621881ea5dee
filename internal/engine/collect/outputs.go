package collect

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/durable"
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
	if err := durable.Write(o.outputs, durable.Shared, func(w io.Writer) error { return writeOutputs(w, in) }); err != nil {
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

// fragment is the place of an entry in the file of fragments.
type fragment struct {
	session      int64
	turn         int32
	warmup       bool
	offset, size int64 // of the entry
}

// writeOutputs writes outputs.json of fragments, sorted by session and turn. It keeps 40
// bytes per request in memory. A line that was torn by a crash is left out.
func writeOutputs(w io.Writer, fragments io.ReaderAt) error {
	all, err := readFragments(fragments)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b fragment) int {
		return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.turn, b.turn), cmp.Compare(a.offset, b.offset))
	})
	text := func(s string) { _, err = io.WriteString(w, s) }
	text("{\n  \"schema_version\": \"1.1\"")
	for _, list := range []struct {
		name   string
		warmup bool
	}{{"data", false}, {"warmup", true}} {
		before := ",\n  \"" + list.name + "\": ["
		var entry []byte
		for _, f := range all {
			if f.warmup != list.warmup || err != nil {
				continue
			}
			entry = slices.Grow(entry[:0], int(f.size))[:f.size]
			if _, err = fragments.ReadAt(entry, f.offset); err == nil {
				err = writeEntry(w, before+"\n    ", entry)
			}
			before = ","
		}
		if err == nil && before != "," {
			text(before + "]")
		} else if err == nil {
			text("\n  ]")
		}
	}
	if err == nil {
		text("\n}\n")
	}
	return err
}

// readFragments lists the fragments of a file.
func readFragments(file io.ReaderAt) ([]fragment, error) {
	const whole = 1 << 62
	lines := bufio.NewReaderSize(io.NewSectionReader(file, 0, whole), 1<<16)
	var all []fragment
	for at := int64(0); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		f, err := parseFragment(line)
		if err != nil {
			return nil, fmt.Errorf("text of response %d: %w", len(all)+1, err)
		}
		f.offset += at
		all = append(all, f)
		at += int64(len(line))
	}
}

// parseFragment reads the head of a line.
func parseFragment(line []byte) (fragment, error) {
	parts := bytes.SplitN(line, []byte{' '}, 4)
	if len(parts) < 4 {
		return fragment{}, errors.New("the line has no head")
	}
	session, err1 := strconv.ParseInt(string(parts[0]), 10, 64)
	turn, err2 := strconv.ParseInt(string(parts[1]), 10, 32)
	warmup, err3 := strconv.ParseBool(string(parts[2]))
	entry := int64(len(parts[3]))
	return fragment{
		session: session, turn: int32(turn), warmup: warmup, offset: int64(len(line)) - entry, size: entry - int64(len("\n")),
	}, errors.Join(err1, err2, err3)
}

// writeEntry writes an entry, indented.
func writeEntry(w io.Writer, before string, entry []byte) error {
	out := bytes.NewBufferString(before)
	if err := json.Indent(out, entry, "    ", "  "); err != nil {
		return err
	}
	_, err := out.WriteTo(w)
	return err
}
