package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
)

// Rule is one condition of a gate: a limit on a statistic of the candidate (max or min), or on how
// much worse than the baseline it may be. Exactly one of the three is given.
type Rule struct {
	Metric string   `json:"metric" example:"time_to_first_token"`
	Stat   string   `json:"stat,omitempty" example:"p95"` // empty = avg
	Max    *float64 `json:"max,omitempty"`                // in the unit of the metric
	Min    *float64 `json:"min,omitempty"`                // in the unit of the metric
	// MaxRegression is a share of the value of the baseline, such as 0.03, or for shares of
	// requests a difference: 0.03 is 3 points.
	MaxRegression *float64 `json:"max_regression,omitempty"`
	// OnInconclusive is what the rule counts as if it is not decided; empty = as the gate says.
	OnInconclusive OnInconclusive `json:"on_inconclusive,omitempty" enums:"error,pass,fail"`
}

// OnInconclusive is what a rule that is not decided counts as.
type OnInconclusive string

// The choices; empty stands for [CountsAsError].
const (
	CountsAsError OnInconclusive = "error" // the gate is inconclusive
	CountsAsPass  OnInconclusive = "pass"
	CountsAsFail  OnInconclusive = "fail"
)

// Known reports whether o is a choice, or empty.
func (o OnInconclusive) Known() bool {
	switch o {
	case "", CountsAsError, CountsAsPass, CountsAsFail:
		return true
	}
	return false
}

// ruleForm is METRIC:STATISTIC op NUMBER unit; a number with a sign and % is a change from the baseline.
var ruleForm = regexp.MustCompile(`^\s*([\w.]+)(?:\s*:\s*(\w+))?\s*` +
	`(<=|>=|<|>|≤|≥)\s*([-+]?)([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(\S*)\s*$`)

// ParseRule reads a rule such as time_to_first_token:p95<400 (a limit, in the unit of the metric or in
// the one that follows) or output_token_throughput>-3% (a change from the baseline). Without a statistic it
// is about the average. short maps short names of metrics.
func ParseRule(text string, short map[string]string) (Rule, error) {
	m := ruleForm.FindStringSubmatch(text)
	if m == nil {
		return Rule{}, fmt.Errorf("%q is not of the form METRIC:STATISTIC<LIMIT, for example "+
			"time_to_first_token:p95<400 or, for a change from the baseline, output_token_throughput>-3%%", text)
	}
	name, stat, sign, number, unit := m[1], m[2], m[4], m[5], m[6]
	below := strings.ContainsAny(m[3], "<≤")
	if sign != "" && unit == "%" {
		return parseRegression(name, stat, below, sign, number, short)
	}
	form := name
	if stat != "" && stat != metric.Avg.String() {
		form = stat + "(" + name + ")"
	}
	o, err := measure.ParseObjective(form+" < "+sign+number+unit, short)
	if err != nil {
		return Rule{}, err
	}
	rule := Rule{Metric: o.Tag, Stat: o.Stat.String()}
	if below {
		rule.Max = &o.Limit
	} else {
		rule.Min = &o.Limit
	}
	_, err = rule.resolve()
	return rule, err
}

// parseRegression reads a rule on the change from the baseline.
func parseRegression(name, stat string, below bool, sign, number string, short map[string]string) (Rule, error) {
	share, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return Rule{}, fmt.Errorf("%q is not a number", number)
	}
	rule := Rule{Metric: cmp.Or(short[strings.ToLower(name)], name), Stat: stat, MaxRegression: new(share / 100)}
	asked, err := rule.resolve()
	if err != nil {
		return Rule{}, err
	}
	rule.Stat = asked.stat.String()
	wantBelow, form := true, "<+"
	if asked.better == Higher {
		wantBelow, form = false, ">-"
	}
	if below != wantBelow || (sign == "+") != wantBelow {
		return Rule{}, fmt.Errorf("%s is worse if it is %s: write %s%s%s%%", rule.Metric,
			map[bool]string{true: "higher", false: "lower"}[wantBelow], rule.name(), form, number)
	}
	return rule, nil
}

// name returns the metric and the statistic as rules write them.
func (r *Rule) name() string {
	if r.Stat == "" || r.Stat == metric.Avg.String() {
		return r.Metric
	}
	return r.Metric + ":" + r.Stat
}

// String returns the rule as [ParseRule] reads it.
func (r *Rule) String() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	switch {
	case r.Max != nil:
		return r.name() + "<" + number(*r.Max)
	case r.Min != nil:
		return r.name() + ">" + number(*r.Min)
	case r.MaxRegression == nil:
		return r.name()
	}
	sign := "<+"
	if def, ok := catalogue.Lookup(r.Metric); ok && direction(def) == Higher {
		sign = ">-"
	}
	const digits = 1e9 // 100 times 0.03 is not quite 3
	return r.name() + sign + number(math.Round(100**r.MaxRegression*digits)/digits) + "%"
}

// resolved is a rule whose names have been looked up.
type resolved struct {
	Rule
	def    *catalogue.Def
	stat   metric.Stat
	better Direction
	points bool    // it is compared by differences, in percentage points
	scale  float64 // of a value to points
}

// resolve looks up the names of a rule. The error says what is wrong with it.
func (r *Rule) resolve() (*resolved, error) {
	text := r.Metric
	if r.Stat != "" && r.Stat != metric.Avg.String() {
		text = r.Stat + "(" + r.Metric + ")"
	}
	o, err := measure.ParseObjective(text+" < 0", nil)
	if err != nil {
		return nil, err
	}
	out := &resolved{Rule: *r, stat: o.Stat, scale: 1}
	out.def, _ = catalogue.Lookup(r.Metric) // ParseObjective has found it
	out.Stat, out.better = o.Stat.String(), direction(out.def)
	const share = "ratio"
	out.points = out.def.Unit == "%" || r.Metric == "good_request_fraction" ||
		strings.HasPrefix(r.Metric, "slo_attainment.")
	if out.points && out.def.Unit == share {
		out.scale = 100
	}
	limits := 0
	for _, limit := range []*float64{r.Max, r.Min, r.MaxRegression} {
		if limit != nil {
			limits++
		}
	}
	switch {
	case limits != 1:
		return nil, fmt.Errorf("%s: give exactly one of max, min and max_regression", r.name())
	case !r.OnInconclusive.Known():
		return nil, fmt.Errorf("%s: on_inconclusive is %q, use error, pass or fail", r.name(), r.OnInconclusive)
	case r.MaxRegression == nil:
	case !(*r.MaxRegression > 0 && *r.MaxRegression < 1):
		return nil, fmt.Errorf("%s: max_regression must be above 0 and below 100 %%", r.name())
	case out.better == Undefined:
		return nil, fmt.Errorf("%s is neither better nor worse if it is higher; give a limit (max or min)", r.name())
	}
	return out, nil
}

// CheckRules returns what is wrong with rules, each with its place in the list.
func CheckRules(rules []Rule) error {
	if len(rules) == 0 {
		return errors.New("a gate needs at least one rule")
	}
	_, err := resolveRules(rules)
	return err
}

func resolveRules(rules []Rule) ([]*resolved, error) {
	var out []*resolved
	var faults []error
	for i := range rules {
		r, err := rules[i].resolve()
		if err != nil {
			faults = append(faults, fmt.Errorf("rule %d: %w", i+1, err))
			continue
		}
		out = append(out, r)
	}
	return out, errors.Join(faults...)
}
