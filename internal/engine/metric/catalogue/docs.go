package catalogue

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteDocs renders the catalogue as Markdown, for docs/metrics.md: the text, with all rows in the
// place of those in it. Its error is that of w.
func WriteDocs(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("# Metrics\n\nThis file is generated from `internal/engine/metric/catalogue`; do not edit it.\n\n")
	all, section := tables(), ""
	for line := range strings.Lines(body()) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(title)
		}
		switch {
		case strings.HasPrefix(line, tableRule):
			i := slices.IndexFunc(all, func(t table) bool { return t.section == section })
			b.WriteString("| tag | name | kind | unit | definition | notes |\n|---|---|---|---|---|---|\n")
			for _, r := range all[i].rows {
				writeDoc(b, &r)
			}
		case !strings.HasPrefix(line, "| "):
			b.WriteString(line)
		}
	}
	return b.Flush()
}

// writeDoc writes one line of a table.
func writeDoc(w io.Writer, r *Row) {
	header := r.Header
	if r.Short != "" {
		header += " / " + r.Short
	}
	var notes []string
	if r.Origin != AIPerf {
		notes = append(notes, "not in AIPerf")
	}
	if flags := r.Flags.String(); flags != "" {
		notes = append(notes, flags)
	}
	if r.Group != NoGroup {
		notes = append(notes, "table "+string(r.Group))
	}
	cells := []string{"`" + r.Tag + "`", header, r.Kind.String(), r.Unit, r.Doc, strings.Join(notes, "; ")}
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}
