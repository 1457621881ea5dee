package certify

import (
	"time"

	"aiperfd/internal/engine/bench"
)

// findings are the differences between what the client reports and the truth.
type findings struct {
	ttft, gap     []sample
	send, receive []time.Duration // errors of single timestamps
	schedule      []time.Duration // start after due time; open loop
	requests      int
	kernel        int // requests with timestamps of the kernel
}

// add compares one request with the truth.
//
// The bytes of a write were sent, and arrived at the client on the same machine, at some
// time between the timestamps before and after its call. The errors are the largest
// possible ones.
func (f *findings) add(r *bench.Record, t *truth) {
	f.requests++
	if r.Conn.Kernel {
		f.kernel++
	}
	chunks, send := r.Answer.Chunks, t.received-r.Stamps.Start
	f.send = append(f.send, send)
	f.ttft = append(f.ttft, sample{
		at:       chunks[0].At,
		reported: chunks[0].At - r.Stamps.Start,
		truth:    t.before[0] - t.received,
		err:      max(chunks[0].At-t.before[0]+send, t.after[0]-chunks[0].At-send),
	})
	for i := range chunks {
		most, least := chunks[i].At-t.before[i], chunks[i].At-t.after[i]
		f.receive = append(f.receive, max(most, -least))
		if i == 0 {
			continue
		}
		f.gap = append(f.gap, sample{
			at:       chunks[i].At,
			reported: chunks[i].At - chunks[i-1].At,
			truth:    t.before[i] - t.before[i-1],
			err:      max(most-(chunks[i-1].At-t.after[i-1]), (chunks[i-1].At-t.before[i-1])-least),
		})
	}
}
