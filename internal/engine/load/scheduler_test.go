package load

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// TestScheduler compares the decisions of a scheduler with transcripts. A line is
// "command => decision"; "phase" begins a new phase with the bounds that follow.
func TestScheduler(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("transcripts: %v, %v", files, err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(want))
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got); -update rewrites it:\n%s", name, diff)
			}
		})
	}
}

// replay returns a transcript with the decisions of a scheduler on its commands.
func replay(t *testing.T, transcript string) string {
	t.Helper()
	var out strings.Builder
	s := &scheduler{}
	for line := range strings.Lines(transcript) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "=>")
		command = strings.TrimSpace(command)
		if command == "" || command[0] == '#' {
			out.WriteString(line)
			continue
		}
		words := strings.Fields(command)
		if words[0] == "phase" {
			s = newScheduler(t, words[1:])
			fmt.Fprintln(&out, command)
			continue
		}
		fmt.Fprintf(&out, "%-14s => %s\n", command, execute(t, s, words))
	}
	return out.String()
}

// newScheduler makes a scheduler of words like "slots=2".
func newScheduler(t *testing.T, bounds []string) *scheduler {
	t.Helper()
	s := &scheduler{}
	for _, b := range bounds {
		var n int64
		name, value, _ := strings.Cut(b, "=")
		if _, err := fmt.Sscan(value, &n); err != nil {
			t.Fatalf("bound %q: %v", b, err)
		}
		switch name {
		case "slots":
			s.slots = int(n)
		case "requests":
			s.requests = n
		case "sessions":
			s.sessions = n
		default:
			t.Fatalf("unknown bound %q", b)
		}
	}
	return s
}

// execute performs a command and describes what it results in.
func execute(t *testing.T, s *scheduler, words []string) string {
	t.Helper()
	switch words[0] {
	case "arrive":
		due, err := time.ParseDuration(words[1])
		if err != nil {
			t.Fatal(err)
		}
		return describe(s, s.arrive(due))
	case "ended":
		return describe(s, s.ended())
	case "await":
		s.await()
		return "ok"
	case "slots":
		var n int
		if _, err := fmt.Sscan(words[1], &n); err != nil {
			t.Fatal(err)
		}
		return describe(s, s.raise(n))
	case "takeSlot":
		return fmt.Sprint(s.takeSlot())
	case "keepSlot":
		return fmt.Sprint(s.keepSlot())
	case "stop":
		s.stop()
		return "ok"
	case "startSession":
		return fmt.Sprint(s.startSession())
	case "continue":
		return fmt.Sprint(s.continueSession())
	case "progress":
		p := s.progress()
		return fmt.Sprintf("sent %d, started %d, backlog %d of at most %d", p.sent, p.started, p.backlog, p.backlogMax)
	}
	t.Fatalf("unknown command %q", words)
	return ""
}

// describe returns a decision and the backlog after it.
func describe(s *scheduler, d decision) string {
	text := [...]string{none: "none", drop: "drop", start: "start", proceed: "proceed", refuse: "refuse"}[d.action]
	if d.action == start || d.action == proceed {
		text += " " + d.due.String()
	}
	if len(s.backlog) > 0 {
		text += fmt.Sprintf(", backlog %v", s.backlog)
	}
	if d.finished {
		text += ", finished"
	}
	return text
}

// A session that was drawn before the dataset ran dry may still start.
func TestLastSession(t *testing.T) {
	s := scheduler{requests: 5}
	if !s.startSession() {
		t.Fatal("the first session was refused")
	}
	s.runDry(false)
	if !s.closed() || !s.startSession() || s.started != 2 {
		t.Errorf("closed %t, %d sessions started; want 2", s.closed(), s.started)
	}
}
