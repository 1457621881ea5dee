package collect

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"aiperfd/internal/engine/bench"
)

// TestRecordQueue: while one record is processed, others wait, up to a bound; whoever processes it
// goes on with them, in their order.
func TestRecordQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		var seen []int
		var q recordQueue
		q.room.L = &q.mu
		q.record = func(rec *bench.Record) {
			<-goOn
			seen = append(seen, rec.Turn)
		}
		var first, rest sync.WaitGroup
		first.Go(func() { q.add(&bench.Record{Turn: 0}) })
		synctest.Wait()
		var want []int
		for i := range mostUnrecorded {
			q.add(&bench.Record{Turn: i + 1}) // does not wait
		}
		for i := range mostUnrecorded + 2 {
			want = append(want, i)
		}
		blocked := true
		rest.Go(func() {
			q.add(&bench.Record{Turn: mostUnrecorded + 1})
			blocked = false
		})
		synctest.Wait()
		if !blocked {
			t.Error("more records wait than may")
		}
		close(goOn)
		first.Wait()
		rest.Wait()
		if !slices.Equal(seen, want) {
			t.Errorf("processed %v, want %v", seen, want)
		}
		if q.add(&bench.Record{Turn: -1}); seen[len(seen)-1] != -1 {
			t.Error("a record that nobody processes was left to others")
		}
	})
}
