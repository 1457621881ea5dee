package collect

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"aiperfd/internal/engine/export"
)

// ServerMetricsLines creates the file with one line per reading of the servers' metrics; nil = the plan does
// not ask for it. A file that an earlier run has left is removed then.
func (f *Files) ServerMetricsLines() (io.WriteCloser, error) {
	name := export.NamesFor(f.plan.Files.Layout.Prefix).ServerMetrics + ".jsonl"
	path := filepath.Join(f.values.dir, name)
	if !slices.Contains(f.plan.ServerMetrics.Formats, "jsonl") {
		_ = os.Remove(path) // mostly it does not exist
		return nil, nil     //nolint:nilnil // there is none, and nothing is wrong
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &serverLines{whole: whole{file: file}, file: file, disk: f.disk}, nil
}

// serverLines is a file that stops before it fills the disk.
type serverLines struct {
	whole
	file *os.File
	disk *disk
	full bool
}

// Write implements io.Writer. Once the disk is nearly full, it discards.
func (l *serverLines) Write(b []byte) (int, error) {
	l.disk.look()
	l.full = l.full || l.disk != nil && l.disk.low.Load()
	if l.full {
		return len(b), nil
	}
	n, err := l.whole.Write(b)
	if l.disk.filled(l.file.Name(), err) {
		l.full = true
		return len(b), nil
	}
	return n, err
}

// Close implements io.Closer.
func (l *serverLines) Close() error {
	if l.full {
		return errors.Join(errors.New("the disk was nearly full"), l.file.Close())
	}
	return l.file.Close()
}
