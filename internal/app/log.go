package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/rs/zerolog"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/redact"
)

// openLog returns a logger that writes to the screen and to the log file of the
// run, without the secrets of the document. The caller must call its second
// result.
func openLog(d *config.Document, dir string, screen *terminal.Screen) (zerolog.Logger, func(), error) {
	level := map[string]zerolog.Level{
		"TRACE": zerolog.TraceLevel, "DEBUG": zerolog.DebugLevel, "INFO": zerolog.InfoLevel,
		"NOTICE": zerolog.InfoLevel, "SUCCESS": zerolog.InfoLevel, "WARNING": zerolog.WarnLevel,
		"ERROR": zerolog.ErrorLevel, "CRITICAL": zerolog.ErrorLevel,
	}[strings.ToUpper(d.Benchmark.Logging.Level)]
	name := export.NamesFor("").Log
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := durable.MkdirAll(dir, name); err != nil {
		return zerolog.Logger{}, nil, fmt.Errorf("make log folder: %w", err)
	}
	file, err := durable.Create(path, durable.Shared)
	if err != nil {
		return zerolog.Logger{}, nil, fmt.Errorf("open log: %w", err)
	}
	secrets := redact.NewSet(d.Secrets()...)
	lines := terminal.LogWriter(secrets.Writer(screen), "15:04:05.000", terminal.Colored(os.Stderr))
	lines.FieldsExclude = []string{"run"} // there is only one
	disk := terminal.LogWriter(secrets.Writer(&lossy{to: file, alarm: screen}), "2006-01-02 15:04:05.000", false)
	log := zerolog.New(zerolog.MultiLevelWriter(lines, disk)).Level(level).With().Timestamp().Logger()
	return log, func() { file.Close() }, nil
}

// lossy is the log file of a run. Lines that cannot be written are lost, and the screen
// says so once; zerolog would print a message for every line. It is safe for concurrent
// use if both writers are.
type lossy struct {
	to, alarm io.Writer
	failed    atomic.Bool
}

// Write implements io.Writer.
func (l *lossy) Write(line []byte) (int, error) {
	if _, err := l.to.Write(line); err != nil && !l.failed.Swap(true) {
		_, _ = fmt.Fprintf(l.alarm, "the log file lacks lines: %v\n", err) // nothing is left to report to
	}
	return len(line), nil
}
