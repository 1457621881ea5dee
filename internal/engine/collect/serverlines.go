package collect

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plan"
)

// Readings are the files of a run that have what was read of servers while it was performed.
type Readings struct {
	plan *plan.Plan
	dir  string
	disk *disk
}

// NewReadings returns the files of readings of a run that writes no other ones, and removes those that an earlier run
// in its folder has left.
func NewReadings(o *FileOptions) *Readings {
	names := export.NamesFor(o.Plan.Files.Layout.Prefix)
	removeReadings(o, &names)
	r := &Readings{plan: o.Plan, dir: o.Dir}
	if o.Reserve > 0 {
		r.disk = newDisk(o.Dir, o.Reserve, o.Alarm)
	}
	return r
}

// removeReadings removes the readings that an earlier run has left.
func removeReadings(o *FileOptions, n *export.Names) {
	removeUnread(o, n.ServerMetrics+".jsonl")
	removeUnread(o, n.Devices)
	removeUnread(o, n.ServerSpans)
	removeUnread(o, n.Network)
}

// ServerMetricsLines creates the file with one line per reading of the servers' metrics; nil = the plan does
// not ask for it.
func (r *Readings) ServerMetricsLines() (io.WriteCloser, error) {
	if !slices.Contains(r.plan.ServerMetrics.Formats, "jsonl") {
		return nil, nil //nolint:nilnil // there is none, and nothing is wrong
	}
	name := export.NamesFor(r.plan.Files.Layout.Prefix).ServerMetrics + ".jsonl"
	file, err := os.Create(filepath.Join(r.dir, name))
	if err != nil {
		return nil, err
	}
	return &serverLines{whole: whole{file: file}, file: file, disk: r.disk}, nil
}

// DeviceLines creates the file with one line per device and reading; it is written from the first reading on.
func (r *Readings) DeviceLines() io.WriteCloser {
	return &lateLines{path: filepath.Join(r.dir, export.NamesFor(r.plan.Files.Layout.Prefix).Devices), disk: r.disk}
}

// ServerSpanLines creates the file with one line per request of which a server sent a span; it is written from the
// first one on.
func (r *Readings) ServerSpanLines() io.WriteCloser {
	return &lateLines{path: filepath.Join(r.dir, export.NamesFor(r.plan.Files.Layout.Prefix).ServerSpans), disk: r.disk}
}

// NetworkLines creates the file with one line per probe of the way to a server; it is written from the first probe on.
func (r *Readings) NetworkLines() io.WriteCloser {
	return &lateLines{path: filepath.Join(r.dir, export.NamesFor(r.plan.Files.Layout.Prefix).Network), disk: r.disk}
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
