package export

import (
	"bytes"
	"encoding/csv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/cell"
)

// table writes rows as CSV; a row without cells is an empty line.
func table(rows [][]string) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for _, row := range rows {
		if len(row) == 0 {
			w.Flush()
			out.WriteByte('\n')
			continue
		}
		_ = w.Write(row) // to memory
	}
	w.Flush()
	return out.Bytes()
}

// decimals formats a number; what is none, or infinite, is empty.
func decimals(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// aggregateCSV returns AIPerf's table of the statistics of one variation.
func aggregateCSV(r *Report, c *cell.Result) []byte {
	rows := [][]string{{"metric", "mean", "std", "min", "max", "cv", "se", "ci_low", "ci_high", "t_critical", "unit"}}
	for i := range c.Statistics {
		s := &c.Statistics[i]
		rows = append(rows, []string{
			s.Key(), decimals(s.Mean, 2), decimals(s.Std, 2), decimals(s.Min, 2), decimals(s.Max, 2), decimals(s.CV(), 4),
			decimals(s.SE, 4), decimals(s.Low, 2), decimals(s.High, 2), decimals(s.T, 4), s.Unit,
		})
	}
	return table(append(rows, r.aggregateMetadata(c)...))
}

// aggregateMetadata returns AIPerf's rows below the table of a variation. Values are written
// as Python does.
func (r *Report) aggregateMetadata(c *cell.Result) [][]string {
	names, _ := labels(c)
	rows := [][]string{
		nil,
		{"Aggregation Type", "confidence"},
		{"Total Runs", strconv.Itoa(len(c.Trials))},
		{"Successful Runs", strconv.Itoa(len(c.Good))},
		{"Confidence Level", strconv.FormatFloat(r.Study.MultiRun.ConfidenceLevel, 'g', -1, 64)},
		{"Run Labels", "['" + strings.Join(names, "', '") + "']"},
	}
	if len(c.Good) == 1 {
		rows = append(rows, []string{"Single Run", "True"})
	}
	rows = append(rows, []string{"Cooldown Seconds", decimals(float64(r.Study.MultiRun.CooldownSeconds), 1)})
	if r.Study.Sweep == nil {
		return rows
	}
	var pairs []string
	for _, a := range c.Values {
		text := sweep.Text(a.Value)
		if _, isText := a.Value.(string); isText {
			text = "'" + text + "'"
		}
		pairs = append(pairs, "'"+a.Path+"': "+text)
	}
	rows = append(rows,
		[]string{"Variation Label", c.Label},
		[]string{"Variation Values", "{" + strings.Join(pairs, ", ") + "}"},
		[]string{"Sweep Mode", r.order()})
	if model := r.model(c); model != "" {
		rows = append(rows, []string{"Model", model})
	}
	return rows
}

// sweepCSV returns the table of a sweep: one row per variation.
func sweepCSV(r *Report) []byte {
	cells, best := r.Rows(), r.Compare()
	paths, names := r.names()
	keys := make(map[string]bool)
	for i := range cells {
		for k := range cells[i].Statistics {
			keys[cells[i].Statistics[k].Key()] = true
		}
	}
	metrics := slices.Sorted(maps.Keys(keys))
	head := slices.Clone(names)
	for _, m := range metrics {
		head = append(head, m+"_mean", m+"_std", m+"_min", m+"_max", m+"_cv")
	}
	rows := [][]string{append(head, "feasible", "client_invalid", "num_successful_runs")}
	for i := range cells {
		c := &cells[i]
		row := valuesOf(c, paths)
		have := make(map[string]*cell.Statistic)
		for k := range c.Statistics {
			have[c.Statistics[k].Key()] = &c.Statistics[k]
		}
		for _, m := range metrics {
			if s := have[m]; s != nil {
				row = append(row, decimals(s.Mean, 4), decimals(s.Std, 4), decimals(s.Min, 4), decimals(s.Max, 4), decimals(s.CV(), 4))
				continue
			}
			row = append(row, "", "", "", "", "")
		}
		rows = append(rows, append(row, strconv.FormatBool(c.Feasible()), strconv.FormatBool(slices.Contains(best.Excluded, i)), strconv.Itoa(len(c.Good))))
	}
	return table(append(rows, r.sweepSections(&best, paths, names)...))
}

// valuesOf returns the values of a variation as cells of a table.
func valuesOf(c *cell.Result, paths []string) []string {
	var row []string
	for _, p := range paths {
		v, ok := c.Value(p)
		switch {
		case p == "":
			row = append(row, c.Label)
		case ok:
			row = append(row, sweep.Text(v))
		default:
			row = append(row, "")
		}
	}
	return row
}

// sweepSections returns what follows the table of variations.
func (r *Report) sweepSections(best *cell.Comparison, paths, names []string) [][]string {
	rows := [][]string{nil, {"Best Configurations"}, append(append([]string{"Configuration"}, names...), "Metric", "Unit")}
	for _, b := range bests(best) {
		c := &r.rows[b.at]
		e := c.Find(b.tag, b.stat)
		rows = append(rows, append(append([]string{b.title}, valuesOf(c, paths)...), decimals(e.Mean, 4), e.Unit))
	}
	rows = append(rows, nil, []string{"Pareto Optimal Points"}, names)
	for _, i := range best.Pareto {
		rows = append(rows, valuesOf(&r.rows[i], paths))
	}
	if len(best.Pareto) == 0 {
		rows = append(rows, []string{"None"})
	}
	runs, good := 0, 0
	for i := range r.rows {
		runs, good = runs+len(r.rows[i].Trials), good+len(r.rows[i].Good)
	}
	return append(rows, nil, []string{"Metadata"}, []string{"Field", "Value"},
		[]string{"Aggregation Type", "sweep"}, []string{"Sweep Parameters", strings.Join(names, ", ")},
		[]string{"Number of Combinations", strconv.Itoa(len(r.rows))},
		[]string{"Number of Profile Runs", strconv.Itoa(runs)}, []string{"Number of Successful Runs", strconv.Itoa(good)})
}
