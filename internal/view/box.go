package view

import "strings"

// Border has the characters of boxes: those of tables, which have a heavy head, and those of
// panels.
type Border struct {
	top, middle, bottom  [4]string // beginning, line, junction, end
	headBar, rowBar      string
	panelTop, panelFloor [4]string
	panelBar             string
	bold                 func(string) string
}

// NewBorder returns the border of boxes, optionally in ASCII. bold renders the titles of
// tables and of their columns.
func NewBorder(ascii bool, bold func(string) string) *Border {
	if ascii {
		line := [4]string{"+", "-", "+", "+"}
		return &Border{
			top: line, middle: [4]string{"+", "=", "+", "+"}, bottom: line, headBar: "|", rowBar: "|",
			panelTop: line, panelFloor: line, panelBar: "|", bold: bold,
		}
	}
	return &Border{
		top: [4]string{"┏", "━", "┳", "┓"}, middle: [4]string{"┡", "━", "╇", "┩"}, bottom: [4]string{"└", "─", "┴", "┘"},
		headBar: "┃", rowBar: "│",
		panelTop: [4]string{"╭", "─", "─", "╮"}, panelFloor: [4]string{"╰", "─", "─", "╯"}, panelBar: "│",
		bold: bold,
	}
}

// Table returns a table as a box, with its title centred above.
func (b *Border) Table(t *Table) string {
	widths := t.widths()
	indent := max(0, (t.Width(Boxed)-Width(t.Title))/2)
	lines := []string{strings.Repeat(" ", indent) + b.bold(t.Title), rule(b.top, widths)}
	lines = append(lines, t.boxedRow(b.headBar, t.titles(), widths, b.bold)...)
	lines = append(lines, rule(b.middle, widths))
	for _, row := range t.Rows {
		lines = append(lines, t.boxedRow(b.rowBar, row, widths, func(text string) string { return text })...)
	}
	return joined(append(lines, rule(b.bottom, widths)))
}

// rule returns a horizontal line of a box.
func rule(parts [4]string, widths []int) string {
	segments := make([]string, len(widths))
	for i, w := range widths {
		segments[i] = strings.Repeat(parts[1], w+2)
	}
	return parts[0] + strings.Join(segments, parts[2]) + parts[3]
}

// boxedRow returns the lines of a row.
func (t *Table) boxedRow(bar string, row []string, widths []int, look func(string) string) []string {
	cells := make([][]string, len(widths))
	height := 1
	for i := range cells {
		cells[i] = strings.Split(cell(row, i), "\n")
		height = max(height, len(cells[i]))
	}
	lines := make([]string, height)
	for y := range lines {
		for i, w := range widths {
			text := t.Columns[i].aligned(look(cell(cells[i], y)), w)
			lines[y] += bar + " " + text + " "
		}
		lines[y] += bar
	}
	return lines
}

// Panel returns text in a box of a width, with a title in its upper edge. paint renders the
// title.
func (b *Border) Panel(title, text string, width int, paint func(string) string) string {
	inner := width - 6
	left := (width - 4 - Width(title)) / 2
	right := width - 4 - Width(title) - left
	lines := []string{
		b.panelTop[0] + strings.Repeat(b.panelTop[1], left) + " " + paint(title) + " " +
			strings.Repeat(b.panelTop[1], right) + b.panelTop[3],
	}
	for line := range strings.SplitSeq(Wrap(text, inner), "\n") {
		lines = append(lines, b.panelBar+"  "+line+strings.Repeat(" ", inner-Width(line))+"  "+b.panelBar)
	}
	return joined(append(lines, b.panelFloor[0]+strings.Repeat(b.panelFloor[1], width-2)+b.panelFloor[3]))
}
