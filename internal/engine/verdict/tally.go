package verdict

import (
	"time"

	"aiperfd/internal/engine/bench"
)

// Tally accumulates the records of one phase for [Judge], [Streams] and [Check]. The
// zero value is empty. Not safe for concurrent use. It does not retain records.
type Tally struct {
	send, due, permit Histogram // from the start until written; from due, from permit to the start
	kernel, read      int64     // responses by who stamped them

	began                    time.Duration // when the phase started; see Begin
	requests, succeeded      int64         // that were started
	later                    int64         // that were due after the beginning
	waited                   time.Duration // sum of due to start, of those
	held                     time.Duration // the part of waited that the plan requests: due to permit
	planned, starts          extent        // of the due times and of the starts
	slots, residence, atWork time.Duration // sums: due to end, permit to end, start to end
	first, last              ends          // latencies, by when requests were due
	unpaced                  int64         // successful streams whose gaps between events are unknown
	streams                  streams
	tokens                   conservation

	Replay *Replay // of a phase that plays recorded sessions; nil = it does not
}

// extent is the range of instants; 0, 0 = none.
type extent struct{ first, last time.Duration }

func (e *extent) add(at time.Duration) {
	if e.first == 0 || at < e.first {
		e.first = at
	}
	e.last = max(e.last, at)
}

func (e *extent) length() time.Duration { return e.last - e.first }

// conservation compares tokens that were counted in two ways.
type conservation struct {
	records, differ  int64         // with a count on every event and a total
	byEvent, byUsage bench.Tokens  // their sums
	excess           int64         // records with more content events than tokens
	counted          int64         // records with a total
	negative         int64         // records in which a content event is earlier than the one before it
	unordered        time.Duration // the largest step back
}

// Begin sets the start of the phase. Requests that are due then open the slots of a
// closed loop; the time that this takes does not count against the client.
func (t *Tally) Begin(at time.Duration) { t.began = at }

// Succeeded reports whether a request has succeeded.
func (t *Tally) Succeeded() bool { return t.succeeded > 0 }

// Observe adds a record of any outcome.
func (t *Tally) Observe(rec *bench.Record) {
	if t.Replay != nil {
		t.Replay.Observe(rec)
	}
	st := &rec.Stamps
	if st.Start == 0 {
		return
	}
	t.requests++
	if rec.OK() {
		t.succeeded++
	}
	began := st.Start - rec.Conn.Wasted // what follows is caused by the server
	if st.Due > t.began {
		t.later++
		t.waited += began - st.Due
		t.held += st.Permit - st.Due
	}
	t.due.Add(began - st.Due)
	t.permit.Add(began - st.Permit)
	t.starts.add(began)
	t.planned.add(st.Due)
	if st.End >= st.Start {
		t.slots += st.End - st.Due
		t.first.add(st.Due, st.End-st.Due)
		t.last.add(-st.Due, st.End-st.Due)
		t.residence += st.End + rec.Conn.Held - st.Permit
		t.atWork += st.End - st.Start
	}
	if st.Wrote > st.Start {
		c := &rec.Conn
		t.send.Add(st.Wrote - st.Start - c.DNS - c.Connect - c.TLS)
	}
	if rec.Conn.Reads > 0 {
		if rec.Conn.Kernel {
			t.kernel++
		} else {
			t.read++
		}
	}
	if !rec.OK() || !rec.Answer.Streamed {
		return
	}
	if !rec.Paced() {
		t.unpaced++
		return
	}
	t.streams.observe(rec)
	t.tokens.observe(rec)
}

// observe compares the tokens of a record.
func (c *conservation) observe(rec *bench.Record) {
	chunks := rec.Answer.Chunks
	var byEvent bench.Tokens
	every, back := true, time.Duration(0)
	for i := range chunks {
		every = every && chunks[i].Tokens > 0
		byEvent += bench.Tokens(chunks[i].Tokens)
		if i > 0 {
			back = max(back, chunks[i-1].At-chunks[i].At)
		}
	}
	if back > 0 {
		c.negative++
		c.unordered = max(c.unordered, back)
	}
	usage := rec.Answer.Usage
	if usage == nil || usage.Output == nil {
		return
	}
	c.counted++
	if bench.Tokens(len(chunks)) > *usage.Output {
		c.excess++
	}
	if every {
		byEvent += rec.Answer.TailTokens
		c.records++
		c.byEvent += byEvent
		c.byUsage += *usage.Output
		if byEvent != *usage.Output {
			c.differ++
		}
	}
}

// Asked is what the plan of a phase requests.
type Asked struct {
	Open          bool          // requests are due by a schedule
	Limited       bool          // requests with a slot may wait, since too many have no content yet
	BacklogMax    int64         // arrivals that waited for a slot at the same time, at most
	TTFT, Latency time.Duration // medians as they are reported; 0 = unknown
	// CorrectedTTFT and CorrectedLatency are those from the due time.
	CorrectedTTFT, CorrectedLatency time.Duration
}

// Load returns the part of an [Observation] that comes from the records.
func (t *Tally) Load(a Asked) Load {
	l := Load{
		Open: a.Open, Capped: a.Limited || a.Open && a.BacklogMax > 0, Send: t.send, Schedule: t.due, Requests: t.requests,
		TTFT: a.TTFT, Latency: a.Latency, CorrectedTTFT: a.CorrectedTTFT, CorrectedLatency: a.CorrectedLatency,
		Kernel: t.kernel, Read: t.read,
		Merged: t.streams.sameRead, Gaps: t.streams.gaps, MergedFirst: t.streams.firstTogether, Streams: t.streams.streams,
	}
	if l.Capped {
		// The plan makes requests wait for a slot. Later delays are caused by the
		// client.
		l.Schedule = t.permit
	}
	if n := float64(t.requests - 1); n > 0 {
		due, sent := t.planned.length(), t.starts.length()
		if sent > 0 {
			l.Delivered = n / sent.Seconds()
		}
		if due > 0 && a.Open {
			l.Offered, l.Late = n/due.Seconds(), max(0, sent-due)
		}
	}
	waited := t.waited
	if a.Limited {
		waited -= t.held
	}
	if t.slots > 0 {
		l.Lost = max(0, float64(waited)/float64(t.slots))
	}
	if t.later > 0 {
		l.Turnaround = waited / time.Duration(t.later)
	}
	if t.streams.gaps > 0 {
		l.Gap = t.streams.span / time.Duration(t.streams.gaps)
	}
	return l
}
