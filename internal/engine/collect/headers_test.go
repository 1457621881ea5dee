package collect

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeptHeaders(t *testing.T) {
	h := http.Header{
		"X-Request-Id": {"q-1"}, "X-Ratelimit-Remaining-Tokens": {"10", "20"}, "Retry-After": {"3"},
		"Set-Cookie": {"a=b"}, "Content-Type": {"application/json"}, "X-Ratelimit": {"1"},
	}
	want := map[string]string{"x-request-id": "q-1", "x-ratelimit-remaining-tokens": "10, 20", "retry-after": "3"}
	if diff := cmp.Diff(want, keptHeaders(h)); diff != "" {
		t.Error(diff)
	}
	if got := keptHeaders(http.Header{"Server": {"x"}}); got != nil {
		t.Errorf("%v", got)
	}
}
