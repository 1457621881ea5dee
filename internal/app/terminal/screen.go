package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"aiperfd/internal/view"
)

// Screen is a terminal with a status of a few lines at the bottom. Text that is
// written to it scrolls above the status. If its width is not known, lines are
// not wrapped. It is safe for concurrent use.
type Screen struct {
	out   io.Writer
	width func() int // columns; 0 = not known

	mu     sync.Mutex
	status []string  // guarded by mu; as drawn
	divert io.Writer // guarded by mu; nil = none
}

var _ io.Writer = (*Screen)(nil)

// NewScreen returns a screen that writes to out and has the width of the terminal
// f, if it is one.
func NewScreen(out io.Writer, f *os.File) *Screen {
	return &Screen{out: out, width: func() int { return Columns(f) }}
}

// Divert sends what is written to another writer, which must not block, while something
// else uses the terminal; nil ends this.
func (s *Screen) Divert(to io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.divert = to
}

// Write prints whole lines above the status. Long lines are wrapped at blanks.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.divert != nil {
		return s.divert.Write(p)
	}
	var b bytes.Buffer
	s.erase(&b)
	for line := range strings.SplitSeq(strings.TrimSuffix(string(p), "\n"), "\n") {
		b.WriteString(s.wrap(line) + "\n")
	}
	s.draw(&b)
	if _, err := s.out.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Show replaces the status; without arguments it removes it. Lines must fit the terminal.
func (s *Screen) Show(status ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.divert != nil {
		return nil
	}
	var b bytes.Buffer
	s.erase(&b)
	s.status = status
	s.draw(&b)
	_, err := s.out.Write(b.Bytes())
	return err
}

// wrap breaks a line that is wider than the terminal; the rows after the first are
// indented. A word is never split, nor is a name with its number: two blanks stand between
// these, as in "TTFT p99 24.0 ms  latency p99 118 ms".
func (s *Screen) wrap(line string) string {
	width := s.width()
	if width == 0 || view.Width(line) <= width {
		return line
	}
	var words []string
	for i, part := range strings.Split(line, "  ") {
		if i > 0 {
			words = append(words, "") // a second blank
		}
		if view.Width(part) <= width/2 {
			words = append(words, part)
		} else {
			words = append(words, strings.Split(part, " ")...)
		}
	}
	return view.Hang(words, width, "\n    ")
}

// erase removes the status. A terminal that has become narrower shows its lines
// on several rows.
func (s *Screen) erase(b *bytes.Buffer) {
	rows, width := 0, s.width()
	for _, line := range s.status {
		rows++
		if w := view.Width(line); width > 0 && w > width {
			rows += (w - 1) / width
		}
	}
	if rows > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA\x1b[J", rows)
	}
}

func (s *Screen) draw(b *bytes.Buffer) {
	if len(s.status) > 0 {
		b.WriteString(strings.Join(s.status, "\n") + "\n")
	}
}
