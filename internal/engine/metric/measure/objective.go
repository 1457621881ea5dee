package measure

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/suggest"
)

// Objective is one condition on a statistic of a metric that the run as a whole must meet, such as
// "p99(time_to_first_token) < 500ms".
type Objective struct {
	Text  string // as the user wrote it
	Tag   string
	Stat  metric.Stat
	Op    Op
	Limit float64 // in the metric's display unit
}

// Op compares a statistic with its limit.
type Op string

// The comparisons.
const (
	Less         Op = "<"
	LessEqual    Op = "<="
	Greater      Op = ">"
	GreaterEqual Op = ">="
)

func (o Op) holds(v, limit float64) bool {
	switch o {
	case Less:
		return v < limit
	case LessEqual:
		return v <= limit
	case Greater:
		return v > limit
	case GreaterEqual:
		return v >= limit
	}
	return false
}

// objectiveForm is stat(metric) op number unit, or metric op number unit.
var objectiveForm = regexp.MustCompile(`^\s*(?:(\w+)\s*\(\s*([\w.]+)\s*\)|([\w.]+))` +
	`\s*(<=|>=|<|>|≤|≥)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(\S*)\s*$`)

// ParseObjective reads an objective. The statistic is a name in JSON files (avg, p99, p99_9, max,
// …); a metric alone stands for its average, which is the value of one that has no
// others. A time may have the unit ns, us, ms, s or min; other metrics their own unit.
// Without a unit the number has that of the metric. short maps short names of metrics.
func ParseObjective(text string, short map[string]string) (Objective, error) {
	m := objectiveForm.FindStringSubmatch(text)
	if m == nil {
		return Objective{}, fmt.Errorf("%q is not of the form STATISTIC(METRIC) < NUMBER, "+
			"for example p99(time_to_first_token) < 500ms", text)
	}
	o := Objective{
		Text: strings.Join(strings.Fields(text), " "),
		Op:   Op(strings.NewReplacer("≤", "<=", "≥", ">=").Replace(m[4])),
	}
	name := cmp.Or(m[2], m[3])
	o.Tag = cmp.Or(short[strings.ToLower(name)], name)
	def, ok := catalogue.Lookup(o.Tag)
	if !ok {
		var tags []string
		for _, d := range catalogue.Defs() {
			tags = append(tags, d.Tag)
		}
		return Objective{}, fmt.Errorf("%q is not a metric%s", name, suggestMetric(name, tags))
	}
	scalar := (def.Kind == catalogue.Aggregate || def.Kind == catalogue.Derived) && !strings.HasPrefix(o.Tag, "adj_")
	if m[1] == "" && !scalar {
		o.Text = fmt.Sprintf("avg(%s) %s %s%s", name, o.Op, m[5], m[6])
	}
	if o.Stat, ok = metric.ParseStat(cmp.Or(m[1], metric.Avg.String())); !ok {
		return Objective{}, fmt.Errorf("%q is not a statistic, use one of %s", m[1], strings.Join(metric.StatNames(), ", "))
	}
	if scalar && o.Stat != metric.Avg {
		return Objective{}, fmt.Errorf("%s has one value, not a distribution: write %s %s %s", o.Tag, o.Tag, o.Op, m[5]+m[6])
	}
	number, err := strconv.ParseFloat(m[5], 64)
	if err != nil || math.IsInf(number, 0) {
		return Objective{}, fmt.Errorf("%q is not a number", m[5])
	}
	factor, err := unitFactor(m[6], def.Unit)
	if err != nil {
		return Objective{}, err
	}
	o.Limit = number * factor
	return o, nil
}

// suggestMetric returns the metrics that a wrong name probably means: those of the headline
// that contain it, or else the nearest one.
func suggestMetric(name string, tags []string) string {
	var usual []string
	for _, tag := range []string{"request_throughput", "output_token_throughput", "request_latency", "request_error_rate"} {
		if len(name) > 3 && strings.Contains(tag, strings.ToLower(name)) {
			usual = append(usual, strconv.Quote(tag))
		}
	}
	if len(usual) > 0 {
		return "; did you mean " + strings.Join(usual, " or ") + "?"
	}
	return suggest.DidYouMean(name, tags)
}

// unitFactor returns the factor from a unit to that of a metric.
func unitFactor(unit, to string) (float64, error) {
	times := map[string]float64{"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "min": 60}
	have, isTime := times[unit]
	want, wantsTime := times[to]
	switch {
	case unit == "" || unit == to:
		return 1, nil
	case isTime && wantsTime:
		return have / want, nil
	case wantsTime:
		return 0, fmt.Errorf("%q is not a unit of time, use ns, us, ms, s or min", unit)
	}
	return 0, fmt.Errorf("the unit is %s, not %q", to, unit)
}

// Judge returns the outcome of each objective. A value that a run does not have does not
// meet any, except counts of errors and cancellations, which are absent if there were
// none.
func Judge(objectives []Objective, rs metric.Results) []metric.SLOResult {
	var out []metric.SLOResult
	for _, o := range objectives {
		r := metric.SLOResult{
			Objective: o.Text, Metric: o.Tag, Statistic: o.Stat.String(), Operator: string(o.Op), Limit: o.Limit,
		}
		if def, ok := catalogue.Lookup(o.Tag); ok {
			r.Unit = def.Unit
		}
		if v, ok := objectiveValue(&o, rs); ok {
			r.Met = o.Op.holds(v, o.Limit)
			if !math.IsInf(v, 0) {
				r.Value = &v
			}
			r.Doubt = o.doubt(rs.Find(o.Tag), r.Met)
			r.Uncertain = r.Doubt != ""
		}
		out = append(out, r)
	}
	return out
}

// doubt returns why a plausible value of the statistic has the other outcome; empty if none
// has.
func (o *Objective) doubt(m *metric.Result, met bool) string {
	if m == nil {
		return ""
	}
	p := m.Confidence.Plausible(o.Stat)
	switch {
	case p == nil, o.Op.holds(p.Low, o.Limit) == met && o.Op.holds(p.High, o.Limit) == met:
		return ""
	case p.Observed:
		return fmt.Sprintf("the limit is within the confidence interval, %.4g to %s",
			p.Low, metric.ValueText(p.High, m.Def.Unit))
	case m.Count == 1:
		return fmt.Sprintf("one value is too few to be sure of the %s", o.Stat)
	case p.Effective < nearlyAll*float64(m.Count):
		return fmt.Sprintf("%d values, worth %.0f independent ones, are too few to be sure of the %s",
			m.Count, max(1, p.Effective), o.Stat)
	}
	return fmt.Sprintf("%d values are too few to be sure of the %s", m.Count, o.Stat)
}

// nearlyAll is the share of values from which on they count as independent in words.
const nearlyAll = 0.9

// objectiveValue returns the statistic of an objective.
func objectiveValue(o *Objective, rs metric.Results) (float64, bool) {
	m := rs.Find(o.Tag)
	if m != nil {
		return m.Get(o.Stat)
	}
	switch o.Tag {
	case "error_request_count", "cancelled_request_count", "context_overflow_count", "skipped_turns", "dropped_arrival_count":
		return 0, len(rs) > 0 && o.Stat == metric.Avg
	}
	return 0, false
}
