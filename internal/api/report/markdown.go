package report

import (
	"strings"

	"aiperfd/internal/engine/export"
)

// markdown returns the text as GitHub Flavored Markdown.
func (t *text) markdown() string {
	var out strings.Builder
	line := func(parts ...string) {
		for _, part := range parts {
			out.WriteString(part)
		}
		out.WriteByte('\n')
	}
	line("## ", escape(t.Title))
	for i := range t.Alerts {
		line()
		line("> **", escape(t.Alerts[i].Title), "**")
		for _, reason := range t.Alerts[i].Lines {
			line("> - ", escape(reason))
		}
	}
	for _, fact := range t.Facts {
		line()
		line(escape(fact))
	}
	for i := range t.Tables {
		line()
		t.Tables[i].markdown(line)
	}
	for i := range t.Lists {
		line()
		line("**", escape(t.Lists[i].Title), "**")
		line()
		for _, item := range t.Lists[i].Items {
			line("- ", escape(cut(item)))
		}
	}
	line()
	line("<sub>", escape(t.Origin), "</sub>")
	return out.String()
}

// markdown writes a table.
func (t *table) markdown(line func(...string)) {
	line("**", escape(t.Title), "**")
	line()
	row := func(cells []string) {
		var out strings.Builder
		for _, cell := range cells {
			out.WriteString("| " + escape(cell) + " ")
		}
		line(out.String(), "|")
	}
	row(t.Header)
	rule := make([]string, len(t.Header))
	for i := range rule {
		rule[i] = "---:"
		if i < t.Left {
			rule[i] = "---"
		}
	}
	line("| ", strings.Join(rule, " | "), " |")
	for _, cells := range t.Rows {
		row(cells)
	}
	if t.More != "" {
		line()
		line("<sub>", escape(t.More), "</sub>")
	}
}

// escape makes a text of unknown origin a part of a line or of a table cell that Markdown
// shows as it is: no markup, no HTML, no end of the cell, and neither a mention of a person
// nor a reference to an issue, which GitHub recognizes after the escapes are gone.
func escape(s string) string {
	const joint = "\u200b" // has no width
	var out strings.Builder
	before := ' '
	for _, r := range export.Printable(s) {
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
