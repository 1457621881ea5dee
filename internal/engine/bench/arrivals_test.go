package bench

import (
	"testing"
	"time"
)

// The queue of an arrival in the second quarter of all is known at any time.
func TestArrivals(t *testing.T) {
	var a Arrivals
	if at, queue := a.Before(); at != 0 || queue != 0 {
		t.Errorf("before the first: %d, %d", at, queue)
	}
	for n := int64(1); n <= 1000; n++ {
		a.Add(time.Duration(n)*time.Second, 10*n)
		at, queue := a.Before()
		if n == 1 {
			continue
		}
		if queue != 10*at || 2*at > n || 4*at <= n {
			t.Fatalf("after %d: arrival %d found %d", n, at, queue)
		}
	}
	if a.Used != 1000 || a.First != time.Second || a.Last != 1000*time.Second || a.Queue != 10000 {
		t.Errorf("%+v", a)
	}
	a.Add(time.Hour, 7)
	if a.Queue != 7 || a.QueueMax != 10000 {
		t.Errorf("queue %d, at most %d; want 7, 10000", a.Queue, a.QueueMax)
	}
}
