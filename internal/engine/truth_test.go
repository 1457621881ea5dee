package engine_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"aiperfd/internal/engine/stat"
	"aiperfd/internal/view"
)

func (o *observed) lineOf(label, text string) []string {
	return []string{fmt.Sprintf("%-12s%s", label, text)}
}

func (o *observed) requestsText() string {
	text := fmt.Sprintf("%d ok, %d failed", len(o.ok), o.failed())
	if o.failed() > 0 {
		text += fmt.Sprintf(" (%s %%)", percentOf(float64(o.failed())/float64(len(o.lines))))
	}
	return text + fmt.Sprintf(" in %.2f s", o.window)
}

// percentOf formats a share.
func percentOf(v float64) string {
	if v == 1 {
		return "100"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*v), ".0")
}

func (o *observed) errorsLine() []string {
	if o.failed() == 0 {
		return nil
	}
	return o.lineOf("Errors", fmt.Sprintf("%d x 503 Service Unavailable: Service Unavailable (simulated fault)", o.failed()))
}

func (o *observed) throughputLine() []string {
	return o.lineOf("Throughput", fmt.Sprintf("%s req/s, %s output tok/s",
		view.Figure(float64(len(o.ok))/o.window), view.Figure(sum(o.values["output_sequence_length"])/o.window)))
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// starred reports whether a percentile of values in the order of completion has a star, and
// what the sample is worth for it and for its mean.
func starred(values []float64, q float64) (star bool, size, effective float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := float64(len(values))
	if len(values) == 1 {
		return true, 1, 1
	}
	monitored := [stat.Thresholds]float64{0.50, 0.90, 0.95, 0.99}
	var at [stat.Thresholds]float64
	nearest := 0
	for i, m := range monitored {
		at[i] = stat.Quantile(sorted, m)
		if math.Abs(m-q) <= math.Abs(monitored[nearest]-q) {
			nearest = i
		}
	}
	seq := stat.NewSequence(at)
	seq.AddAll(values)
	effective, _ = seq.Effective()
	size, ok := seq.EffectiveAbove(nearest)
	if !ok {
		size = effective
	}
	if size > n {
		size = n
	}
	return size*min(q, 1-q) < 5*(1-1e-9), size, effective
}

func (o *observed) latencyLines() []string {
	tags := []struct{ tag, label string }{{"time_to_first_token", "TTFT ms"}, {"inter_token_latency", "ITL ms"}, {"request_latency", "Latency ms"}}
	var rows []string
	var stars int
	var least, of float64 // independent requests of the percentile that has the fewest, of all
	alike := ""           // its name
	row := func(tag, label, name string) {
		values := o.values[tag]
		if len(values) == 0 {
			return
		}
		sorted := slices.Sorted(slices.Values(values))
		cells := ""
		for _, q := range []float64{0.5, 0.9, 0.99} {
			text := view.Figure(stat.Quantile(sorted, q))
			if star, size, _ := starred(values, q); star {
				text, stars = text+"*", stars+1
				n := float64(len(values))
				if n >= 100 && size < n/2 && (alike == "" || size < least) {
					alike, least, of = fmt.Sprintf("%s p%.0f", name, 100*q), size, n
				}
			}
			cells += fmt.Sprintf("%12s", text)
		}
		over := max(0, len(label)+1-12)
		rows = append(rows, fmt.Sprintf("%-*s%s", 12+over, label, cells[over:]))
	}
	waited := slices.ContainsFunc(o.values["schedule_lag"], func(v float64) bool { return v > 0 })
	for _, m := range tags {
		name := strings.TrimSuffix(m.label, " ms")
		row(m.tag, m.label, name)
		if o.open && waited && m.tag != "inter_token_latency" {
			row("corrected_"+m.tag, "from due time", name+" from due time")
		}
	}
	head := fmt.Sprintf("%12s%12s%12s%12s", "", "p50", "p90", "p99")
	if stars > 0 {
		head += "  (* too few independent requests)"
	}
	if alike != "" {
		text := fmt.Sprintf("* consecutive requests are alike: for %s, %.0f are worth %d independent ", alike, of, int(max(1, least)))
		if least < 2 {
			text += "one"
		} else {
			text += "ones"
		}
		if o.report.Saturation == nil || !o.report.Saturation.Saturated {
			text += "; a longer run has more"
		}
		rows = append(rows, o.lineOf("", text)...)
	}
	return append([]string{head}, rows...)
}

// steadyLine computes the rates of the steady window by its definition.
func (o *observed) steadyLine() []string {
	var from, to int64
	cut, doubt := 0, ""
	for _, w := range o.report.Windows() {
		if w.Name == "steady" && !w.Absent {
			from, to = w.Start.UnixNano(), w.End.UnixNano()
			if cut = w.Trend.Cut; w.Trend.Doubt() != "" {
				doubt = "; " + w.Trend.Doubt()
			}
		}
	}
	if !o.open && cut == 0 {
		from, to = o.full()
		if float64(to-from) < 0.3*o.window*1e9 {
			from, to = 0, 0
		}
	}
	if from == to {
		return nil
	}
	served, ended, tokens := 0.0, 0.0, 0.0
	for i := range o.ok {
		l := &o.ok[i]
		start, end := l.Metadata.StartNs, l.Metadata.EndNs
		osl, _ := strconv.ParseFloat(l.metric("output_sequence_length"), 64)
		served += float64(max(0, min(end, to)-max(start, from))) / float64(end-start)
		if end >= from && end <= to {
			ended++
		}
		first, _ := strconv.ParseFloat(l.metric("time_to_first_token"), 64)
		for k := range int(osl) {
			at := end
			if o.streaming {
				at = start + int64(math.Round(first*1e6)) + int64(k)*5e6
			}
			if at >= from && at <= to {
				tokens++
			}
		}
	}
	seconds := float64(to-from) / 1e9
	if !o.streaming && ended > 0 {
		tokens *= served / ended
	}
	return o.lineOf("Steady", fmt.Sprintf("%s req/s, %s output tok/s in %s s of %s s%s", view.Figure(served/seconds), view.Figure(tokens/seconds),
		view.Figure(seconds), view.Figure(o.window), doubt))
}

// full returns the first and the last instant with at least 95 % of the slots in use.
func (o *observed) full() (from, to int64) {
	type change struct {
		at   int64
		more int
	}
	var all []change
	for i := range o.lines {
		m := o.lines[i].Metadata
		all = append(all, change{m.StartNs, 1}, change{m.EndNs, -1})
	}
	slices.SortFunc(all, func(a, b change) int { return int(a.at - b.at) })
	level := 0
	for i, c := range all {
		if level += c.more; i+1 < len(all) && all[i+1].at > c.at && 100*level >= 95*o.concurrency {
			if from == 0 {
				from = c.at
			}
			to = all[i+1].at
		}
	}
	return from, to
}

func (o *observed) goodputLine() []string {
	if len(o.goodput) == 0 {
		return nil
	}
	tags := slices.Sorted(func(yield func(string) bool) {
		for tag := range o.goodput {
			if !yield(tag) {
				return
			}
		}
	})
	good, each := 0, map[string]int{}
	for i := range o.ok {
		all := true
		for _, tag := range tags {
			v, err := strconv.ParseFloat(o.ok[i].metric(tag), 64)
			if met := err == nil && v <= o.goodput[tag]; met {
				each[tag]++
			} else {
				all = false
			}
		}
		if all {
			good++
		}
	}
	n := float64(len(o.lines))
	text := fmt.Sprintf("%s %% (%s req/s) met ", percentOf(float64(good)/n), view.Figure(float64(good)/o.window))
	for i, tag := range tags {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s ≤ %v ms", map[string]string{"time_to_first_token": "TTFT", "request_latency": "Latency"}[tag], o.goodput[tag])
		if len(tags) > 1 {
			text += fmt.Sprintf(" (%s %%)", percentOf(float64(each[tag])/n))
		}
	}
	return o.lineOf("Goodput", text)
}

// outcome returns the value of an objective, whether it is met, and the doubt about that.
func (o *observed) outcome(s objective) (value float64, met bool, doubt string) {
	if s.tag == "request_throughput" {
		value = float64(len(o.ok)) / o.window
		return value, s.holds(value), ""
	}
	values := o.values[s.tag]
	sorted := slices.Sorted(slices.Values(values))
	least, most := sorted[0], sorted[len(sorted)-1]
	n := len(values)
	if s.stat == "max" {
		return most, s.holds(most), ""
	}
	if s.stat == "avg" {
		value = sum(values) / float64(n)
		if n == 1 {
			return value, s.holds(value), "one value is too few to be sure of the avg"
		}
		var squares float64
		for _, v := range values {
			squares += (v - value) * (v - value)
		}
		seq := stat.NewSequence([stat.Thresholds]float64{})
		seq.AddAll(values)
		effective, freedom := seq.Effective()
		half := stat.MeanMargin(math.Sqrt(squares/float64(n)), int64(n), effective, freedom)
		low, high := max(least, value-half), min(most, value+half)
		if s.holds(low) != s.holds(value) || s.holds(high) != s.holds(value) {
			doubt = fmt.Sprintf("the limit is within the confidence interval, %.4g to %.4g ms", low, high)
		}
		return value, s.holds(value), doubt
	}
	percent, _ := strconv.Atoi(s.stat[1:])
	q := float64(percent) / 100
	value = stat.Quantile(sorted, q)
	_, size, _ := starred(values, q)
	low, high, whole := plausible(sorted, q, size)
	low, high = min(low, value), max(high, value)
	switch {
	case s.holds(low) == s.holds(value) && s.holds(high) == s.holds(value):
	case whole:
		doubt = fmt.Sprintf("the limit is within the confidence interval, %.4g to %.4g ms", low, high)
	case n == 1:
		doubt = "one value is too few to be sure of the " + s.stat
	case size < 0.9*float64(n):
		doubt = fmt.Sprintf("%d values, worth %.0f independent ones, are too few to be sure of the %s", n, max(1, size), s.stat)
	default:
		doubt = fmt.Sprintf("%d values are too few to be sure of the %s", n, s.stat)
	}
	return value, s.holds(value), doubt
}

// plausible returns where a quantile lies with 95 % probability: between two of the values
// (whole), or beyond them as far as a tail of Pareto's distribution with index 1 reaches.
func plausible(sorted []float64, q, size float64) (low, high float64, whole bool) {
	n, m := float64(len(sorted)), math.Floor(size)
	binomial := distuv.Binomial{N: m, P: q}
	u := math.Pow(0.025, 1/max(1, size))
	low, high = sorted[0]/max(1, (1-u)/q), sorted[len(sorted)-1]*max(1, (1-u)/(1-q))
	at := func(k float64) float64 { return sorted[int(min(max(0, math.Round((k-0.5)*n/m-0.5)), n-1))] }
	lower, upper := false, false
	for k := 1.0; k <= m && binomial.CDF(k-1) <= 0.025; k++ {
		low, lower = at(k), true
	}
	for k := m; k >= 1 && 1-binomial.CDF(k-1) <= 0.025; k-- {
		high, upper = at(k), true
	}
	return low, high, lower && upper
}

func (o *observed) objectiveLines() []string {
	var out []string
	for i, s := range o.slos {
		label := ""
		if i == 0 {
			label = "SLO"
		}
		value, met, doubt := o.outcome(s)
		text := fmt.Sprintf("%s: %.4g %s", s, value, map[bool]string{true: "ms", false: "requests/sec"}[s.unit == "ms"])
		text += map[bool]string{true: ", met", false: ", missed"}[met]
		if doubt != "" {
			text += ", but " + doubt
		}
		out = append(out, o.lineOf(label, text)...)
	}
	return out
}

// repeated returns the share of prompts that were sent before: the data are sent in order,
// again and again.
func (o *observed) repeated() float64 {
	n := len(o.lines)
	return float64(n-min(n, o.entries)) / float64(n)
}

// repeatedInput returns the share of the input that was in repeated prompts.
func (o *observed) repeatedInput() float64 {
	again, all := 0.0, 0.0
	seen := map[string]bool{}
	for _, l := range slices.SortedFunc(slices.Values(o.lines), func(a, b line) int { return int(a.Metadata.SessionNum - b.Metadata.SessionNum) }) {
		if isl, err := strconv.ParseFloat(l.metric("input_sequence_length"), 64); err == nil {
			if all += isl; seen[l.Metadata.ConversationID] {
				again += isl
			}
		}
		seen[l.Metadata.ConversationID] = true
	}
	return again / all
}

// offered returns the rate of the due times.
func (o *observed) offered() float64 {
	var due []float64
	for i := range o.lines {
		lag, _ := strconv.ParseFloat(o.lines[i].metric("schedule_lag"), 64)
		due = append(due, float64(o.lines[i].Metadata.StartNs)-lag*1e6)
	}
	return float64(len(due)-1) / (slices.Max(due) - slices.Min(due)) * 1e9
}
