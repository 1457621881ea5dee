package engine

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A step before the first request is shown only if it takes long, until it has ended.
func TestAnnounce(t *testing.T) {
	for _, tt := range []struct {
		takes time.Duration
		want  []string
	}{{announceAfter / 2, nil}, {announceAfter * 3, []string{"reading", ""}}} {
		synctest.Test(t, func(t *testing.T) {
			var shown []string
			status := func(text string) { shown = append(shown, text) }
			fault := errors.New("broken")
			err := announce(status, "reading", func() error {
				time.Sleep(tt.takes)
				return fault
			})
			if !errors.Is(err, fault) || !slices.Equal(shown, tt.want) {
				t.Errorf("a step of %v: %q and %v, want %q and its error", tt.takes, shown, err, tt.want)
			}
		})
	}
}
