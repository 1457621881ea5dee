package verdict

import (
	"cmp"
	"fmt"
	"slices"
)

// Member is the judgement of one of several load generators on itself.
type Member struct {
	Worker   string
	Requests int64 // of the phase that it sent
	Report   *Report
}

// The shares of the requests of a phase, sent by load generators that were busy, from which on the phase is affected.
const (
	suspectShare = 0.001
	invalidShare = 0.01
)

// Distorted returns the share of the requests whose load generator was not ok, and of those whose load generator was
// invalid. A load generator without a judgement is not ok.
func Distorted(members []Member) (doubtful, invalid float64) {
	var all, doubted, wrong int64
	for i := range members {
		m := &members[i]
		all += m.Requests
		switch {
		case m.Report == nil || m.Report.Verdict == Unknown || m.Report.Verdict == Suspect:
			doubted += m.Requests
		case m.Report.Verdict == Invalid:
			doubted, wrong = doubted+m.Requests, wrong+m.Requests
		}
	}
	if all == 0 {
		return 0, 0
	}
	return float64(doubted) / float64(all), float64(wrong) / float64(all)
}

// Pool combines the judgements of several load generators on a phase: one that sent few of the requests does not make
// all numbers wrong. Of equal reasons the worst remains, with the name of its load generator and how many more have it. The figures are those of the worst one. nil = none has been
// judged.
func Pool(members []Member) *Report {
	var worst *Report
	for i := range members {
		if r := members[i].Report; r != nil && (worst == nil || cmp.Compare(r.Verdict.rank(), worst.Verdict.rank()) > 0) {
			worst = r
		}
	}
	if worst == nil {
		return nil
	}
	out := *worst
	out.Phases, out.Certificate = nil, nil
	out.Reasons, out.Evidence, out.Bias = []Reason{}, []Sign{}, []Bias{}
	for i := range members {
		m := &members[i]
		if m.Report == nil {
			continue
		}
		for _, r := range m.Report.Reasons {
			r.Worker = m.Worker
			out.Reasons = worstOf(out.Reasons, r, sameReason, func(r Reason) float64 { return r.Value })
		}
		for _, s := range m.Report.Evidence {
			s.Worker = m.Worker
			out.Evidence = worstOf(out.Evidence, s, sameSign, func(s Sign) float64 { return s.Value })
		}
		out.Bias = mergeBias(out.Bias, m.Report.Bias)
	}
	for i := range out.Reasons {
		r := &out.Reasons[i]
		r.Worker = named(members, r.Worker, func(o *Report) bool {
			return slices.ContainsFunc(o.Reasons, func(x Reason) bool { return sameReason(x, *r) })
		})
		r.Message = r.Worker + ": " + r.Message
	}
	for i := range out.Evidence {
		s := &out.Evidence[i]
		s.Worker = named(members, s.Worker, func(o *Report) bool {
			return slices.ContainsFunc(o.Evidence, func(x Sign) bool { return sameSign(x, *s) })
		})
		s.Message = s.Worker + ": " + s.Message
	}
	doubtful, invalid := Distorted(members)
	level := OK
	switch {
	case invalid > invalidShare:
		level = Invalid
	case doubtful > suspectShare:
		level = Suspect
	}
	out.Verdict = level
	for i := range out.Reasons { // the numbers of the phase are not worse than the share of the requests makes them
		if r := &out.Reasons[i]; r.Level.rank() > level.rank() {
			r.Level = level
		}
	}
	out.Reasons = slices.DeleteFunc(out.Reasons, func(r Reason) bool { return r.Level == OK })
	return &out
}

// sameReason reports whether two reasons differ in their load generators and figures only.
func sameReason(a, b Reason) bool { return a.Code == b.Code && slices.Equal(a.Concerns, b.Concerns) }

// sameSign reports the same of two signs.
func sameSign(a, b Sign) bool { return a.Code == b.Code }

// worstOf adds an item, or puts it in the place of one that is the same and less.
func worstOf[T any](list []T, item T, same func(a, b T) bool, value func(T) float64) []T {
	at := slices.IndexFunc(list, func(o T) bool { return same(o, item) })
	switch {
	case at < 0:
		return append(list, item)
	case value(item) > value(list[at]):
		list[at] = item
	}
	return list
}

// named returns the name of a load generator, and of how many more the same holds.
func named(members []Member, worst string, has func(*Report) bool) string {
	others := -1
	for i := range members {
		if r := members[i].Report; r != nil && has(r) {
			others++
		}
	}
	if others <= 0 {
		return "worker " + worst
	}
	return fmt.Sprintf("worker %s and %d more", worst, others)
}
