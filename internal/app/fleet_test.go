package app

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// That others can read the bus is said at the start and once per hour.
func TestWarnExposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		stop := warnExposed(t.Context(), zerolog.New(&out), "records")
		time.Sleep(2*time.Hour + 30*time.Minute)
		stop()
		time.Sleep(3 * time.Hour)
		if n := strings.Count(out.String(), "others on the network can read records"); n != 3 {
			t.Errorf("%d lines in two and a half hours, want 3:\n%s", n, &out)
		}
	})
}
