// Package terminal draws on terminals and writes lines where there is none: the progress of a run,
// log lines, results. It knows what a terminal can display; package view has the numbers and tables.
package terminal

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"aiperfd/internal/view"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Colored reports whether output to f should have colours (see no-color.org).
func Colored(f *os.File) bool { return IsTerminal(f) && colorWanted(os.Getenv) }

// colorWanted reports whether the environment allows colours on a terminal.
func colorWanted(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// Redrawable reports whether lines that were written to f can be replaced.
func Redrawable(f *os.File) bool { return IsTerminal(f) && os.Getenv("TERM") != "dumb" }

// ASCIIOnly reports whether the locale has no UTF-8: the first of LC_ALL,
// LC_CTYPE and LANG that is set decides (POSIX 8.2), and none is the C locale.
func ASCIIOnly(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return !strings.Contains(strings.ReplaceAll(locale, "-", ""), "utf8")
		}
	}
	return runtime.GOOS != "windows" // consoles there have no locale variables
}

// Columns returns the width of the terminal f, 0 if it is none.
func Columns(f *os.File) int {
	width, _ := Size(f)
	return width
}

// Size returns the columns and lines of the terminal f, 0 if it is none.
func Size(f *os.File) (columns, lines int) {
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

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

// NewLogger returns a logger that writes lines for people.
func NewLogger(out *os.File, level zerolog.Level, color bool) zerolog.Logger {
	return zerolog.New(LogWriter(out, "15:04:05.000", color)).Level(level).With().Timestamp().Logger()
}

// NewJSONLogger returns a logger that writes one JSON object per line, for programs. Times
// are RFC 3339 in UTC, durations are milliseconds.
func NewJSONLogger(out io.Writer, level zerolog.Level) zerolog.Logger {
	return zerolog.New(out).Level(level).Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		e.Str(zerolog.TimestampFieldName, time.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	}))
}

// LogWriter formats log lines for people. Control characters are removed from
// messages, because they may quote a server. zerolog quotes all other fields.
func LogWriter(out io.Writer, times string, color bool) zerolog.ConsoleWriter {
	return zerolog.ConsoleWriter{
		Out: out, TimeFormat: times, NoColor: !color,
		FormatPrepare: func(fields map[string]any) error {
			if text, ok := fields[zerolog.MessageFieldName].(string); ok {
				fields[zerolog.MessageFieldName] = view.Printable(text)
			}
			return nil
		},
	}
}

// PrintError writes an error as the last line of a command. Control characters
// are removed, because the error may quote a server.
func PrintError(w io.Writer, err error) {
	fmt.Fprintln(NewScreen(w, os.Stderr), "aiperfd:", view.PrintableLines(err.Error()))
}
