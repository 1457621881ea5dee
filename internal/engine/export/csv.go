package export

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
)

// csvStats are the columns of the CSV file.
var csvStats = [...]metric.Stat{
	metric.Avg, metric.Min, metric.Max, metric.Sum, metric.P1, metric.P5, metric.P10, metric.P25,
	metric.P50, metric.P75, metric.P90, metric.P95, metric.P99, metric.Std,
}

// writeCSV writes AIPerf's table: profile_export_aiperf.csv. Distributions come
// first, then metrics of one value, then, in a table of ours, how far they can be
// trusted; within each, AIPerf's metrics sorted by tag and then ours.
func writeCSV(w io.Writer, r *Report) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	head := []string{"Metric"}
	for _, s := range csvStats {
		head = append(head, s.String())
	}
	var rows, scalars [][]string
	for _, m := range sortedByTag(r.Results) {
		if !distributed(m) {
			scalars = append(scalars, []string{csvName(m.Def), cell(m, metric.Avg, r.Layout.CSVDigits)})
			continue
		}
		row := []string{csvName(m.Def)}
		for _, s := range csvStats {
			row = append(row, cell(m, s, r.Layout.CSVDigits))
		}
		rows = append(rows, row)
	}
	if err := out.WriteAll(append([][]string{head}, rows...)); err != nil {
		return err
	}
	if len(scalars) > 0 {
		scalars = append([][]string{{"Metric", "Value"}}, scalars...)
	}
	for _, table := range [][][]string{scalars, confidenceTable(sortedByTag(r.Results), r.Layout.CSVDigits)} {
		if len(table) == 0 {
			continue
		}
		if _, err := io.WriteString(w, "\r\n"); err != nil { // WriteAll has flushed
			return err
		}
		if err := out.WriteAll(table); err != nil {
			return err
		}
	}
	return writeDevicesCSV(w, r)
}

// sortedByTag returns the metrics in the order of the CSV file.
func sortedByTag(rs metric.Results) []*metric.Result {
	all := slices.DeleteFunc(ordered(rs), func(m *metric.Result) bool { return !printable(m) })
	slices.SortStableFunc(all, func(a, b *metric.Result) int {
		return cmp.Or(cmp.Compare(a.Def.Origin, b.Def.Origin), cmp.Compare(a.Def.Tag, b.Def.Tag))
	})
	return all
}

// distributed reports whether a metric has percentiles.
func distributed(m *metric.Result) bool {
	for s := metric.P1; s <= metric.P99; s++ {
		if v, ok := m.Get(s); ok && finite(v) {
			return true
		}
	}
	return false
}

// csvName is the first cell of a row.
func csvName(d *catalogue.Def) string {
	if d.Unit == "count" || d.Unit == "requests" || d.Unit == "" {
		return d.Header
	}
	return d.Header + " (" + d.Unit + ")"
}

// cell formats one statistic; empty = there is none.
func cell(m *metric.Result, s metric.Stat, digits *int) string {
	v, ok := m.Get(s)
	if !ok || !finite(v) {
		return ""
	}
	return decimal(v, digits)
}
