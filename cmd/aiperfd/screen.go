package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"aiperfd/internal/engine/export"
)

// screen is a terminal with a status of a few lines at its foot. What is written
// scrolls past above the status. Without a terminal nothing is broken or redrawn.
// It is safe for concurrent use.
type screen struct {
	out   io.Writer
	width func() int // columns; 0 = not known

	mu     sync.Mutex
	status []string // guarded by mu; as drawn
}

var _ io.Writer = (*screen)(nil)

// Write prints whole lines above the status. Long ones are broken at blanks.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	s.erase(&b)
	for line := range strings.SplitSeq(strings.TrimSuffix(string(p), "\n"), "\n") {
		b.WriteString(s.breakLine(line) + "\n")
	}
	s.draw(&b)
	if _, err := s.out.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// show replaces the status; none removes it. Lines must fit the terminal.
func (s *screen) show(status ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	s.erase(&b)
	s.status = status
	s.draw(&b)
	_, err := s.out.Write(b.Bytes())
	return err
}

// breakLine breaks a line that is wider than the terminal; what follows is
// indented. A word that is wider stays whole.
func (s *screen) breakLine(line string) string {
	const indent = "    "
	width := s.width()
	if width == 0 || export.TextWidth(line) <= width {
		return line
	}
	var b strings.Builder
	used := 0
	for i, word := range strings.Split(line, " ") {
		w := export.TextWidth(word)
		switch {
		case i == 0:
		case used+1+w > width:
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += w
	}
	return b.String()
}

// erase goes back over the status. A terminal that has become narrower shows
// its lines on several rows.
func (s *screen) erase(b *bytes.Buffer) {
	rows, width := 0, s.width()
	for _, line := range s.status {
		rows++
		if w := export.TextWidth(line); width > 0 && w > width {
			rows += (w - 1) / width
		}
	}
	if rows > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA\x1b[J", rows)
	}
}

func (s *screen) draw(b *bytes.Buffer) {
	if len(s.status) > 0 {
		b.WriteString(strings.Join(s.status, "\n") + "\n")
	}
}
