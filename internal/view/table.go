package view

import (
	"slices"
	"strings"
)

// Table is text in rows and columns. It is drawn as plain text, as a box or in Markdown.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]string // cells; those that are missing at the end of a row are empty
}

// Column is a column of a table.
type Column struct {
	Title  string
	Weight int  // of too many columns the one with the largest weight is left out; 0 = never
	Number bool // aligned to the right
}

// Look is how a table is drawn.
type Look int

// The looks: columns separated by blanks, and a box with lines, whose cells may have several
// lines.
const (
	Plain Look = iota
	Boxed
)

// gap is the space between the columns of a plain table.
const gap = 2

// titles returns the titles of the columns.
func (t *Table) titles() []string {
	out := make([]string, len(t.Columns))
	for i := range t.Columns {
		out[i] = t.Columns[i].Title
	}
	return out
}

// cell returns a cell of a row.
func cell(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
}

// widths returns the widths of the columns.
func (t *Table) widths() []int {
	out := make([]int, len(t.Columns))
	for _, row := range append([][]string{t.titles()}, t.Rows...) {
		for i := range out {
			for line := range strings.SplitSeq(cell(row, i), "\n") {
				out[i] = max(out[i], Width(line))
			}
		}
	}
	return out
}

// Width returns the width of the whole table.
func (t *Table) Width(look Look) int {
	n := 0
	for _, w := range t.widths() {
		n += w
	}
	if look == Boxed {
		return n + 3*len(t.Columns) + 1
	}
	return n + gap*(len(t.Columns)-1)
}

// Excess returns the column to be left out of a table that is wider than a number of columns.
// It is -1 if the table is not, or if none can be left out.
func (t *Table) Excess(look Look, width int) int {
	if t.Width(look) <= width {
		return -1
	}
	heaviest := -1
	for i := range t.Columns {
		if w := t.Columns[i].Weight; w > 0 && (heaviest < 0 || w > t.Columns[heaviest].Weight) {
			heaviest = i
		}
	}
	return heaviest
}

// Narrow leaves columns out until the table fits a number of columns, or until all that are
// left must be shown.
func (t *Table) Narrow(look Look, width int) {
	for i := t.Excess(look, width); i >= 0; i = t.Excess(look, width) {
		t.Columns = slices.Delete(slices.Clone(t.Columns), i, i+1)
		for k, row := range t.Rows {
			if i < len(row) {
				t.Rows[k] = slices.Delete(slices.Clone(row), i, i+1)
			}
		}
	}
}

// WrapColumn wraps the cells of a column so that a box is at most width columns wide; the
// cells are at least least columns wide.
func (t *Table) WrapColumn(column, width, least int) {
	over := t.Width(Boxed) - width
	if over <= 0 {
		return
	}
	room := max(least, t.widths()[column]-over)
	for _, row := range t.Rows {
		row[column] = Wrap(row[column], room)
	}
}

// aligned returns a text in a number of columns.
func (c *Column) aligned(text string, width int) string {
	space := strings.Repeat(" ", max(0, width-Width(text)))
	if c.Number {
		return space + text
	}
	return text + space
}

// Lines returns the lines of a plain table, that of the titles first if a column has one, in
// at most width columns; 0 = no limit.
func (t *Table) Lines(width int) []string {
	grid := t.Rows
	if titles := t.titles(); strings.Join(titles, "") != "" {
		grid = append([][]string{titles}, grid...)
	}
	widths := t.widths()
	out := make([]string, len(grid))
	for k, row := range grid {
		cells := make([]string, len(t.Columns))
		for i := range t.Columns {
			cells[i] = t.Columns[i].aligned(cell(row, i), widths[i])
		}
		out[k] = strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " ")
		if width > 0 {
			out[k] = Fit(out[k], width)
		}
	}
	return out
}

// Text returns the plain table with a line break after each line.
func (t *Table) Text(width int) string { return joined(t.Lines(width)) }

// Markdown returns the table in GitHub Flavored Markdown, without its title.
func (t *Table) Markdown() string {
	rule := make([]string, len(t.Columns))
	for i := range rule {
		rule[i] = "---"
		if t.Columns[i].Number {
			rule[i] = "---:"
		}
	}
	lines := []string{t.markdownRow(t.titles()), "| " + strings.Join(rule, " | ") + " |"}
	for _, row := range t.Rows {
		lines = append(lines, t.markdownRow(row))
	}
	return joined(lines)
}

func (t *Table) markdownRow(row []string) string {
	var out strings.Builder
	for i := range t.Columns {
		out.WriteString("| " + EscapeMarkdown(cell(row, i)) + " ")
	}
	return out.String() + "|"
}

func joined(lines []string) string { return strings.Join(append(lines, ""), "\n") }

// EscapeMarkdown makes a text of unknown origin a part of a line or of a table cell that Markdown
// shows as it is: no markup, no HTML, no end of the cell, and neither a mention of a person
// nor a reference to an issue, which GitHub recognizes after the escapes are gone.
func EscapeMarkdown(s string) string {
	const joint = "\u200b" // has no width
	var out strings.Builder
	before := ' '
	for _, r := range Printable(s) {
		switch {
		case r == '&':
			out.WriteString("&amp;")
		case r == '<':
			out.WriteString("&lt;")
		case r == '>':
			out.WriteString("&gt;")
		case r == '@':
			out.WriteString("@" + joint)
		case r == '#':
			out.WriteString(`\#` + joint)
		case strings.ContainsRune("\\`*_{}[]|~!", r):
			out.WriteString(`\` + string(r))
		case r == '/' && before == ':': // no link to an address that a server has sent
			out.WriteString(joint + "/")
		default:
			out.WriteRune(r)
		}
		before = r
	}
	return strings.TrimSpace(out.String())
}
