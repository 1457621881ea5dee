package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"text", "texts", "session_id", "output_length"}
	for name, want := range map[string]string{
		"txet": "text", "Text": "text", "sessionId": "session_id", "output_lenght": "output_length", "testx": "text",
		"": "", "zzz": "", "outputs": "", strings.Repeat("text", 20): "",
	} {
		if got := Nearest(name, names, len(name)/3+1); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := Nearest("ab", []string{"xy", "xb"}, 2); got != "xb" {
		t.Errorf("Nearest(ab) = %q, want the closer name", got)
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"concurrency", "request_count", "warmup_request_count"}
	for name, want := range map[string]string{
		"concurency": `; did you mean "concurrency"?`,
		"count":      `; did you mean "request_count"?`,
		"ount":       `; did you mean "request_count"?`,
		"unt":        "",
		"rate":       "",
	} {
		if got := DidYouMean(name, names); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", name, got, want)
		}
	}
}
