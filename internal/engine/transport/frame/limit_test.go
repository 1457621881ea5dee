package frame

import (
	"fmt"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
)

func TestLimits(t *testing.T) {
	lines := Head{Status: 200, ContentType: "application/x-ndjson"}
	document := Head{Status: 200, ContentType: "application/json"}
	for _, tt := range []struct {
		name   string
		head   Head
		shrink func(*Framer)
		first  string // fed once
		block  string // fed 20 times
		want   string
		events int // kept
	}{
		{"one event", stream, func(f *Framer) { f.maxEvent = 100 }, "data: 1\n\n", "data: 1\ndata: 2345", "event_too_large/event_size", 1},
		{"one event in many lines", stream, func(f *Framer) { f.maxEvent = 100 }, "data: 1\n\n", "data: 234567890\n", "event_too_large/event_size", 1},
		{"unknown lines of one event", stream, func(f *Framer) { f.maxEvent = 100 }, "data: 1\n\n", "data\nfoo: 67890\n", "event_too_large/event_size", 1},
		{"one line", lines, func(f *Framer) { f.maxEvent = 100 }, "{}\n", "{1234567890", "event_too_large/event_size", 1},
		{"all events", stream, func(f *Framer) { f.limit = 100 }, "", "data: 1234567890\n\n", "event_too_large/body_size", 9},
		{"all lines", lines, func(f *Framer) { f.limit = 100 }, "", "{}\n{}\n{}\n", "event_too_large/body_size", 33},
		{"a document", document, func(f *Framer) { f.limit = 100 }, "", "1234567890", "event_too_large/body_size", 0},
		{"events", stream, func(f *Framer) { f.maxEvents = 7 }, "", "data: 1\n\n", "event_too_large/event_count", 7},
		{"lines", lines, func(f *Framer) { f.maxEvents = 7 }, "", "{}\n", "event_too_large/event_count", 7},
		{"blank lines", stream, func(f *Framer) { f.maxEmpty = 15 }, "data: 1\n\n", "\n", "event_too_large/empty_lines", 1},
		{"events without data", stream, func(f *Framer) { f.maxEmpty = 15 }, "data: 1\n\n", "data:\n\n", "event_too_large/empty_lines", 1},
		{"comments", stream, func(f *Framer) { f.maxEmpty = 15 }, "data: 1\n\n", ": 1\n", "event_too_large/empty_lines", 1},
		{"comments between events", stream, func(f *Framer) { f.maxEmpty = 2 }, "", ": 1\n\ndata: 1\n\n", "", 20},
		{"events after the end", stream, func(f *Framer) { f.maxEmpty = 15 }, "data: [DONE]\n\n", "data: 1\n\n", "event_too_large/empty_lines", 0},
		{"comments are not kept", stream, func(f *Framer) { f.limit, f.maxEvent = 100, 100 }, "data: 1\n\n", ": 1234567890\n", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f Framer
			f.Reset(tt.head)
			tt.shrink(&f)
			f.Feed(1, []byte(tt.first))
			for range 20 {
				f.Feed(1, []byte(tt.block))
			}
			f.Finish(2, bench.EndAborted)
			got := ""
			if f.Err() != nil {
				got = fmt.Sprintf("%s/%s", f.Err().Class, f.Err().Code)
			}
			if got != tt.want || f.Done() != (tt.want != "") {
				t.Errorf("failure = %q, Done() = %v; want %q", got, f.Done(), tt.want)
			}
			r := f.Response()
			if r.Failure != f.Err() {
				t.Errorf("the response says %v", r.Failure)
			}
			if r.Events.Len() != tt.events {
				t.Errorf("%d events kept, want %d", r.Events.Len(), tt.events)
			}
			if f.total+len(f.arena) > 200 {
				t.Errorf("%d bytes kept", f.total+len(f.arena))
			}
		})
	}
	t.Run("error body", func(t *testing.T) {
		r := cut(Head{Status: 500}, bench.EndAborted, in{1, strings.Repeat("x", MaxErrorBody-1)}, in{2, "yz"}, in{3, "z"})
		if len(r.Body) != MaxErrorBody || r.Body[MaxErrorBody-1] != 'y' || r.Failure != nil {
			t.Errorf("kept %d bytes with failure %v, want %d", len(r.Body), r.Failure, MaxErrorBody)
		}
	})
}
