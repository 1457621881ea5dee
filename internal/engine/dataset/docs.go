package dataset

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

// documentation says what the kinds of datasets, the corpora and the sampling strategies
// are. {{sets}} stands for the rows of the public sets.
//
//go:embed datasets.md
var documentation string

// WriteDocs writes the documentation as Markdown.
func WriteDocs(w io.Writer) error {
	if _, err := io.WriteString(w, strings.Replace(documentation, "{{sets}}\n", publicRows(), 1)); err != nil {
		return fmt.Errorf("write dataset docs: %w", err)
	}
	return nil
}
