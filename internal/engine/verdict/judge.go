package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Level is how accurate the numbers of a window are.
type Level string

// The levels, best first. Unknown means that nothing was measured.
const (
	OK      Level = "ok"
	Suspect Level = "suspect"
	Invalid Level = "invalid"
	Unknown Level = "unknown"
)

// Levels lists the levels in that order.
func Levels() []Level { return []Level{OK, Suspect, Invalid, Unknown} }

// rank orders levels by severity. Unknown is worse than ok, and better than a known
// error.
func (l Level) rank() int {
	switch l {
	case OK:
		return 0
	case Unknown:
		return 1
	case Suspect:
		return 2
	case Invalid:
		return 3
	}
	return 1
}

// worse returns the worse of two levels.
func worse(a, b Level) Level {
	if a.rank() >= b.rank() {
		return a
	}
	return b
}

// Reason is one way in which the client made, or may have made, reported numbers
// wrong.
type Reason struct {
	Code   string  `json:"code"` // kebab-case, stable
	Level  Level   `json:"level"`
	Phase  string  `json:"phase"`
	Metric string  `json:"metric"` // what was measured
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"` // above it the client is suspect, above five times it invalid
	Unit   string  `json:"unit"`  // of value and limit: ms or ratio
	// Concerns are the metrics that are affected: their tags, or throughput for all
	// rates. All others are as good as without this reason.
	Concerns []string `json:"concerns"`
	Message  string   `json:"message"` // for people
}

// The tolerances: the errors that are not reported. The bounds of errors assume worst
// cases (see [Bias]), but these are not five times too large: above five times its
// tolerance a number is wrong, not only possibly wrong.
const (
	latencyTolerance = time.Millisecond // of a latency, twice that of a corrected one, or the share below if that is more
	latencyShare     = 0.05             // of the latency itself
	rateTolerance    = 0.01             // of a throughput
	// What does not count against a throughput: the mean time that any client needs
	// from a response to the next request of a slot, and by how much the starts of an
	// open loop may span more time than its due times.
	turnaround    = 250 * time.Microsecond
	lateEnd       = 2 * time.Millisecond
	invalidFactor = 5
)

// throughput stands for all rates in [Reason.Concerns].
const throughput = "throughput"

// above returns the level of a value against its limit.
func above(value, limit float64) Level {
	switch {
	case value > invalidFactor*limit:
		return Invalid
	case value > limit:
		return Suspect
	}
	return OK
}

// Judge decides which numbers of a window the client made wrong. Signs of a busy
// client are reasons only if a number is affected; otherwise they are evidence, and
// the verdict is ok.
func Judge(o *Observation) Report {
	r := Report{Phase: o.Phase, Verdict: OK, Reasons: []Reason{}, Evidence: []Sign{}, Bias: bias(o)}
	r.measures(o)
	affected := latencies(o)
	for _, reason := range append(affected, delivered(&o.Load)...) {
		if reason.Level == OK {
			continue
		}
		reason.Phase, reason.Value, reason.Limit = o.Phase, round(reason.Value), round(reason.Limit)
		r.Verdict = worse(r.Verdict, reason.Level)
		r.Reasons = append(r.Reasons, reason)
	}
	if r.Verdict == OK && blind(o) {
		r.Verdict = Unknown
	}
	for _, s := range signs(o, len(affected) == 0) {
		s.Phase = o.Phase
		r.Evidence = append(r.Evidence, s)
	}
	return r
}

// blind reports whether timestamps depend on the lateness of wake-ups and that was
// not observed.
func blind(o *Observation) bool {
	lag, _ := wakeUps(&o.Self)
	return o.Load.Kernel == 0 && lag.Count() == 0 && o.Self.Window > 2*o.Self.Step
}

// latencies judges the errors of latencies, one reason per cause.
func latencies(o *Observation) []Reason {
	var out []Reason
	for _, n := range numbers(o) {
		limit := max(n.least, time.Duration(latencyShare*float64(n.typical)))
		err := n.err()
		level := above(ms(err), ms(limit))
		if level == OK {
			continue
		}
		main := n.main()
		if level == Invalid && !main.sure {
			level = Suspect
		}
		i := slices.IndexFunc(out, func(r Reason) bool { return r.Code == main.code })
		if i < 0 {
			i = len(out)
			out = append(out, Reason{Code: main.code, Metric: main.metric, Unit: "ms", Level: OK, Message: main.text})
		}
		r := &out[i]
		r.Level = worse(r.Level, level)
		r.Concerns = append(r.Concerns, n.tag)
		if r.Limit == 0 || ms(err)/ms(limit) > r.Value/r.Limit {
			r.Value, r.Limit = ms(err), ms(limit)
		}
	}
	for i := range out {
		r := &out[i]
		off := "possibly off"
		if r.Level == Invalid {
			off = "off"
		}
		r.Message += fmt.Sprintf("; %s by up to %s ms (limit %s ms): %s", off, figure(r.Value), figure(r.Limit), strings.Join(r.Concerns, ", "))
	}
	return out
}

// delivered compares the load that was sent with the load that was requested.
func delivered(l *Load) []Reason {
	if l.Requests < 2 {
		return nil
	}
	switch {
	case l.Open && !l.Capped && l.Offered > 0:
		r := share("rate-not-delivered", undelivered(l), fmt.Sprintf(
			"requests were sent late, so the load was lower than requested: %s were due and %s were sent; throughput is limited by the client", PerSecond(l.Offered), PerSecond(l.Delivered)))
		if l.Late <= lateEnd {
			r.Level = OK
		}
		return []Reason{r}
	case !l.Open:
		r := share("concurrency-not-delivered", l.Lost, fmt.Sprintf(
			"concurrency was below target %s %% of the time because the load generator fell behind; throughput is limited by the client", figure(100*l.Lost)))
		if l.Turnaround <= turnaround {
			r.Level = OK
		}
		return []Reason{r}
	}
	return nil
}

// share returns a reason that compares a share of the load with its limit.
func share(code string, value float64, text string) Reason {
	return Reason{
		Code: code, Metric: "undelivered_share", Unit: "ratio", Value: value, Limit: rateTolerance,
		Level: above(value, rateTolerance), Concerns: []string{throughput}, Message: text,
	}
}

// undelivered returns the share of the load that the client did not send.
func undelivered(l *Load) float64 {
	if l.Open {
		return max(0, 1-l.Delivered/l.Offered)
	}
	return l.Lost
}
