package members

import "time"

// margin is how long before its controller takes it for lost a worker stops by itself.
const margin = time.Second

// unanswered is how many snapshots may be under way; older ones are forgotten.
const unanswered = 64

// Orphan is the guard of a worker: without a controller it stops sending, because nobody else could stop it. It counts
// from the sending of the newest snapshot that was acknowledged, which is before the controller received it. So the
// worker has stopped before the controller takes it for lost and gives its part to others, whatever the delays. Times
// are those of the clock of the worker.
type Orphan struct {
	grace time.Duration
	last  time.Duration // when the newest acknowledged one was sent
	sent  []shot        // not yet acknowledged, in order
}

// shot is a snapshot that was sent.
type shot struct {
	sequence uint64
	at       time.Duration
}

// NewOrphan returns the guard of a worker that has asked to join at a time, and is lost after a time.
func NewOrphan(asked, lostAfter time.Duration) *Orphan {
	return &Orphan{grace: lostAfter - margin, last: asked}
}

// Sent notes that a snapshot is being sent. Numbers and times grow.
func (o *Orphan) Sent(sequence uint64, at time.Duration) {
	if len(o.sent) == unanswered {
		o.sent = o.sent[1:]
	}
	o.sent = append(o.sent, shot{sequence, at})
}

// Acknowledged notes that a snapshot was acknowledged, and with it all before it.
func (o *Orphan) Acknowledged(sequence uint64) {
	for len(o.sent) > 0 && o.sent[0].sequence <= sequence {
		if o.sent[0].sequence == sequence {
			o.last = o.sent[0].at
		}
		o.sent = o.sent[1:]
	}
}

// Deadline returns when the worker has to stop, unless a snapshot is acknowledged before.
func (o *Orphan) Deadline() time.Duration { return o.last + o.grace }
