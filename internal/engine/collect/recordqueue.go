package collect

import (
	"sync"

	"aiperfd/internal/engine/bench"
)

// recordQueue has records processed one at a time. No goroutine is woken for that: the one
// that adds a record processes it, unless another one is doing so, which then goes on with
// it. It is safe for concurrent use. The zero value needs record and room.L.
type recordQueue struct {
	record func(*bench.Record) // is called by one goroutine at a time

	mu      sync.Mutex
	room    sync.Cond       // its lock is mu
	busy    bool            // guarded by mu; a goroutine processes records
	waiting []*bench.Record // guarded by mu; at most mostUnrecorded
	spare   []*bench.Record // guarded by mu; memory for waiting
}

// mostUnrecorded is how many records may wait while one is processed, so that a slow disk does
// not block their goroutines at once.
const mostUnrecorded = 256

// add processes a record, or has it processed soon. It blocks while too many records wait.
func (q *recordQueue) add(rec *bench.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) >= mostUnrecorded {
		q.room.Wait()
	}
	q.waiting = append(q.waiting, rec)
	if q.busy {
		return
	}
	q.busy = true
	for len(q.waiting) > 0 {
		q.processWaiting()
	}
	q.busy = false
}

// processWaiting processes the records that wait. Call with mu held, which it releases
// meanwhile.
func (q *recordQueue) processWaiting() {
	batch := q.waiting
	q.waiting = q.spare[:0]
	q.room.Broadcast()
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.spare = batch
	}()
	for _, rec := range batch {
		q.record(rec)
	}
	clear(batch)
}
