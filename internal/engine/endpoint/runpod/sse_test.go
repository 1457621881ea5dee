package runpod

import (
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/eventlog"

	"github.com/google/go-cmp/cmp"
)

// Text of a stream means the same however it is cut.
func TestFragmentsEveryCut(t *testing.T) {
	const stream = ": hi\r\n\r\nevent: x\ndata: a\ndata:b\n\ndata: c\r\rid: 7\n\ndata: é\n\ndata: [DONE]"
	type event struct{ Name, Data string }
	read := func(pieces ...string) (out []event) {
		var f sseReassembly
		put := func(e *eventlog.Event, isEvent bool) {
			if !isEvent {
				t.Errorf("text %q in a stream", e.Data)
			}
			out = append(out, event{e.Name, string(e.Data)})
		}
		for i, p := range pieces {
			f.add(time.Duration(i), int32(i), []byte(p), put)
		}
		f.end(put)
		return out
	}
	want := []event{{"x", "a\nb"}, {"", "c"}, {"", "é"}, {"", "[DONE]"}}
	for cut := range stream {
		if diff := cmp.Diff(want, read(stream[:cut], stream[cut:])); diff != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", cut, diff)
		}
	}
	if diff := cmp.Diff(want, read(strings.Split(stream, "")...)); diff != "" {
		t.Errorf("letter by letter (-want +got):\n%s", diff)
	}
}
