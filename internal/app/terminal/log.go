package terminal

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/view"
)

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
