package terminal

import (
	"io"
	"os"
	"slices"
	"unicode/utf8"

	"aiperfd/internal/view"
)

// Plain returns a writer for text of unknown origin, without styles: if w is a terminal,
// nothing that controls it reaches it ([view.PrintableLines]). Files and pipes get the text as it is.
func Plain(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && IsTerminal(f) {
		return &plain{out: w}
	}
	return w
}

// plain is the writer of [Plain].
type plain struct {
	out     io.Writer
	pending []byte // the beginning of a character
}

// Write implements io.Writer.
func (p *plain) Write(b []byte) (int, error) {
	all := slices.Concat(p.pending, b)
	whole := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if at := len(all) - back; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				whole = at
			}
			break
		}
	}
	p.pending = append([]byte(nil), all[whole:]...)
	if _, err := io.WriteString(p.out, view.PrintableLines(string(all[:whole]))); err != nil {
		return 0, err
	}
	return len(b), nil
}
