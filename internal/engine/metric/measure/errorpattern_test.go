package measure

import (
	"strings"
	"testing"
)

func TestErrorPattern(t *testing.T) {
	tests := []struct{ message, want string }{
		{"", ""},
		{"model overloaded", "model overloaded"},
		{"retry after 30 seconds", "retry after <n> seconds"},
		{"took 1.25s of 3", "took <n>s of <n>"},
		{"dial tcp 10.0.0.1:8000: refused", "dial tcp <n>:<n>: refused"},
		{"request 06e1ea57-2406-4133-bae4-259deb7a0626 failed", "request <uuid> failed"},
		{"id cmpl-9f8e7d6c5b4a3921 gone", "id cmpl-<hex> gone"},
		{"id chatcmpl-Zk3JqW9xTt7LmN2pQr gone", "id chatcmpl-<id> gone"},
		{"at perf_ns=123456789", "at perf_ns=<n>"},
		{"  two\n\tlines  ", "two lines"},
		{"gpu0 and gpu11", "gpu<n> and gpu<n>"},
		{"deadbeef facade", "deadbeef facade"},
		{"Größe 5", "Größe <n>"},
		{"utf8-x_9", "utf<n>-x_<n>"},
	}
	for _, test := range tests {
		if got := ErrorPattern(test.message); got != test.want {
			t.Errorf("ErrorPattern(%q) = %q, want %q", test.message, got, test.want)
		}
	}
	long := ErrorPattern(strings.Repeat("ä", 4096))
	if len(long) > maxPattern || strings.Trim(long, "ä") != "" {
		t.Errorf("pattern of a long message has %d bytes", len(long))
	}
}
