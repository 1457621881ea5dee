package collect

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/eventlog"
	"aiperfd/internal/engine/redact"
)

// The end of the excerpt of an event that could not be read shows no start of a secret.
func TestUnreadable(t *testing.T) {
	const secret = "correcthorsebatterystaple"
	text := "upstream refuses " + strings.Repeat("x", 80) + " the key " + secret + " of the caller"
	var r bench.Response
	r.Events.Reset(0)
	r.Events.Append(eventlog.Event{Data: []byte(`{"valid": true}`)})
	r.Events.Append(eventlog.Event{Data: []byte(text)})
	want := "upstream refuses " + strings.Repeat("x", 80) + " the key " + redact.Placeholder
	if got := unreadable(&r, redact.NewSet(secret)); !strings.HasPrefix(got, want) {
		t.Errorf("unreadable = %q, want %q and what follows", got, want)
	}
}
