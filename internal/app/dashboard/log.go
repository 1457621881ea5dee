package dashboard

import (
	"slices"
	"strings"
	"sync"
)

// maxLog is the number of lines of the log that are kept.
const maxLog = 1000

// tail keeps the last lines that were written. The zero value is empty. It is safe for
// concurrent use.
type tail struct {
	mu      sync.Mutex
	lines   []string // guarded by mu
	dropped int      // guarded by mu
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, strings.Split(strings.TrimSuffix(string(p), "\n"), "\n")...)
	if n := len(t.lines) - maxLog; n > 0 {
		t.dropped += n
		t.lines = slices.Delete(t.lines, 0, n)
	}
	return len(p), nil
}

// all returns the lines that are kept, and how many are not.
func (t *tail) all() (lines []string, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines), t.dropped
}
