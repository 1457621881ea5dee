package export

import (
	"strings"
	"unicode/utf8"
)

// table is a box with a heavy head. Cells may have several lines.
type table struct {
	title string
	head  []string
	left  []bool // by column: aligned to the left; missing = to the right
	rows  [][]string
}

// rules are the four horizontal lines of a box: beginning, line, junction, end.
type rules struct {
	top, middle, bottom  [4]string
	headBar, rowBar      string
	panelTop, panelFloor [4]string
	panelBar             string
}

// boxRules returns the lines of a box, optionally in ASCII.
func boxRules(ascii bool) rules {
	if ascii {
		line := [4]string{"+", "-", "+", "+"}
		return rules{
			top: line, middle: [4]string{"+", "=", "+", "+"}, bottom: line, headBar: "|", rowBar: "|",
			panelTop: line, panelFloor: line, panelBar: "|",
		}
	}
	return rules{
		top: [4]string{"┏", "━", "┳", "┓"}, middle: [4]string{"┡", "━", "╇", "┩"}, bottom: [4]string{"└", "─", "┴", "┘"},
		headBar: "┃", rowBar: "│",
		panelTop: [4]string{"╭", "─", "─", "╮"}, panelFloor: [4]string{"╰", "─", "─", "╯"}, panelBar: "│",
	}
}

// widths returns the width of each column's text.
func (t *table) widths() []int {
	out := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			for line := range strings.Lines(c) {
				out[i] = max(out[i], textWidth(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	return out
}

// width returns the width of the whole table.
func (t *table) width() int {
	n := 1
	for _, w := range t.widths() {
		n += w + 3
	}
	return n
}

// wrapColumn wraps the text of a column so that the table is at most limit columns
// wide; the text is at least least columns wide.
func (t *table) wrapColumn(column, limit, least int) {
	over := t.width() - limit
	if over <= 0 {
		return
	}
	room := max(least, t.widths()[column]-over)
	for _, row := range t.rows {
		row[column] = wrap(row[column], room)
	}
}

// dropColumn removes the column with the given header, if there is one.
func (t *table) dropColumn(header string) {
	for i, h := range t.head {
		if h != header {
			continue
		}
		t.head = append(t.head[:i:i], t.head[i+1:]...)
		for j, row := range t.rows {
			t.rows[j] = append(row[:i:i], row[i+1:]...)
		}
		return
	}
}

// render writes the table with a centred title above.
func (t *table) render(s *screen) {
	widths := t.widths()
	r := &s.rules
	pad := max(0, (t.width()-textWidth(t.title))/2)
	s.line(strings.Repeat(" ", pad) + s.paint(bold, t.title))
	s.line(rule(r.top, widths))
	t.renderRow(s, r.headBar, t.head, widths, true)
	s.line(rule(r.middle, widths))
	for _, row := range t.rows {
		t.renderRow(s, r.rowBar, row, widths, false)
	}
	s.line(rule(r.bottom, widths))
}

func rule(parts [4]string, widths []int) string {
	var b strings.Builder
	b.WriteString(parts[0])
	for i, w := range widths {
		if i > 0 {
			b.WriteString(parts[2])
		}
		b.WriteString(strings.Repeat(parts[1], w+2))
	}
	b.WriteString(parts[3])
	return b.String()
}

func (t *table) renderRow(s *screen, bar string, row []string, widths []int, head bool) {
	cells := make([][]string, len(row))
	height := 1
	for i, c := range row {
		cells[i] = strings.Split(c, "\n")
		height = max(height, len(cells[i]))
	}
	for y := range height {
		var b strings.Builder
		for i, w := range widths {
			text := ""
			if y < len(cells[i]) {
				text = cells[i][y]
			}
			space := strings.Repeat(" ", w-textWidth(text))
			if head {
				text = s.paint(bold, text)
			}
			if i < len(t.left) && t.left[i] {
				text += space
			} else {
				text = space + text
			}
			b.WriteString(bar + " " + text + " ")
		}
		s.line(b.String() + bar)
	}
}

// wrap breaks text into lines of at most width columns, at blanks and inside words
// that are longer than a line. Its time is linear in the length of the text.
func wrap(text string, width int) string {
	var lines []string
	for part := range strings.SplitSeq(text, "\n") {
		line, used := "", 0
		for word := range strings.FieldsSeq(part) {
			for word != "" {
				head := truncate(beginning(word, width), width, "")
				if head == "" {
					head = word // not even one character fits
				}
				w := textWidth(head)
				switch {
				case line == "":
					line, used = head, w
				case head == word && used+1+w <= width:
					line, used = line+" "+head, used+1+w
				default:
					lines, line, used = append(lines, line), head, w
				}
				if word = word[len(head):]; word != "" {
					lines, line, used = append(lines, line), "", 0
				}
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// beginning returns the first characters of a word, at least width columns if the word
// has as many. It limits the bytes that are measured.
func beginning(word string, width int) string {
	most := 8*width + 64
	if len(word) <= most {
		return word
	}
	for most > 0 && !utf8.RuneStart(word[most]) {
		most--
	}
	return word[:most]
}
