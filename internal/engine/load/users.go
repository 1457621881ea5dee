package load

import (
	"container/heap"
	"context"
	"errors"
	"math"
	"time"

	"aiperfd/internal/engine/plan"
)

// users gives the sessions of a user-centric phase, each of which is a user, their places
// in a schedule. At the start, the users are in the middle of their conversations, as if
// the load had lasted for long (AIPerf's virtual history): one of them has just been
// replaced, and the others have only some turns left. Its fields are guarded by
// lookahead.drawing.
type users struct {
	plan  *plan.Users
	next  visits // first turns that are known, in the order of their due times
	count int64  // users so far
}

// visit is the first turn of a user.
type visit struct {
	due   time.Duration // since the start of the phase
	num   int64         // in the order in which they became known
	turns int           // most turns of the user; 0 = all of the conversation
}

// begin sets the users at the start; the conversations have so many turns on average.
func (u *users) begin(mean float64) {
	for _, v := range history(u.plan.Count, mean) {
		u.add(time.Duration(math.RoundToEven(float64(v.order)*float64(time.Second)/u.plan.Rate)), v.turns)
	}
}

// sampled is how many conversations the mean number of turns is taken from.
const sampled = 256

// turns returns the mean number of turns of the next conversations. It ends the start of
// sessions if none has a second turn.
func (a *lookahead) turns() (mean float64) {
	w, n := a.phase.work, int64(sampled)
	if a.left >= 0 {
		n = min(n, a.left)
	}
	var next []*session
	sum := 0
	for int64(len(next)) < n {
		s, err := w.session(a.quit)
		if err != nil {
			break // the first draw meets it again
		}
		next = append(next, s)
		sum += len(s.conversation.Turns)
	}
	w.unused = append(next, w.unused...)
	if sum <= len(next) && len(next) > 0 {
		a.ended = errors.New("no conversation has a second turn: a phase of type user_centric needs conversations")
	}
	return float64(sum) / float64(max(1, len(next)))
}

func (u *users) add(due time.Duration, turns int) {
	heap.Push(&u.next, visit{due: due, num: u.count, turns: turns})
	u.count++
}

// place gives a session its place in the schedule. The successor of a user is due when the
// next turn of the user would be, whether the user has finished or not.
func (u *users) place(s *session) (in bool, err error) {
	if len(u.next) == 0 { // it follows a user that has finished
		return true, nil
	}
	v := heap.Pop(&u.next).(visit)
	s.offset = v.due
	turns := len(s.conversation.Turns)
	if v.turns > 0 && v.turns < turns {
		cut := *s.entry
		cut.Turns, turns = cut.Turns[:v.turns], v.turns
		s.whole, s.entry, s.conversation = s.entry, &cut, &cut
	}
	if !u.plan.OnCompletion {
		u.add(v.due+time.Duration(max(1, turns))*u.plan.Gap, 0)
	}
	return true, nil
}

// restore gives an unused session of a user back the turns that the user would not have
// sent.
func restore(s *session) {
	if s.whole != nil {
		s.entry, s.conversation, s.whole, s.next = s.whole, s.whole, nil, turn{}
	}
}

// beginner is a user at the start of the phase.
type beginner struct {
	order int // of its first turn; they are 1/rate apart
	turns int // that are left; 0 = all
}

// history returns the users at the start of a phase of n users whose conversations have
// the given mean number of turns. The oldest has finished, so that a new one takes its
// place, with order 0; the younger a user is, the more turns are left to it.
func history(n int, mean float64) []beginner {
	life := max(1, int(math.RoundToEven(mean))-1)
	step := 0
	if gcd(n, life) > 1 { // several users would have the same order
		step = coprime(n)
	}
	out := []beginner{{}}
	for i := range n {
		age := (n - i) * life
		left := life - age/n
		if left <= 0 {
			continue
		}
		slot := age % n
		if step > 0 {
			slot = i * step % n
		}
		out = append(out, beginner{order: n - slot, turns: left})
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// coprime returns the least number from 2 to n-1 that has no divisor in common with n;
// 1 if there is none.
func coprime(n int) int {
	for step := 2; step < n; step++ {
		if gcd(n, step) == 1 {
			return step
		}
	}
	return 1
}

// visits is a heap of first turns, the earliest on top.
type visits []visit

var _ heap.Interface = (*visits)(nil)

func (v visits) Len() int { return len(v) }
func (v visits) Less(i, j int) bool {
	return v[i].due < v[j].due || v[i].due == v[j].due && v[i].num < v[j].num
}
func (v visits) Swap(i, j int) { v[i], v[j] = v[j], v[i] }
func (v *visits) Push(x any)   { *v = append(*v, x.(visit)) }
func (v *visits) Pop() any {
	last := (*v)[len(*v)-1]
	*v = (*v)[:len(*v)-1]
	return last
}

// replace starts the successor of a user that has finished, when the next turn of the
// user would have been due. It goes on with the sessions that follow in the slot.
func (o *openLoop) replace(ctx context.Context, root *session, ended time.Duration) {
	p := o.phase
	if p.users == nil || !p.users.plan.OnCompletion {
		return
	}
	due := max(ended, root.due+p.users.plan.Gap)
	p.sessions.Go(func() {
		if p.wait(due-p.work.Clock.Now()) && o.drawUser() {
			o.arrive(due).perform(ctx)
		}
	})
}

// drawUser draws the session of a user that replaces another one; false = none is needed.
func (o *openLoop) drawUser() bool {
	p := o.phase
	p.lookahead.using.RLock()
	defer p.lookahead.using.RUnlock()
	if decide(p, (*scheduler).closed) {
		return false
	}
	s := p.lookahead.take()
	if s == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drawn = append(o.drawn, s)
	return true
}
