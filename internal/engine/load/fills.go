package load

// fills counts the requests that were sent and have no content, and limits them. It is
// part of a scheduler.
type fills struct {
	limit     int   // 0 = without limit; changes like slots
	now       int   // with those of earlier phases
	queued    int64 // requests that were allowed and wait for the limit
	inherited int   // requests of earlier phases
	passesOn  bool  // a later phase has begun
	freed     int   // requests that have ended since then and are not passed on
}

// request allows a request to be sent now, or lets it wait for the limit.
func (f *fills) request() bool {
	if f.queued == 0 && f.hasRoom() {
		f.now++
		return true
	}
	f.queued++
	return false
}

// end ends the prefill of a request.
func (f *fills) end() {
	f.now--
	if f.passesOn {
		f.freed++
	}
}

// admit allows the request to be sent that has waited longest, if there is one and the
// limit permits it.
func (f *fills) admit() bool {
	if f.queued == 0 || !f.hasRoom() {
		return false
	}
	f.queued--
	f.now++
	return true
}

// endInherited makes the prefill of a request of an earlier phase, which has ended, one of this
// phase; false = this phase does not need it.
func (f *fills) endInherited(limited bool) bool {
	f.inherited--
	if f.passesOn || !limited {
		f.now--
	}
	return !f.passesOn && limited
}

func (f *fills) hasRoom() bool { return f.limit == 0 || f.now < f.limit }
