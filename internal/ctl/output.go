package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/view"
)

// The formats of the output. None is a table or text.
const (
	formatJSON = "json"
	formatYAML = "yaml"
	formatName = "name" // only the id
	formatWide = "wide" // a table with more columns
)

// checkOutput checks --output against the formats of a command.
func (g *globals) checkOutput(formats []string) error {
	if g.output == "" || slices.Contains(formats, g.output) {
		return nil
	}
	if len(formats) == 0 {
		return usageError("--output %s: this command has only one format", g.output)
	}
	return usageError("--output %q: must be one of %s", g.output, strings.Join(formats, ", "))
}

// printed prints a value as JSON or YAML, or names, one per line, if --output asks for that, and
// reports whether it does.
func (g *globals) printed(w io.Writer, v any, names ...string) (done bool, err error) {
	switch g.output {
	case formatJSON, formatYAML:
		return true, g.printValue(w, v)
	case formatName:
		_, err = io.WriteString(w, strings.Join(append(names, ""), "\n"))
		return true, err
	}
	return false, nil
}

// printValue prints a value as JSON or YAML.
func (g *globals) printValue(w io.Writer, v any) error {
	if raw, ok := v.(json.RawMessage); ok { // as it came
		return g.printJSON(w, raw)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return g.printJSON(w, data)
}

// printJSON prints JSON with indentation, or as YAML.
func (g *globals) printJSON(w io.Writer, data []byte) error {
	if g.output == formatYAML {
		out, err := yaml.JSONToYAML(data)
		if err != nil {
			return err
		}
		_, err = w.Write(out)
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

// widthOf returns the columns of the terminal that is the standard output; 0 = no limit.
func widthOf(cmd *cobra.Command) int {
	if f, ok := cmd.OutOrStdout().(*os.File); ok {
		return terminal.Columns(f)
	}
	return 0
}

// maxCell is the width of the widest cell of a table on a terminal.
const maxCell = 40

// printTable prints rows below titles, in at most width columns; 0 = no limit, and nothing
// is cut.
func printTable(w io.Writer, width int, columns []view.Column, rows [][]string) error {
	t := view.Table{Columns: columns}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, text := range row {
			cells[i] = view.Printable(text)
			if width > 0 {
				cells[i] = view.Fit(text, maxCell)
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	if width > 0 {
		t.Narrow(view.Plain, width)
	}
	_, err := io.WriteString(w, t.Text(width))
	return err
}

// field is a line of a description.
type field struct{ name, value string }

// printFields prints the fields that have a value, aligned, in at most columns columns
// (0 = no limit).
func printFields(w io.Writer, columns int, fields []field) error {
	const gap = 2
	fields = slices.DeleteFunc(fields, func(f field) bool { return f.value == "" })
	width := 0
	for _, f := range fields {
		width = max(width, len(f.name))
	}
	for _, f := range fields {
		value := f.value
		if room := columns - width - gap; columns > 0 && room > 0 {
			value = view.Wrap(view.PrintableLines(value), room)
		}
		value = strings.ReplaceAll(value, "\n", "\n"+strings.Repeat(" ", width+gap))
		if _, err := fmt.Fprintf(w, "%-*s%s\n", width+gap, f.name, value); err != nil {
			return err
		}
	}
	return nil
}
