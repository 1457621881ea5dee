package load

import (
	"container/heap"
	"math"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// userTimes gives the sessions of a user-centric phase, each of which is a user, their
// places in a schedule. At the start, the users are in the middle of their conversations,
// as if the load had lasted for long (AIPerf's virtual history): one of them has just been
// replaced, and the others have only some turns left.
type userTimes struct {
	users *spec.Users
	next  visits // first turns that are known, in the order of their due times
	count int64  // users so far
}

var _ timetable = (*userTimes)(nil)

// visit is the first turn of a user.
type visit struct {
	due   time.Duration // since the start of the phase
	num   int64         // in the order in which they became known
	turns int           // most turns of the user; 0 = all of the conversation
}

// beginHistory sets the users at the start; the conversations have so many turns on
// average.
func (u *userTimes) beginHistory(meanTurns float64) {
	for _, v := range history(u.users.Count, meanTurns) {
		u.addVisit(time.Duration(math.RoundToEven(float64(v.order)*float64(time.Second)/u.users.Rate)), v.turns)
	}
}

func (u *userTimes) addVisit(due time.Duration, turns int) {
	heap.Push(&u.next, visit{due: due, num: u.count, turns: turns})
	u.count++
}

// place gives a session its place in the schedule. The successor of a user is due when the
// next turn of the user would be, whether the user has finished or not.
func (u *userTimes) place(c *bench.Conversation) (p placement, in bool, err error) {
	if len(u.next) == 0 { // it follows a user that has finished
		return p, true, nil
	}
	v := heap.Pop(&u.next).(visit)
	p.offset = v.due
	turns := len(c.Turns)
	if v.turns > 0 && v.turns < turns {
		p.turns = v.turns
		turns = v.turns
	}
	if !u.users.OnCompletion {
		u.addVisit(v.due+time.Duration(max(1, turns))*u.users.Gap, 0)
	}
	return p, true, nil
}

// replaced reports whether a user is replaced when it has finished, and not at a time of
// the schedule.
func (u *userTimes) replaced() bool { return u != nil && u.users.OnCompletion }

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
