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
// not ask for it.
func (f *Files) ServerMetricsLines() (io.WriteCloser, error) {
	if !slices.Contains(f.plan.ServerMetrics.Formats, "jsonl") {
		return nil, nil //nolint:nilnil // there is none, and nothing is wrong
	}
	name := export.NamesFor(f.plan.Files.Layout.Prefix).ServerMetrics + ".jsonl"
	file, err := os.Create(filepath.Join(f.values.dir, name))
	if err != nil {
		return nil, err
	}
	return &serverLines{whole: whole{file: file}, file: file, disk: f.disk}, nil
}

// DeviceLines creates the file with one line per device and reading; it is written from the first reading on.
func (f *Files) DeviceLines() io.WriteCloser {
	return &lateLines{path: filepath.Join(f.values.dir, export.NamesFor(f.plan.Files.Layout.Prefix).Devices), disk: f.disk}
}

// ServerSpanLines creates the file with one line per request of which a server sent a span; it is written from the
// first one on.
func (f *Files) ServerSpanLines() io.WriteCloser {
	return &lateLines{path: filepath.Join(f.values.dir, export.NamesFor(f.plan.Files.Layout.Prefix).ServerSpans), disk: f.disk}
}

// NetworkLines creates the file with one line per probe of the way to a server; it is written from the first probe on.
func (f *Files) NetworkLines() io.WriteCloser {
	return &lateLines{path: filepath.Join(f.values.dir, export.NamesFor(f.plan.Files.Layout.Prefix).Network), disk: f.disk}
}

// lateLines is a file that is created by the first line.
type lateLines struct {
	path string
	disk *disk
	to   *serverLines
}

// Write implements io.Writer.
func (l *lateLines) Write(b []byte) (int, error) {
	if l.to == nil {
		file, err := os.Create(l.path)
		if err != nil {
			return 0, err
		}
		l.to = &serverLines{whole: whole{file: file}, file: file, disk: l.disk}
	}
	return l.to.Write(b)
}

// Close implements io.Closer.
func (l *lateLines) Close() error {
	if l.to == nil {
		return nil
	}
	return l.to.Close()
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
