package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/view"
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

// Worse returns the worse of two levels.
func Worse(a, b Level) Level {
	if a.rank() >= b.rank() {
		return a
	}
	return b
}

// Reason is one number that the client made, or may have made, wrong.
type Reason struct {
	Code   string  `json:"code"` // kebab-case, stable
	Level  Level   `json:"level"`
	Phase  string  `json:"phase"`
	Metric string  `json:"metric"` // what was measured
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"` // above it the number is suspect, above five times it invalid
	Unit   string  `json:"unit"`  // of value and limit: ms or ratio
	// Percentile is the share of the values, in percent, whose error Value bounds: the
	// highest percentile that the number of values supports. 0 = Value is not an error of
	// single values.
	Percentile float64 `json:"percentile,omitempty"`
	// Concerns are the metrics that are affected: one tag, or throughput for all rates;
	// several in runs of earlier versions. All others are as good as without this reason.
	Concerns []string `json:"concerns"`
	// Unreported means that the run has the number in its files only: the console does not
	// show it by default, and no objective uses it. It does not decide the verdict.
	Unreported bool   `json:"unreported,omitempty"`
	Worker     string `json:"worker,omitempty"` // of several load generators, the one that it is about
	Cause      string `json:"cause,omitempty"`  // why, for people
	Source     string `json:"source,omitempty"` // who used the processors that the client lacked, for people
	Remedy     string `json:"remedy,omitempty"` // what to do about the cause, for people
	Message    string `json:"message"`          // the number, its error and the cause, for people
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
// client are reasons only if a number is affected; otherwise they are evidence. The verdict
// is that of the numbers that the run reports by default or has objectives of.
func Judge(o *Observation) Report {
	r := Report{Phase: o.Phase, Verdict: OK, Reasons: []Reason{}, Evidence: []Sign{}, Bias: bias(o)}
	r.measures(o)
	affected := latencies(o)
	source, remedy := scarcity(&o.Self)
	for _, reason := range slices.Concat(affected, delivered(&o.Load), lost(o), scarceNetwork(o)) {
		if reason.Level == OK {
			continue
		}
		reason.Phase, reason.Value, reason.Limit = o.Phase, round(reason.Value), round(reason.Limit)
		reason.Unreported = !o.reports(reason.Concerns[0])
		if reason.Remedy = remedyOf(reason.Code); !ofNetwork(reason.Code) {
			reason.Source, reason.Remedy = source, cmp.Or(remedy, reason.Remedy)
		}
		reason.Message = reason.Concerns[0] + " " + reason.off() + ": " + reason.because()
		if !reason.Unreported {
			r.Verdict = Worse(r.Verdict, reason.Level)
		}
		r.Reasons = append(r.Reasons, reason)
	}
	slices.SortStableFunc(r.Reasons, func(a, b Reason) int { return b.weight() - a.weight() })
	if r.Verdict == OK && blind(o) {
		r.Verdict = Unknown
	}
	for _, s := range signs(o, len(affected) == 0) {
		s.Phase = o.Phase
		r.Evidence = append(r.Evidence, s)
	}
	return r
}

// reports reports whether the run shows a number by default, or judges itself by it.
func (o *Observation) reports(number string) bool {
	if number == throughput || slices.ContainsFunc(o.Objectives, func(tag string) bool { return slices.Contains(sources(tag), number) }) {
		return true
	}
	def, ok := catalogue.Lookup(strings.TrimPrefix(number, correctedPrefix))
	return ok && def.Group == catalogue.GroupDefault
}

// weight orders reasons by what they matter to a reader.
func (r *Reason) weight() int {
	if r.Unreported {
		return r.Level.rank()
	}
	return 10 + r.Level.rank()
}

// blind reports whether timestamps depend on the lateness of wake-ups and that was
// not observed.
func blind(o *Observation) bool {
	lag, _ := wakeUps(&o.Self)
	return o.Load.Kernel == 0 && lag.Count() == 0 && o.Self.Window > 2*o.Self.Step
}

// latencies judges the errors of latencies.
func latencies(o *Observation) []Reason {
	var out []Reason
	for _, n := range numbers(o) {
		limit := n.limit()
		err := n.err()
		level := above(ms(err), ms(limit))
		if level == OK {
			continue
		}
		main := n.main()
		if level == Invalid && !main.sure {
			level = Suspect
		}
		out = append(out, Reason{
			Code: main.code, Level: level, Metric: main.metric, Value: ms(err), Limit: ms(limit), Unit: "ms",
			Percentile: wholePercent(n.supported()), Concerns: []string{n.tag}, Cause: main.text,
		})
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
			"requests were sent late: %s were due and %s were sent", PerSecond(l.Offered), PerSecond(l.Delivered)))
		if l.Late <= lateEnd {
			r.Level = OK
		}
		return []Reason{r}
	case !l.Open:
		r := share("concurrency-not-delivered", l.Lost, fmt.Sprintf(
			"concurrency was below target %s %% of the time because the load generator fell behind", view.Bound(100*l.Lost)))
		if l.Turnaround <= turnaround {
			r.Level = OK
		}
		return []Reason{r}
	}
	return nil
}

// pathLoss is the code of the reason that the network has lost segments.
const pathLoss = "path-loss"

// leastLost is how many responses must have lost something: one is chance.
const leastLost = 2

// lost judges what the network has done to latencies. The shortest timeout of a retransmission is 200 ms in Linux.
func lost(o *Observation) []Reason {
	p := o.Path
	if p == nil || p.Affected < leastLost || p.Responses == 0 {
		return nil
	}
	value := float64(p.Affected) / float64(p.Responses)
	percent := func(part, of int64) string { return view.Percent(float64(part) / float64(max(1, of))) }
	text := fmt.Sprintf("the network lost segments or changed their order (%s of those to the server were sent again, "+
		"%s of those from it came after a gap); a retransmission may take 200 ms and more",
		percent(p.Retransmitted, p.Sent), percent(p.OutOfOrder, p.Received))
	var out []Reason
	for _, n := range numbers(o) {
		out = append(out, Reason{
			Code: pathLoss, Metric: "path_affected_share", Unit: "ratio", Value: value, Limit: rateTolerance,
			Level: above(value, rateTolerance), Concerns: []string{n.tag}, Cause: text,
		})
	}
	return out
}

// The codes of the reasons that the machine is short of network.
const nicBusy, portsShort = "nic-busy", "ports-short"

// ofNetwork reports whether a reason is about the network and not about processors.
func ofNetwork(code string) bool { return code == pathLoss || code == nicBusy || code == portsShort }

// scarceNetwork judges whether requests and responses had to wait for the network of this machine. Nobody has measured
// how long, so that no number is surely wrong.
func scarceNetwork(o *Observation) []Reason {
	n := o.Self.Network
	if n == nil || o.Self.Window <= 0 {
		return nil
	}
	var out []Reason
	judge := func(code, metric string, part time.Duration, text string) {
		value := float64(part) / float64(o.Self.Window)
		if value <= shareLimit {
			return
		}
		for _, number := range numbers(o) {
			out = append(out, Reason{
				Code: code, Metric: metric, Unit: "ratio", Value: value, Limit: shareLimit, Level: Suspect,
				Concerns: []string{number.tag}, Cause: fmt.Sprintf(text, 100*value),
			})
		}
	}
	judge(nicBusy, "nic_busy_share", n.Busy,
		"a network interface of this machine was above 80 %% of its speed for %.0f %% of the time")
	judge(portsShort, "ports_short_share", n.PortsShort,
		"more than 80 %% of the local ports for a server were in use for %.0f %% of the time")
	return out
}

// share returns a reason that compares a share of the load with its limit.
func share(code string, value float64, text string) Reason {
	return Reason{
		Code: code, Metric: "undelivered_share", Unit: "ratio", Value: value, Limit: rateTolerance,
		Level: above(value, rateTolerance), Concerns: []string{throughput}, Cause: text,
	}
}

// undelivered returns the share of the load that the client did not send.
func undelivered(l *Load) float64 {
	if l.Open {
		return max(0, 1-l.Delivered/l.Offered)
	}
	return l.Lost
}
