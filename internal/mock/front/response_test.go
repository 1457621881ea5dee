package front

import (
	"net/http"
	"testing"
)

// TestResponseAllocations: an event on the wire allocates nothing.
func TestResponseAllocations(t *testing.T) {
	sent := 0
	w := responseWriter{
		send: func(b []byte) error { sent += len(b); return nil },
		now:  func() int64 { return 0 }, last: func() bool { return false },
	}
	w.WriteHeader(http.StatusOK)
	event := []byte(`data: {"x":1}` + "\n\n")
	if n := testing.AllocsPerRun(100, func() {
		w.Write(event)
		if err := w.FlushError(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 || sent == 0 {
		t.Errorf("%v allocations an event, %d bytes sent", n, sent)
	}
}
