package catalogue

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// text is what users are told of the metrics: a section for each table of the catalogue, and
// explanations before and after them.
//
//go:embed metrics.md
var text string

// tableRule is the line between the head and the rows of a table in the text.
const tableRule = "|---|"

// body returns the text without its heading, which is for those who edit it.
func body() string {
	_, rest, _ := strings.Cut(text, "\n\n")
	_, rest, _ = strings.Cut(rest, "\n\n")
	return rest
}

// described returns the definitions in the text by tag, without what the formulas add.
var described = sync.OnceValue(func() map[string]Def {
	out := make(map[string]Def)
	for line := range strings.Lines(body()) {
		row, ok := strings.CutPrefix(line, "| ")
		if !ok || strings.HasPrefix(row, "tag |") {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(row, `\|`, "\x00"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
		}
		group, order, _ := strings.Cut(cells[5], " ")
		d := Def{
			Tag: cells[0], Origin: cells[1], Header: cells[2], Short: cells[3], Better: Direction(cells[4]),
			Group: Group(strings.TrimPrefix(group, "-")), Doc: cells[6],
		}
		d.Order, _ = strconv.Atoi(order) // 0 without one
		out[d.Tag] = d
	}
	return out
})
