package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/regular"
)

// The files of a log. Their names start with a dot because they are not artifacts for
// users. When the current one is full, it replaces the older one.
const (
	currentLog = ".log.jsonl"
	olderLog   = ".log.1.jsonl"
)

// maxLog bounds each file, and maxLogLine a line, in bytes.
const (
	maxLog     = 512 << 10
	maxLogLine = 8 << 10
)

// LogLine is one line of a log.
type LogLine struct {
	Seq     int64          `json:"seq"` // increases by one from line to line
	Time    time.Time      `json:"time"`
	Level   string         `json:"level"` // one of [Levels]
	Message string         `json:"message"`
	Fields  map[string]any `json:"fields,omitempty"` // what else is known
} // @name runlog.Line

// Levels returns the levels of logs, the least important first.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

// Log keeps the log of a run in its folder: lines of JSON, the newest of them up to a bound, without
// secrets. A nil Log writes nothing. It is safe for concurrent use.
type Log struct {
	dir     string
	secrets *redact.Set

	mu  sync.Mutex
	seq int64 // guarded by mu; of the last line; 0 = the files were not read
}

// NewLog returns the log in the folder of a run, which may have lines of an earlier process.
// The folder need not exist before the first line.
func NewLog(dir string, secrets *redact.Set) *Log { return &Log{dir: dir, secrets: secrets} }

// Clear removes the lines of another run in the folder.
func (l *Log) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return
	}
	defer root.Close()
	_, _ = root.Remove(olderLog), root.Remove(currentLog) // mostly they do not exist
	l.seq = 0
}

// Add writes a line, of which it owns the fields. A line that cannot be written is lost,
// which must not stop a run.
func (l *Log) Add(level, message string, fields map[string]any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var before []byte
	if l.seq == 0 {
		l.seq = l.last()
		before = []byte("\n") // the last line of an earlier process may be torn
	}
	l.seq++
	for name, v := range fields {
		if text, ok := v.(string); ok {
			fields[name] = l.secrets.String(text)
		}
	}
	line := LogLine{Seq: l.seq, Time: time.Now().UTC(), Level: level, Message: l.secrets.String(message), Fields: fields}
	data, err := plainjson.Marshal(line)
	if err != nil || len(data) > maxLogLine {
		line.Message, line.Fields = line.Message[:min(len(line.Message), maxLogLine/4)]+" …", nil
		if data, err = plainjson.Marshal(line); err != nil {
			return
		}
	}
	_ = l.write(append(append(before, bytes.TrimSpace(l.secrets.JSON(data))...), '\n'))
}

// last returns the number of the last line of an earlier process.
func (l *Log) last() (seq int64) {
	_ = readLog(l.dir, func(line *LogLine) error {
		seq = max(seq, line.Seq)
		return nil
	})
	return seq
}

// write appends to the current file. The folder may be one of the user's: a link in it is
// not followed out of it, and what is not a regular file is replaced.
func (l *Log) write(data []byte) error {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(currentLog)
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = root.Remove(currentLog)
	case err == nil && info.Size()+int64(len(data)) > maxLog:
		err = root.Rename(currentLog, olderLog)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return err
	}
	file, err := root.OpenFile(currentLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, durable.Shared)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// readLog calls each for the lines of the log in a folder, the oldest first. Without a log
// there are none. What is no line, because the process died while it was written, is left
// out. An error of each ends the reading.
func readLog(dir string, each func(*LogLine) error) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer root.Close()
	seen := int64(0)
	for _, name := range []string{olderLog, currentLog} {
		file, err := regular.OpenIn(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		err = readLogFile(file, func(line *LogLine) error {
			if line.Seq <= seen { // the files were exchanged in between
				return nil
			}
			seen = line.Seq
			return each(line)
		})
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// readLogFile calls each for the lines of a file.
func readLogFile(file io.Reader, each func(*LogLine) error) error {
	in := bufio.NewScanner(io.LimitReader(file, 2*maxLog))
	in.Buffer(nil, 4*maxLogLine)
	for in.Scan() {
		line := new(LogLine)
		if json.Unmarshal(in.Bytes(), line) != nil || line.Seq == 0 {
			continue
		}
		if err := each(line); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("read log: %w", err)
	}
	return nil
}

// Tee returns a logger whose lines go to the log of a run, with their fields, and to
// another logger, with fields that name the run.
func (l *Log) Tee(to zerolog.Logger) zerolog.Logger {
	return zerolog.New(tee{l, to}).Level(zerolog.DebugLevel)
}

// tee is the writer of a logger.
type tee struct {
	log *Log
	to  zerolog.Logger
}

var _ zerolog.LevelWriter = tee{}

// Write implements io.Writer.
func (t tee) Write(line []byte) (int, error) { return t.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel implements [zerolog.LevelWriter].
func (t tee) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return 0, fmt.Errorf("log: %w", err)
	}
	message, _ := fields[zerolog.MessageFieldName].(string)
	delete(fields, zerolog.MessageFieldName)
	delete(fields, zerolog.LevelFieldName)
	t.to.WithLevel(level).Fields(fields).Msg(message)
	t.log.Add(levelName(level), message, fields)
	return len(line), nil
}

// levelName returns the name of a level.
func levelName(level zerolog.Level) string {
	switch {
	case level <= zerolog.DebugLevel:
		return "debug"
	case level == zerolog.WarnLevel:
		return "warn"
	case level >= zerolog.ErrorLevel && level <= zerolog.PanicLevel:
		return "error"
	}
	return "info"
}
