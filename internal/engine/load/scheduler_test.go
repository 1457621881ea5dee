package load

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/load/spec"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// TestScheduler compares the decisions of a scheduler with transcripts. A line is
// "command => decision"; "phase" begins a new phase with the bounds that follow, and "next"
// one that overlaps with it, which is "earlier" from then on.
func TestScheduler(t *testing.T) {
	compareTranscripts(t, "testdata/*.txt", replay)
}

// compareTranscripts compares transcripts with those that a function makes of them.
func compareTranscripts(t *testing.T, pattern string, replay func(t *testing.T, transcript string) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
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
	s, earlier := &scheduler{}, &scheduler{}
	for line := range strings.Lines(transcript) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "=>")
		command = strings.TrimSpace(command)
		if command == "" || command[0] == '#' {
			out.WriteString(line)
			continue
		}
		words := strings.Fields(command)
		if words[0] == "phase" {
			s = schedulerOf(t, words[1:])
			fmt.Fprintln(&out, command)
			continue
		}
		var made string
		switch words[0] {
		case "next":
			earlier, s = s, schedulerOf(t, words[1:])
			made = fmt.Sprintf("inherits %d", s.inheritFrom(earlier))
		case "earlier":
			made = execute(t, earlier, words[1:])
			made += fmt.Sprintf("; frees %d slots, %d prefills", earlier.overlap.freed, earlier.fill.freed)
			earlier.overlap.freed, earlier.fill.freed = 0, 0
		default:
			made = execute(t, s, words)
		}
		fmt.Fprintf(&out, "%-14s => %s\n", command, made)
	}
	return out.String()
}

// schedulerOf makes a scheduler of words like "slots=2".
func schedulerOf(t *testing.T, bounds []string) *scheduler {
	t.Helper()
	s := &scheduler{}
	for _, b := range bounds {
		var n int64
		name, value, _ := strings.Cut(b, "=")
		if name == "saturation" {
			s.full.Saturation = spec.Saturation(slices.Index(spec.Saturations(), value))
			continue
		}
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
		case "limit":
			s.full.Limit = int(n)
		case "late":
			s.late = n == 1
		case "prefill":
			s.fill.limit = int(n)
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
		return describe(s, s.sessionEnded())
	case "await":
		s.queueContinuation()
		return "ok"
	case "slots":
		var n int
		if _, err := fmt.Sscan(words[1], &n); err != nil {
			t.Fatal(err)
		}
		return describe(s, s.raiseSlots(n))
	case "takeSlot":
		return fmt.Sprint(s.takeSlot())
	case "keepSlot":
		return fmt.Sprint(s.keepSlot())
	case "inheritSlot":
		if !s.endInherited() {
			return "not needed"
		}
		return describe(s, s.sessionEnded())
	case "inheritFill":
		return fmt.Sprint(s.fill.endInherited(s.fill.limit > 0))
	case "requestFill":
		return fmt.Sprint(s.fill.request())
	case "endFill":
		s.fill.end()
		return describeFills(s)
	case "limitFills":
		if _, err := fmt.Sscan(words[1], &s.fill.limit); err != nil {
			t.Fatal(err)
		}
		return describeFills(s)
	case "withdraw":
		s.withdrawRequest()
		return "ok"
	case "stop":
		s.stop()
		return "ok"
	case "expire":
		s.expire()
		return "ok"
	case "startSession":
		return fmt.Sprint(s.startSession())
	case "continue":
		return fmt.Sprint(s.continueSession())
	case "progress":
		p := s.progress()
		text := fmt.Sprintf("sent %d, started %d, backlog %d of at most %d", p.sent, p.started, p.backlog, p.backlogMax)
		if p.rejected > 0 {
			text += fmt.Sprintf(", %d rejected", p.rejected)
		}
		if p.queued > 0 {
			text += fmt.Sprintf(", %d queued", p.queued)
		}
		return text
	}
	t.Fatalf("unknown command %q", words)
	return ""
}

// describeFills lets the requests go on that wait for the limit of prefills, and returns how
// many these are.
func describeFills(s *scheduler) string {
	n := 0
	for s.fill.admit() {
		n++
	}
	return fmt.Sprintf("%d go on, %d without content, %d wait", n, s.fill.now, s.fill.queued)
}

// describe returns a decision and the backlog after it.
func describe(s *scheduler, d decision) string {
	text := [...]string{none: "none", drop: "drop", reject: "reject", abort: "abort", start: "start", proceed: "proceed", refuse: "refuse"}[d.action]
	if d.action == start || d.action == proceed {
		text += " " + d.due.String()
	}
	if d.waited {
		text += " after a wait"
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
