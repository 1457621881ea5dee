package collect

import (
	"slices"
	"testing"
	"testing/synctest"
)

// TestBatches: the consumer is woken when enough elements wait, and takes all of them; a full
// queue wakes it, too.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatches[int](4)
		woken := func() bool {
			select {
			case <-b.enough:
				return true
			default:
				return false
			}
		}
		b.add(1, 2)
		if woken() {
			t.Error("woken for one element of two")
		}
		b.add(2, 2)
		if got := b.take(); !woken() || !slices.Equal(got, []int{1, 2}) {
			t.Errorf("take = %v, want both, and the consumer woken", got)
		}
		for i := range 4 {
			b.add(i, 100)
		}
		if !woken() {
			t.Error("not woken by a full queue")
		}
		added := make(chan struct{})
		go func() {
			b.add(4, 100)
			close(added)
		}()
		synctest.Wait()
		if got := b.take(); !slices.Equal(got, []int{0, 1, 2, 3}) {
			t.Errorf("take = %v, want four elements", got)
		}
		<-added
		if got := b.take(); !slices.Equal(got, []int{4}) {
			t.Errorf("take = %v, want the one that had to wait", got)
		}
	})
}
