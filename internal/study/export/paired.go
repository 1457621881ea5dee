package export

import (
	"bytes"
	"fmt"

	"aiperfd/internal/results"
	"aiperfd/internal/view"
)

// pairedMarkdown adds the metrics, the sides and the doubts of a comparison of two servers.
func pairedMarkdown(out *bytes.Buffer, a *results.Answer) {
	if a.Stop.Text != "" {
		fmt.Fprintf(out, "- The measurement ended: %s.\n", a.Stop.Text)
	}
	if a.Decide.Needs != "" {
		fmt.Fprintf(out, "- What would decide it: %s.\n", view.EscapeMarkdown(a.Decide.Needs))
	}
	for _, d := range a.Doubts {
		fmt.Fprintf(out, "- Doubt: %s.\n", view.EscapeMarkdown(d.Message))
	}
	t := a.Paired.Table()
	fmt.Fprintf(out, "\n%s\n", t.Markdown())
	for _, line := range a.Paired.SideNotes() {
		fmt.Fprintf(out, "- %s\n", view.EscapeMarkdown(line))
	}
}
