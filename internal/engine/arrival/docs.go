package arrival

import (
	_ "embed"
	"fmt"
	"io"
)

// otherDocs describes what arrivals do not decide.
//
//go:embed starts.md
var otherDocs string

// WriteDocs writes the table of processes as Markdown, and what the other types of
// phases do.
func WriteDocs(w io.Writer) error {
	const head = "| type | mean gap | CV of the gaps | description |\n|---|---|---|---|\n"
	if _, err := io.WriteString(w, head); err != nil {
		return fmt.Errorf("write arrival docs: %w", err)
	}
	for _, k := range Kinds() {
		if _, err := fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", k.Name, k.Mean, k.CV, k.Doc); err != nil {
			return fmt.Errorf("write arrival docs: %w", err)
		}
	}
	if _, err := io.WriteString(w, "\n"+otherDocs); err != nil {
		return fmt.Errorf("write arrival docs: %w", err)
	}
	return nil
}
