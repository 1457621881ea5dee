package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/view"
)

// comparedText returns the text of a comparison.
func (c *content) comparedText() *text {
	t := &text{Title: fmt.Sprintf("Comparison of %d runs", len(c.runs)), Origin: fmt.Sprintf("aiperfd %s, baseline %s", c.version, c.comparison.Baseline)}
	names := c.names()
	for i := range c.runs {
		t.alarm(&c.runs[i], names[i]+": ", verdict.Decisive(reasons(&c.runs[i])))
	}
	tables := []table{c.compared(names)}
	for i, a := range c.judged {
		if a != nil {
			tables = append(tables, c.judgement(t, names[i+1], a))
		}
	}
	t.add(append(tables, c.deltas(names))...)
	if c.sweeps != nil {
		t.add(byValue(names, c.sweeps))
	}
	t.add(c.differences(names))
	return t
}

// names returns short names of the runs, which differ from one another: A, B, ….
func (c *content) names() []string {
	out := make([]string, len(c.runs))
	for i := range out {
		out[i] = string(rune('A' + i))
	}
	return out
}

// compared lists the runs.
func (c *content) compared(names []string) table {
	t := newTable("Runs", []string{"", "Run", "Model", "Load", "Started", "Outcome"})
	for i := range c.runs {
		r, in := &c.runs[i], &c.comparison.Runs[i]
		started := view.Absent
		if r.StartedAt != nil {
			started = r.StartedAt.UTC().Format("2006-01-02 15:04 UTC")
		}
		how := []string{string(r.State), verdicts(r)}
		switch {
		case c.sweeps != nil: // they have values instead
			how = append(how, trials(r))
		case in.Results != compare.Final:
			how = append(how, string(in.Results)+" results")
			if in.Reason != nil {
				how = append(how, *in.Reason)
			}
		}
		if i == 0 {
			how = append([]string{"baseline"}, how...)
		}
		t.Rows = append(t.Rows, []string{names[i], title(r), strings.Join(r.Models, ", "), load(r), started, join(how)})
	}
	return t
}

// judgement adds the answer for one run against the baseline to a text, and returns its table.
func (c *content) judgement(t *text, name string, a *compare.Answer) table {
	t.Answer = append(t.Answer, a.Headline(name)+".")
	if notes := a.Notes(); len(notes) > 0 {
		t.Lists = append(t.Lists, list{Title: "About the answer for " + name, Items: notes})
	}
	return table{Table: a.Table(name + " against the baseline")}
}

// deltas shows the main metrics side by side.
func (c *content) deltas(names []string) table {
	t := newTable("Values and changes from the baseline", []string{"Metric", "Unit"}, names...)
	for _, want := range []struct{ tag, statistics string }{
		{"request_throughput", "avg"}, {"goodput", "avg"}, {"output_token_throughput", "avg"}, {"output_token_throughput_per_user", "p50"},
		{"time_to_first_token", "p50 p90 p99"}, {"inter_token_latency", "avg p50 p99"}, {"request_latency", "p50 p90 p99"},
		{"output_sequence_length", "avg"}, {"error_request_count", "avg"},
	} {
		m := find(c.comparison, want.tag)
		if m == nil {
			continue
		}
		for name := range strings.FieldsSeq(want.statistics) {
			i := slices.IndexFunc(m.Statistics, func(s compare.Statistic) bool { return s.Name == name })
			if i < 0 {
				continue
			}
			label := m.Header
			if len(m.Statistics) > 1 {
				label += " " + name
			}
			row := []string{label, m.Unit}
			for j := range m.Statistics[i].Values {
				row = append(row, delta(&m.Statistics[i].Values[j]))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// delta returns a value with its change.
func delta(v *compare.Value) string {
	out := view.Compact(v.Value)
	switch {
	case v.Percent == nil:
		return out
	case math.Abs(*v.Percent) < 0.05:
		return out + " ±0 %"
	}
	return out + fmt.Sprintf(" %+.1f %%", *v.Percent)
}

// differences lists the values of the configurations that are not the same.
func (c *content) differences(names []string) table {
	t := newTable("Differences of the configurations", append([]string{"Field"}, names...))
	for i := range c.comparison.Differences {
		if i == maxDifferences {
			t.More = plural(int64(len(c.comparison.Differences)-i), "more difference")
			break
		}
		d := &c.comparison.Differences[i]
		row := []string{d.Pointer}
		for j := range c.runs {
			row = append(row, valueOf(d, c.runs[j].ID))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// valueOf returns the value of a run in a difference.
func valueOf(d *compare.Difference, id string) string {
	i := slices.IndexFunc(d.Values, func(f compare.Field) bool { return f.Run == id })
	if i < 0 {
		return view.Absent
	}
	if s, ok := d.Values[i].Value.(string); ok {
		return cut(s)
	}
	data, err := json.Marshal(d.Values[i].Value)
	if err != nil {
		return view.Absent
	}
	return cut(string(data))
}
