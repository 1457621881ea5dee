package load

import (
	"cmp"
	"slices"
)

// stock is where the phases of a run get their sessions from: those that an earlier phase
// prepared and did not start, then new ones. It is guarded by the drawing mutex of the
// phase that draws.
type stock struct {
	requests *requests
	drawn    int64      // sessions
	unused   []*session // prepared for an earlier phase but not started, in order
	once     *bool      // the dataset is not repeated; nil = no phase has begun
}

// beginPhase prepares the dataset for a phase. One that reads it once begins at its first
// conversation, and so does the phase after such a phase; every other phase goes on
// where the one before it has ended.
func (k *stock) beginPhase(once bool) error {
	before := k.once
	k.once = &once
	if before == nil || !once && !*before {
		return nil
	}
	k.unused = nil
	return k.requests.Source.Restart(once)
}

// drawSession returns the oldest session that an earlier phase prepared and did not start,
// or draws a conversation, a model and a target for a new one. A session that does not satisfy
// owns is another load generator's: it is drawn and left out.
func (k *stock) drawSession(quit <-chan struct{}, owns func(n int64) bool) (*session, error) {
	for len(k.unused) > 0 {
		s := k.unused[0]
		k.unused = k.unused[1:]
		if owns(s.Session) {
			return s, nil
		}
	}
	q := k.requests
	conversation, model, err := q.Source.Next(k.drawn, quit)
	for err == nil && !owns(k.drawn) {
		k.drawn++
		conversation, model, err = q.Source.Next(k.drawn, quit)
	}
	if err != nil {
		return nil, err
	}
	s := &session{
		Dialogue:    Dialogue{Session: k.drawn, Root: conversation.ID, Entry: conversation, Conversation: conversation},
		model:       cmp.Or(conversation.Model, model),
		target:      q.Spread.Pick(k.drawn),
		correlation: q.ids.next(),
	}
	if q.Spread.Least {
		s.target = undecided
	}
	s.root = s
	k.drawn++
	return s, nil
}

// advance makes a session the next one that is drawn: those before it that were not started are left out, and so are
// their draws of a dataset that is repeated.
func (k *stock) advance(to int64, quit <-chan struct{}) error {
	k.unused = slices.DeleteFunc(k.unused, func(s *session) bool { return s.Session < to })
	if *k.once { // its conversations are counted from its beginning
		k.drawn = max(k.drawn, to)
	}
	for ; k.drawn < to; k.drawn++ {
		if _, _, err := k.requests.Source.Next(k.drawn, quit); err != nil {
			return err
		}
	}
	return nil
}

// afterStarted returns the number after the last session that was started, of those that owns has; nil = all are.
func (k *stock) afterStarted(owns func(n int64) bool) int64 {
	n := k.nextSession()
	for owns != nil && n > 0 && !owns(n-1) {
		n--
	}
	return n
}

// all has every session.
func all(int64) bool { return true }

// nextSession returns the number of the session that is drawn next.
func (k *stock) nextSession() int64 {
	if len(k.unused) > 0 {
		return k.unused[0].Session
	}
	return k.drawn
}

// orderUnused brings the sessions that were not started into the order in which they were
// drawn, for the next phase.
func (k *stock) orderUnused() {
	for _, s := range k.unused {
		s.restoreWhole()
	}
	slices.SortFunc(k.unused, func(s, t *session) int { return cmp.Compare(s.Session, t.Session) })
}

// targetOf returns the target of the nth session that will be started, from 0.
func (k *stock) targetOf(n int64) int {
	if n < int64(len(k.unused)) {
		return k.unused[n].target
	}
	return k.requests.Spread.Pick(k.drawn + n - int64(len(k.unused)))
}
