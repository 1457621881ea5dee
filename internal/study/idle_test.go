package study

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSettle: a side waits until its server answers as it does while it is idle, with a limit, and not for one that does
// not answer.
func TestSettle(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		took    []time.Duration // of the canaries in turn; 0 = no answer; the last one stays
		settled bool
		after   time.Duration // of pauses
		sent    int
	}{
		{"idle", []time.Duration{100 * ms}, true, 0, 6},
		{"a fifth slower", []time.Duration{100 * ms, 100 * ms, 100 * ms, 100 * ms, 100 * ms, 120 * ms}, true, 0, 6},
		{"idle again after 2 s", []time.Duration{100 * ms, 100 * ms, 100 * ms, 100 * ms, 100 * ms, 300 * ms, 200 * ms, 110 * ms}, true, 2 * time.Second, 8},
		{"two milliseconds later", []time.Duration{ms, ms, ms, ms, ms, 3 * ms}, true, 0, 6},
		{"three milliseconds later", []time.Duration{ms, ms, ms, ms, ms, 4 * ms, ms}, true, time.Second, 7},
		{"as noisy as before", []time.Duration{100 * ms, 120 * ms, 140 * ms, 80 * ms, 60 * ms, 150 * ms}, true, 0, 6},
		{"never idle", []time.Duration{100 * ms, 100 * ms, 100 * ms, 100 * ms, 100 * ms, 300 * ms}, false, 11 * time.Second, 17},
		{"no answer", []time.Duration{0}, true, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var i idleness
			sent, begin := 0, time.Now()
			settled := i.settle(t.Context(), func(context.Context) (time.Duration, error) {
				took := c.took[min(sent, len(c.took)-1)]
				if sent++; took == 0 {
					return 0, errors.New("refused")
				}
				return took, nil
			}, 10*time.Second)
			if after := time.Since(begin); settled != c.settled || after != c.after || sent != c.sent {
				t.Errorf("%s: %v after %v and %d requests, want %v, %v, %d", c.name, settled, after, sent, c.settled, c.after, c.sent)
			}
		})
	}
}
