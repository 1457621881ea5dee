package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine/redact"
)

// linesIn returns the lines of a log, without their times.
func linesIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := readLog(dir, func(line *LogLine) error {
		text := fmt.Sprintf("%d %s %s", line.Seq, line.Level, line.Message)
		for name, v := range line.Fields {
			text += fmt.Sprintf(" %s=%v", name, v)
		}
		out = append(out, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLog(t *testing.T) {
	dir := t.TempDir()
	secrets := redact.NewSet(`pass"word-1234`)
	l := NewLog(dir, secrets)
	var out bytes.Buffer
	log := l.Tee(zerolog.New(&out).Level(zerolog.InfoLevel).With().Str("run", "r1").Logger())
	log.Info().Str("phase", "warmup").Msg("begins")
	log.Debug().Msg("small")
	log.Error().Msg(`no access with pass"word-1234`)
	l.Add("warn", "slow", map[string]any{"code": `pass"word-1234`, "list": []string{`x pass"word-1234 y`}})
	again := NewLog(dir, secrets) // of the next process
	again.Add("info", "recovered", nil)
	want := []string{
		"1 info begins phase=warmup", "2 debug small", "3 error no access with <redacted>",
		"4 warn slow code=<redacted> list=[x <redacted> y]", "5 info recovered",
	}
	got := linesIn(t, dir)
	if len(got) > 3 && strings.HasPrefix(got[3], "4 warn slow list") { // the order of fields is that of a map
		got[3] = want[3]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) != 3 || lines[0] != `{"level":"info","run":"r1","phase":"warmup","message":"begins"}` {
		t.Errorf("the other logger has %q", lines)
	}
	again.Clear()
	again.Add("info", "anew", nil)
	if diff := cmp.Diff([]string{"1 info anew"}, linesIn(t, dir)); diff != "" {
		t.Errorf("lines of the next run (-want +got):\n%s", diff)
	}
	var none *Log
	none.Add("info", "nowhere", nil)
}

// The log keeps the newest lines within its bound.
func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := NewLog(dir, redact.NewSet())
		const most = 10_000
		for i := range most {
			l.Add("info", strings.Repeat("x", 200)+fmt.Sprint(i), nil)
			time.Sleep(time.Second)
		}
		l.Add("info", strings.Repeat("long ", 10*maxLogLine), map[string]any{"more": 1})
		got := linesIn(t, dir)
		var size int64
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		if size > 2*maxLog || len(files) != 2 || len(got) < maxLog/300 {
			t.Errorf("%d files with %d bytes have %d lines", len(files), size, len(got))
		}
		for i := range got {
			if !strings.HasPrefix(got[i], fmt.Sprint(most+1-len(got)+i+1)+" ") {
				t.Fatalf("line %d of %d is %.30s", i, len(got), got[i])
			}
		}
		if last := got[len(got)-1]; !strings.HasSuffix(last, " …") || len(last) > maxLogLine {
			t.Errorf("a long line has %d bytes: …%q", len(last), last[max(0, len(last)-30):])
		}
	})
}

// What is not a log in the folder of a user is neither followed nor read.
func TestFolderOfUser(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	target := filepath.Join(outside, "file")
	if err := os.WriteFile(target, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, currentLog)); err != nil {
		t.Fatal(err)
	}
	l := NewLog(dir, redact.NewSet())
	l.Add("info", "first", nil)
	l.Add("info", "second", nil)
	if text, err := os.ReadFile(target); err != nil || string(text) != "keep" {
		t.Errorf("the file behind the link is %q, %v", text, err)
	}
	if diff := cmp.Diff([]string{"1 info first", "2 info second"}, linesIn(t, dir)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	file := filepath.Join(dir, currentLog)
	torn, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("\x00\x01\n{}\n"), torn[:len(torn)-5]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 info first"}, linesIn(t, dir)); diff != "" {
		t.Errorf("lines of a torn file (-want +got):\n%s", diff)
	}
	NewLog(dir, redact.NewSet()).Add("info", "after a crash", nil)
	if got := linesIn(t, dir); len(got) != 2 || !strings.HasSuffix(got[1], "info after a crash") {
		t.Errorf("lines after a crash: %q", got)
	}
	if got := linesIn(t, filepath.Join(dir, "missing")); got != nil {
		t.Errorf("a folder that does not exist has the lines %q", got)
	}
}

// Each line is valid JSON whatever it has.
func FuzzAdd(f *testing.F) {
	f.Add("text", "secret1")
	f.Add("a\xff\n\"", "\"")
	f.Fuzz(func(t *testing.T, message, secret string) {
		dir := t.TempDir()
		l := NewLog(dir, redact.NewSet(secret))
		l.Add("info", message, map[string]any{"field": message})
		data, err := os.ReadFile(filepath.Join(dir, currentLog))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(data) || bytes.Count(bytes.TrimSpace(data), []byte("\n")) != 0 {
			t.Errorf("message %q with the secret %q made %q", message, secret, data)
		}
	})
}
