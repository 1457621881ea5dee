package report

import (
	"strings"

	"aiperfd/internal/view"
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
	line("## ", view.EscapeMarkdown(t.Title))
	for _, sentence := range t.Answer {
		line()
		line("**", view.EscapeMarkdown(sentence), "**")
	}
	for i := range t.Alerts {
		line()
		line("> **", view.EscapeMarkdown(t.Alerts[i].Title), "**")
		for _, reason := range t.Alerts[i].Lines {
			line("> - ", view.EscapeMarkdown(reason))
		}
	}
	for _, fact := range t.Facts {
		line()
		line(view.EscapeMarkdown(fact))
	}
	for i := range t.Tables {
		line()
		line("**", view.EscapeMarkdown(t.Tables[i].Title), "**")
		line()
		out.WriteString(t.Tables[i].Markdown())
		if more := t.Tables[i].More; more != "" {
			line()
			line("<sub>", view.EscapeMarkdown(more), "</sub>")
		}
	}
	for i := range t.Lists {
		line()
		line("**", view.EscapeMarkdown(t.Lists[i].Title), "**")
		line()
		for _, item := range t.Lists[i].Items {
			line("- ", view.EscapeMarkdown(cut(item)))
		}
	}
	line()
	line("<sub>", view.EscapeMarkdown(t.Origin), "</sub>")
	return out.String()
}
