package runs

import (
	"testing"
	"time"

	"aiperfd/internal/api/respond"
)

func TestSubmitRate(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	s := &submitRate{perMinute: 20}
	take := func(caller string, after time.Duration, want string) {
		t.Helper()
		got := "ok"
		if err := s.take(caller, at.Add(after)); err != nil {
			got = err.(*respond.Failure).Header["Retry-After"] //nolint:forcetypeassert,errorlint // of this package
		}
		if got != want {
			t.Errorf("take(%s, %v) = %s, want %s", caller, after, got, want)
		}
	}
	for range 20 {
		take("ci", 0, "ok")
	}
	take("ci", 0, "3")
	take("other", 0, "ok")
	take("", 0, "ok")
	take("ci", 2*time.Second, "1")
	take("ci", 3*time.Second, "ok")
	take("ci", time.Hour, "ok")
}
