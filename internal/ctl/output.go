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
	"aiperfd/internal/engine/export"
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

// printValue prints a value as JSON or YAML.
func (g *globals) printValue(w io.Writer, v any) error {
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

// column is a column of a table.
type column struct {
	title  string
	weight int // if the table is too wide, the column with the largest weight is left out; 0 = never
	number bool
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
func printTable(w io.Writer, width int, columns []column, rows [][]string) error {
	grid := make([][]string, 0, len(rows)+1)
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.title
	}
	for _, row := range append([][]string{head}, rows...) {
		cells := make([]string, len(columns))
		for i, text := range row {
			cells[i] = export.Printable(text)
			if width > 0 {
				cells[i] = export.Fit(text, maxCell)
			}
		}
		grid = append(grid, cells)
	}
	shown := make([]int, len(columns)) // indexes
	for i := range shown {
		shown[i] = i
	}
	for {
		widths, total := widthsOf(grid, shown)
		heaviest := slices.MaxFunc(shown, func(a, b int) int { return columns[a].weight - columns[b].weight })
		if width == 0 || total <= width || columns[heaviest].weight == 0 {
			_, err := io.WriteString(w, lines(grid, columns, shown, widths, width))
			return err
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == heaviest })
	}
}

// gap is the space between columns.
const gap = 2

// widthsOf returns the widths of the columns that are shown, and of the table.
func widthsOf(grid [][]string, shown []int) (widths []int, total int) {
	widths = make([]int, len(shown))
	for _, row := range grid {
		for at, i := range shown {
			widths[at] = max(widths[at], export.TextWidth(row[i]))
		}
	}
	for _, n := range widths {
		total += n + gap
	}
	return widths, total - gap
}

// lines returns the text of a table.
func lines(grid [][]string, columns []column, shown, widths []int, width int) string {
	var out strings.Builder
	for _, row := range grid {
		var line strings.Builder
		for at, i := range shown {
			space := strings.Repeat(" ", widths[at]-export.TextWidth(row[i]))
			switch {
			case columns[i].number:
				line.WriteString(space + row[i])
			default:
				line.WriteString(row[i] + space)
			}
			if at < len(shown)-1 {
				line.WriteString(strings.Repeat(" ", gap))
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if width > 0 {
			text = export.Fit(text, width)
		}
		out.WriteString(text + "\n")
	}
	return out.String()
}

// field is a line of a description.
type field struct{ name, value string }

// printFields prints the fields that have a value, aligned, in at most columns columns
// (0 = no limit).
func printFields(w io.Writer, columns int, fields []field) error {
	fields = slices.DeleteFunc(fields, func(f field) bool { return f.value == "" })
	width := 0
	for _, f := range fields {
		width = max(width, len(f.name))
	}
	for _, f := range fields {
		value := f.value
		if room := columns - width - gap; columns > 0 && room > 0 {
			value = export.Wrap(value, room)
		}
		value = strings.ReplaceAll(value, "\n", "\n"+strings.Repeat(" ", width+gap))
		if _, err := fmt.Fprintf(w, "%-*s%s\n", width+gap, f.name, value); err != nil {
			return err
		}
	}
	return nil
}
