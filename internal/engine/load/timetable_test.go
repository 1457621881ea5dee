package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// TestTimetables compares the places that sessions get with transcripts. "users" and
// "replay" begin a timetable; "place" draws a session for it.
func TestTimetables(t *testing.T) {
	compareTranscripts(t, "testdata/timetable/*.txt", placeAll)
}

// placeAll returns a transcript with the places of its sessions.
func placeAll(t *testing.T, transcript string) string {
	t.Helper()
	var out strings.Builder
	var table timetable
	for line := range strings.Lines(transcript) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "=>")
		command = strings.TrimSpace(command)
		if command == "" || command[0] == '#' {
			out.WriteString(line)
			continue
		}
		words := strings.Fields(command)
		o := readTimetable(t, words[1:])
		switch words[0] {
		case "users":
			u := &userTimes{users: &o.users}
			u.beginHistory(float64(o.turns))
			table = u
			fmt.Fprintln(&out, command)
		case "replay":
			table = newReplayTimes(&o.replay, &spec.Sessions{Speedup: o.speedup})
			fmt.Fprintln(&out, command)
		case "place":
			c := &bench.Conversation{ID: "c", Turns: make([]bench.Turn, max(0, o.turns))}
			if o.turns < 0 {
				c.Turns = []bench.Turn{{At: o.at, Timed: true}}
			}
			fmt.Fprintf(&out, "%-14s => %s\n", command, describePlace(table, c))
		default:
			t.Fatalf("unknown command %q", command)
		}
	}
	return out.String()
}

// timetableWords are the words of a command.
type timetableWords struct {
	users   spec.Users
	replay  spec.Replay
	speedup float64
	turns   int // -1 = not given
	at      time.Duration
}

func readTimetable(t *testing.T, words []string) (o timetableWords) {
	t.Helper()
	o.turns, o.replay.End = -1, -1
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "count":
			_, err = fmt.Sscan(value, &o.users.Count)
		case "rate":
			_, err = fmt.Sscan(value, &o.users.Rate)
			o.users.Gap = time.Duration(float64(o.users.Count) / o.users.Rate * float64(time.Second))
		case "onCompletion":
			o.users.OnCompletion = true
		case "turns":
			_, err = fmt.Sscan(value, &o.turns)
		case "auto":
			o.replay.Auto = true
		case "start":
			o.replay.Start, err = time.ParseDuration(value)
		case "end":
			o.replay.End, err = time.ParseDuration(value)
		case "speedup":
			_, err = fmt.Sscan(value, &o.speedup)
		case "at":
			o.at, err = time.ParseDuration(value)
		default:
			t.Fatalf("unknown word %q", word)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// describePlace returns the place that the session of a conversation gets.
func describePlace(table timetable, c *bench.Conversation) string {
	p, in, err := table.place(c)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case !in:
		return "outside"
	}
	text := fmt.Sprintf("due %v", p.offset)
	if p.turns > 0 {
		text += fmt.Sprintf(", %d of %d turns", p.turns, len(c.Turns))
	}
	if p.id != "" {
		text += fmt.Sprintf(", zero %v, %s", p.zero, p.id)
	}
	return text
}
