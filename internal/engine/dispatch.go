package engine

import (
	"iter"
	"time"
)

// dispatch starts sessions until the phase's bounds, its duration or somebody
// says stop. It runs in the supervisor's goroutine and is the only one that
// draws conversations.
func (p *phase) dispatch() {
	defer close(p.dispatched)
	if p.plan.Arrivals == nil {
		p.closedLoop()
		return
	}
	p.openLoop()
}

// closedLoop keeps plan.Concurrency sessions alive: a session is due at the
// instant at which its slot became free.
func (p *phase) closedLoop() {
	slots := p.plan.Concurrency
	due := p.start
	for {
		next := p.prepare()
		if slots == 0 {
			select {
			case due = <-p.freed:
				slots++
			case <-p.stopped:
				p.run.spare = next
				return
			}
		}
		if !p.budget.takeSession() {
			p.run.spare = next
			return
		}
		slots--
		p.launch(next, due)
	}
}

// openLoop starts sessions at the arrival process's due times, whatever the
// server does. An arrival that finds no free slot waits in a FIFO backlog and
// keeps its due time; nothing is dropped and nothing is forgotten. A turn that
// continues a session takes the next arrival.
func (p *phase) openLoop() {
	next, stop := iter.Pull(p.plan.Arrivals)
	defer stop()
	o := &open{phase: p, slots: p.plan.Concurrency, capped: p.plan.Concurrency > 0}
	defer func() {
		if o.prepared != nil {
			p.run.spare = o.prepared
		}
	}()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		offset, more := next()
		if !more || !o.waitUntil(p.start+offset, timer) {
			return
		}
		o.arrive(p.start + offset)
		if o.over() {
			return
		}
	}
}

// open is the state of an open loop; only the dispatcher touches it.
type open struct {
	phase    *phase
	capped   bool
	slots    int             // free ones, if capped
	backlog  []time.Duration // due times that wait for a slot, oldest first
	waiting  []*session      // continuations that wait for an arrival, oldest first
	prepared *session
	live     int
}

// waitUntil handles whatever happens before an instant; false = stop.
func (o *open) waitUntil(due time.Duration, timer *time.Timer) bool {
	p := o.phase
	if o.prepared == nil && !p.budget.closed() {
		o.prepared = p.prepare()
	}
	timer.Reset(max(0, due-p.clock.Now()))
	for {
		select {
		case <-timer.C:
			return true
		case s := <-p.ready:
			o.waiting = append(o.waiting, s)
		case <-p.freed:
			o.slotFreed()
			if o.over() {
				return false
			}
		case <-p.stopped:
			return false
		}
	}
}

// arrive uses one arrival: for the oldest waiting continuation if there is one,
// else for a new session.
func (o *open) arrive(due time.Duration) {
	p := o.phase
	if len(o.waiting) > 0 {
		s := o.waiting[0]
		o.waiting = o.waiting[1:]
		if p.budget.takeTurn() {
			s.permit <- due
		} else {
			close(s.permit)
		}
		return
	}
	if p.budget.closed() {
		return // nobody needs this arrival
	}
	if bound := p.budget.requests; bound > 0 {
		if sent, _ := p.budget.counts(); sent+int64(len(o.backlog)) >= bound {
			return // those that wait use up the bound
		}
	}
	if bound := p.budget.sessions; bound > 0 {
		if _, started := p.budget.counts(); started+int64(len(o.backlog)) >= bound {
			return
		}
	}
	o.backlog = append(o.backlog, due)
	o.serve()
}

// serve starts sessions for the backlog while slots are free.
func (o *open) serve() {
	p := o.phase
	for len(o.backlog) > 0 && (!o.capped || o.slots > 0) && p.budget.takeSession() {
		due := o.backlog[0]
		o.backlog = o.backlog[1:]
		s := o.prepared
		o.prepared = nil
		if s == nil {
			s = p.prepare()
		}
		o.slots--
		o.live++
		p.launch(s, due)
	}
	p.noteBacklog(int64(len(o.backlog)))
}

func (o *open) slotFreed() {
	o.slots++
	o.live--
	o.serve()
}

// over reports whether nothing can be sent any more.
func (o *open) over() bool {
	b := &o.phase.budget
	return b.exhausted() || (b.closed() && len(o.backlog) == 0 && o.live == 0)
}
