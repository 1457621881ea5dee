package frame

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aiperfd/internal/engine/bench"
)

// TestMatchEvent checks that events that match a template are the same as those that
// are parsed line by line.
func TestMatchEvent(t *testing.T) {
	var events, lines strings.Builder
	for i := range 3 {
		fmt.Fprintf(&events, "data: {\"a\":\"%d\"}\n\n", i)
		fmt.Fprintf(&lines, "{\"a\":\"%d\"}\n", i)
	}
	three := events.String()
	ndjson := Head{Status: 200, ContentType: "application/x-ndjson"}
	const open = "1ns #1 \"{\\\"a\\\":\\\"0\\\"}\"\n1ns #1 \"{\\\"a\\\":\\\"1\\\"}\"\n1ns #1 \"{\\\"a\\\":\\\"2\\\"}\"\n"
	for _, tt := range []struct {
		name  string
		head  Head
		reads []in
		want  string
	}{
		{"CRLF", stream, []in{{1, strings.ReplaceAll(three, "\n", "\r\n")}}, open + "framing 2"},
		{"CR", stream, []in{{1, strings.ReplaceAll(three, "\n", "\r")}}, open + "framing 2"},
		{"no blank after the colon", stream, []in{{1, strings.ReplaceAll(three, "data: ", "data:")}}, open + "framing 2"},
		{"two blanks", stream, []in{{1, three}, {2, "data:  {\"a\":\"x\"}\n\n"}}, open + "2ns #2 \" {\\\"a\\\":\\\"x\\\"}\"\nframing 2"},
		{"the marker", stream, []in{{1, three + "data: [DONE]\n\n" + three}}, open + "framing 2 done map[data_after_done:3]"},
		{"comments between", stream, []in{{1, strings.ReplaceAll(three, "data", ": x\ndata")}}, open + "framing 2"},
		{"ids between", stream, []in{{1, strings.ReplaceAll(three, "data", "id: 1\ndata")}}, open + "framing 2"},
		{
			"names", stream, []in{{1, strings.ReplaceAll(three, "data", "event: e\ndata")}, {2, "data: {\"a\":\"x\"}\n\n"}},
			strings.ReplaceAll(open, "#1 ", "#1 e ") + "2ns #2 \"{\\\"a\\\":\\\"x\\\"}\"\nframing 2",
		},
		{
			"a second data line", stream, []in{{1, three}, {2, "data: {\"a\":\"x\"}\ndata: y\n\n"}},
			open + "2ns #2 \"{\\\"a\\\":\\\"x\\\"}\\ny\"\nframing 2",
		},
		{
			"one line end at the end of a read", stream, []in{{1, three}, {2, "data: {\"a\":\"x\"}\n"}, {3, "\n"}},
			open + "3ns #3 \"{\\\"a\\\":\\\"x\\\"}\"\nframing 2",
		},
		{
			"an error event", stream, []in{{1, three}, {2, "event: error\ndata: {\"a\":\"x\"}\n\n" + three}},
			open + "2ns #2 error \"{\\\"a\\\":\\\"x\\\"}\"\nframing 2",
		},
		{
			"an error that looks like the others", stream, []in{{1, "data: {\"error\":\"\"}\n\ndata: {\"error\":\"\"}\n\ndata: {\"error\":\"x\"}\n\ndata: {\"error\":\"\"}\n\n"}},
			"1ns #1 \"{\\\"error\\\":\\\"\\\"}\"\n1ns #1 \"{\\\"error\\\":\\\"\\\"}\"\n1ns #1 \"{\\\"error\\\":\\\"x\\\"}\"\nframing 2",
		},
		{"lines", ndjson, []in{{1, lines.String()}}, open + "framing 3"},
		{
			"lines with blanks and without end", ndjson, []in{{1, lines.String()}, {2, "\n {\"a\":\"x\"}\t\r\n{\"a\":"}, {3, "\"y\"}"}},
			open + "2ns #2 \"{\\\"a\\\":\\\"x\\\"}\"\n3ns #3 \"{\\\"a\\\":\\\"y\\\"}\"\nframing 3",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(cut(tt.head, bench.EndEOF, tt.reads...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMatchEventLimits checks that the limits apply to the received size of events.
func TestMatchEventLimits(t *testing.T) {
	event := func(i int) string { return fmt.Sprintf("data: {\"a\":\"%07d\"}\n\n", i) } // 15 bytes of data in a line of 21
	for _, tt := range []struct {
		name   string
		head   Head
		shrink func(*Framer)
		want   string
		events int
	}{
		{"count", stream, func(f *Framer) { f.maxEvents = 5 }, "event_count", 5},
		{"all", stream, func(f *Framer) { f.limit = 5*15 + 20 }, "body_size", 5},
		{"all, just so", stream, func(f *Framer) { f.limit = 5*15 + 21 }, "body_size", 6},
		{"each", stream, func(f *Framer) { f.maxEvent = 20 }, "event_size", 0},
		{"each, just so", stream, func(f *Framer) { f.maxEvent = 21 }, "", 20},
		{"count of lines", Head{Status: 200, ContentType: "application/jsonl"}, func(f *Framer) { f.maxEvents = 5 }, "event_count", 5},
	} {
		for _, split := range []bool{false, true} {
			var f Framer
			f.Reset(tt.head)
			tt.shrink(&f)
			for i := range 20 {
				data := event(i)
				if tt.head != stream {
					data = strings.Trim(data, "dat: \n") + "\n"
				}
				if half := len(data) / 2; split {
					f.Feed(1, []byte(data[:half]))
					data = data[half:]
				}
				f.Feed(1, []byte(data))
			}
			f.Finish(2, bench.EndAborted)
			got := ""
			if f.Err() != nil {
				got = f.Err().Code
			}
			if n := f.Response().Events.Len(); got != tt.want || n != tt.events {
				t.Errorf("%s, split %v: failure %q after %d events, want %q after %d", tt.name, split, got, n, tt.want, tt.events)
			}
		}
	}
}

// TestMatchEventTooLarge checks an event that matches a template and is too large.
func TestMatchEventTooLarge(t *testing.T) {
	for extra, want := range map[int]int{0: 3, 1: 2} {
		var f Framer
		f.Reset(stream)
		f.maxEvent = 100
		for _, n := range []int{1, 2, 100 - len(`data: {"a":""}`) + extra} {
			f.Feed(1, []byte(`data: {"a":"`+strings.Repeat("x", n)+"\"}\n\n"))
		}
		if got := f.Response().Events.Len(); got != want || (f.Err() == nil) != (extra == 0) {
			t.Errorf("%d bytes over the limit: %d events and failure %v, want %d", extra, got, f.Err(), want)
		}
	}
}

// naive splits a complete stream into events according to the standard, in the
// simplest way.
func naive(body string) []string {
	body = strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(body, bom), "\r\n", "\n"), "\r", "\n")
	var events, data []string
	name := ""
	for line := range strings.SplitSeq(body, "\n") {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			whole := strings.Join(data, "\n")
			if strings.Trim(whole, space) == "[DONE]" {
				return events
			}
			if strings.Trim(whole, space) != "" || name == "error" {
				events = append(events, name+"|"+whole)
			}
			if name == "error" || isError([]byte(whole)) {
				return events
			}
			name, data = "", nil
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		}
	}
	return events
}

// TestNaive compares random streams of similar events, split into random reads, with
// naive.
func TestNaive(t *testing.T) {
	fields := []string{
		"data: {\"a\":\"%\"}", "data: {\"a\":\"%\",\"b\":[\"%\"]}", "data:{\"error\":\"%\"}", "event: %", "data: [DONE]", ": %", "id: %",
		"data: {\"%\":\"x\"}", "data", "event: error",
	}
	values := []string{"", "x", "a b", `\"`, `\`, `"`, "é", "error", "\xff", "1", `{"`}
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end")
		used := rapid.SliceOfN(rapid.SampledFrom(fields), 1, 4).Draw(t, "fields")
		var b strings.Builder
		for range rapid.IntRange(1, 30).Draw(t, "lines") {
			for part := range strings.SplitSeq(rapid.SampledFrom(used).Draw(t, "field"), "%") {
				b.WriteString(part)
				b.WriteString(rapid.SampledFrom(values).Draw(t, "value"))
			}
			b.WriteString(strings.Repeat(end, rapid.SampledFrom([]int{1, 2, 2, 2, 3}).Draw(t, "ends")))
		}
		body := b.String() + end + end
		var f Framer
		f.Reset(stream)
		for rest := body; rest != ""; {
			n := min(len(rest), rapid.SampledFrom([]int{1, 7, 40, 1000}).Draw(t, "read"))
			f.Feed(1, []byte(rest[:n]))
			rest = rest[n:]
		}
		f.Finish(2, bench.EndEOF)
		var got []string
		if f.warned.repaired > 0 {
			t.Skip("a repaired event")
		}
		for e := range f.Response().Events.All() {
			got = append(got, e.Name+"|"+string(e.Data))
		}
		if diff := cmp.Diff(naive(body), got); diff != "" {
			t.Fatalf("%q (-naive +framed):\n%s", body, diff)
		}
	})
}

// TestStreamMemory checks that a Framer stores only a fraction of a long stream.
func TestStreamMemory(t *testing.T) {
	const limit = 16 << 10
	var f Framer
	f.Reset(stream)
	total := 0
	for i := range 600 {
		event := fmt.Sprintf(`data: {"id":"chatcmpl-%s","choices":[{"index":0,"delta":{"content":" w%d"},"finish_reason":null}]}`+"\n\n", strings.Repeat("0", 200), i)
		half := len(event) / 2
		total += len(event)
		f.Feed(time.Duration(2*i)*ms, []byte(event[:half]))
		f.Feed(time.Duration(2*i+1)*ms, []byte(event[half:]))
	}
	if got := f.resp.Events.Size() + cap(f.arena) + cap(f.sse.line); got > limit {
		t.Errorf("%d bytes kept of %d, want at most %d", got, total, limit)
	}
}
