package dataset

import (
	"fmt"
	"io"
	"strings"

	"aiperfd/internal/engine/dataset/text"
)

// WriteDocs writes the kinds of datasets, the corpora and the sampling
// strategies as Markdown.
func WriteDocs(w io.Writer) error {
	var b strings.Builder
	b.WriteString("Lengths are in tokens of the run's tokenizer; [tokenizers.md](tokenizers.md) describes how it is found.\n\n")
	b.WriteString("`--custom-dataset-type` (`format` of a dataset) names the format of a file. Without it, the format is detected: by a member `type` of the " +
		"first record with the name of a format, by the columns that you name (`--prompt-column`), or by the members of the first record. " +
		"If the format stays unclear, the error names the ways to read the file. " +
		"A named pipe is read once, while it is written, and needs the format. Files may be packed with gzip or zstd and may begin with a " +
		"byte order mark. Each format has examples in `examples/data`.\n\n" +
		"In files up to 4 MiB and inline records, all problems are reported before the first request; in larger files, an invalid " +
		"record ends the run when it is read. `--skip-bad-lines N` (`skipBadLines`) skips and counts up to N of them. " +
		"`aiperfd validate [FORMAT] FILE` checks a whole file without sending anything.\n\n")
	for _, k := range Kinds() {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", k.Name, k.Doc)
		if len(k.Fields) == 0 {
			continue
		}
		head := "option"
		if k.File {
			head = "member"
		}
		fmt.Fprintf(&b, "| %s | type | meaning |\n|---|---|---|\n", head)
		for _, f := range k.Fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, f.Type, f.Doc)
		}
		b.WriteByte('\n')
	}
	b.WriteString("## Corpora\n\n| corpus | texts |\n|---|---|\n")
	for _, c := range text.Corpora() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.Name, c.Doc)
	}
	b.WriteString("\n## Sampling\n\n| strategy | order |\n|---|---|\n")
	for _, s := range Samplings() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", s.Name, s.Doc)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write dataset docs: %w", err)
	}
	return nil
}
