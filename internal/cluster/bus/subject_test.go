package bus

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	tests := []struct {
		pattern, subject string
		want             bool
	}{
		{"a.b", "a.b", true},
		{"a.b", "a.c", false},
		{"a.b", "a", false},
		{"a", "a.b", false},
		{"a.*", "a.b", true},
		{"a.*", "a", false},
		{"a.*", "a.b.c", false},
		{"*.b", "a.b", true},
		{"a.>", "a.b.c", true},
		{"a.>", "a", false},
		{">", "a.b", true},
		{"a.>", "a.*", true}, // a narrower pattern
		{"a.>", "a.>", true},
		{"a.*", "a.*", true},
		{"a.*", "a.>", false},
		{"a.b", "a.*", false},
		{"a.b", ">", false},
	}
	for _, tt := range tests {
		if got := Matches(tt.pattern, tt.subject); got != tt.want {
			t.Errorf("Matches(%q, %q) = %v, want %v", tt.pattern, tt.subject, got, tt.want)
		}
	}
}

func TestCheckSubject(t *testing.T) {
	tests := []struct {
		subject       string
		send, receive bool
	}{
		{"a", true, true},
		{"aiperfd.v1.x.in.plan", true, true},
		{"a.*.c", false, true},
		{"a.>", false, true},
		{"a.>.c", false, false},
		{"a*", false, false},
		{"", false, false},
		{"a..b", false, false},
		{"a.", false, false},
		{"a b", false, false},
		{"a\r\nPUB b 0", false, false},
	}
	for _, tt := range tests {
		if err := CheckSubject(tt.subject, false); (err == nil) != tt.send {
			t.Errorf("send to %q: %v, want accepted: %v", tt.subject, err, tt.send)
		}
		if err := CheckSubject(tt.subject, true); (err == nil) != tt.receive {
			t.Errorf("receive %q: %v, want accepted: %v", tt.subject, err, tt.receive)
		}
	}
}

// A worker sends its own messages only, and receives what is meant for it.
func TestOfWorker(t *testing.T) {
	const own, other = "0123456789abcdef", "fedcba9876543210"
	p := OfWorker(own)
	for subject, want := range map[string]bool{
		Join: true, Clock: true, FromWorker(own, "snapshot"): true,
		FromWorker(other, "snapshot"): false, ToWorker(own, "stop"): false, ToWorker(other, "stop"): false,
		"$JS.API.STREAM.DELETE.x": false, "aiperfd.v1": false,
	} {
		if got := p.MayPublish(subject); got != want {
			t.Errorf("send to %s: %v, want %v", subject, got, want)
		}
	}
	for subject, want := range map[string]bool{
		ToWorker(own, ">"): true, ToWorker(own, "plan"): true,
		ToWorker(other, ">"): false, FromWorker(own, ">"): false, Join: false, AllWorkers: false, ">": false,
	} {
		if got := p.MaySubscribe(subject); got != want {
			t.Errorf("receive %s: %v, want %v", subject, got, want)
		}
	}
	if p.Put {
		t.Error("a worker may put bulk data")
	}
	if id, kind, ok := Sender(FromWorker(own, "snapshot")); id != own || kind != "snapshot" || !ok {
		t.Errorf("sender %q, kind %q, %v", id, kind, ok)
	}
	for _, subject := range []string{Join, ToWorker(own, "x"), "aiperfd.v1.short.out.x", FromWorker(own, "")} {
		if id, kind, ok := Sender(subject); ok {
			t.Errorf("%s: sender %q, kind %q, want none", subject, id, kind)
		}
	}
	if !Matches(AllWorkers, FromWorker(own, "snapshot")) {
		t.Error("a controller misses the messages of a worker")
	}
}

func TestValid(t *testing.T) {
	for id, want := range map[string]bool{
		"0123456789abcdef": true, strings.Repeat("z", 64): true, "": false, "0123456789abcde": false,
		strings.Repeat("z", 65): false, "0123456789ABCDEF": false, "0123456789abcde.": false, "0123456789abcde*": false,
	} {
		if got := ValidID(id); got != want {
			t.Errorf("ValidID(%q) = %v, want %v", id, got, want)
		}
	}
	for name, want := range map[string]bool{
		"a": true, "A.b_c-9": true, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false,
		"": false, "a/b": false, "a b": false, "ä": false,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("ValidName(%q) = %v, want %v", name, got, want)
		}
	}
}
