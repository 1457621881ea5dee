package study

import (
	"context"
	"slices"
	"time"

	"aiperfd/internal/run"
)

// The requests that show whether a server is idle.
const (
	// canaries are sent before the first turn of a side; they say how long an idle server takes.
	canaries = 5
	// canariesKept are the newest ones that later ones are compared with, because servers change slowly.
	canariesKept = 15
	// canaryPause is between two of them while a server is not idle.
	canaryPause = time.Second
	// canarySlack is how much later than usual a canary may be answered in any case: this machine alone delays it by so
	// much if other programs compute, and a server of language models that is not idle by more.
	canarySlack = 2 * time.Millisecond
	// emptyReadings in a row without a request show that a server has none.
	emptyReadings = 2
)

// idleness is how long a server takes to answer a short request while it is idle.
type idleness struct{ recent []time.Duration }

// limit returns how long an idle server takes at most: the median and a fifth of it, three median deviations or the
// slack.
func (i *idleness) limit() time.Duration {
	middle := median(i.recent)
	apart := make([]time.Duration, len(i.recent))
	for k, v := range i.recent {
		apart[k] = (v - middle).Abs()
	}
	return middle + max(middle/5, 3*median(apart), canarySlack)
}

// keep takes the time of an idle server.
func (i *idleness) keep(took time.Duration) {
	i.recent = append(i.recent, took)
	if n := len(i.recent); n > canariesKept {
		i.recent = slices.Delete(i.recent, 0, n-canariesKept)
	}
}

// median returns the median of at least one time.
func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// emptied waits until the servers say twice in a row that they have no request, at most until an end. It reports false
// if that did not happen. Servers that do not say how many they have are not waited for.
func emptied(ctx context.Context, s run.Servers, end time.Time) bool {
	for empty := 0; ; {
		n, known := s.Requests(ctx)
		if empty++; n > 0 {
			empty = 0
		}
		switch {
		case !known, empty == emptyReadings:
			return true
		case time.Now().After(end):
			return false
		case !rested(ctx, canaryPause):
			return true
		}
	}
}

// rested waits, and reports whether ctx has not ended meanwhile.
func rested(ctx context.Context, length time.Duration) bool {
	pause := time.NewTimer(length)
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// settle waits until a server answers short requests as fast as it did while it was idle, at most for patience. It
// reports false if that did not happen. A server that does not answer is not waited for: the load shows that.
func (i *idleness) settle(ctx context.Context, canary canary, patience time.Duration) bool {
	for len(i.recent) < canaries {
		took, err := canary(ctx)
		if err != nil {
			return true
		}
		i.keep(took)
	}
	for end := time.Now().Add(patience); ; {
		took, err := canary(ctx)
		switch {
		case err != nil:
			return true
		case took <= i.limit():
			i.keep(took)
			return true
		case time.Now().After(end):
			i.keep(took) // it may have become slower for good
			return false
		}
		if !rested(ctx, canaryPause) {
			return true
		}
	}
}
