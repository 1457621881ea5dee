package export

import (
	"bytes"
	"fmt"

	"aiperfd/internal/results"
	"aiperfd/internal/view"
)

// pairedMarkdown adds the metrics, the sides and the doubts of a comparison of two servers.
func pairedMarkdown(out *bytes.Buffer, a *results.Answer) {
	for _, note := range a.Notes() {
		fmt.Fprintf(out, "- %s\n", view.EscapeMarkdown(note))
	}
	t := a.PairedTable()
	fmt.Fprintf(out, "\n%s\n", t.Markdown())
	for _, line := range a.Paired.SideNotes() {
		fmt.Fprintf(out, "- %s\n", view.EscapeMarkdown(line))
	}
}
