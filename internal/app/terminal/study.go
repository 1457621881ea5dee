package terminal

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
	"aiperfd/internal/study/capacity"
	"aiperfd/internal/study/cell"
	studyexport "aiperfd/internal/study/export"
	"aiperfd/internal/study/search"
	"aiperfd/internal/view"
)

// Print writes a line above the status, or logs it if nothing is drawn.
func (p *Progress) Print(line string) {
	if !p.Draw {
		p.Log.Info().Msg(line)
		return
	}
	_, _ = p.Screen.Write([]byte(view.Printable(line) + "\n")) // the run does not fail because its terminal is gone
}

// column is a column of the table of variations: a statistic.
type column struct {
	view.Column
	tag, stat string
}

// columnOf returns the column of a statistic. Of too many columns the one with the largest
// weight is left out.
func columnOf(title, tag, stat string, weight int) column {
	return column{view.Column{Title: title, Weight: weight, Number: true}, tag, stat}
}

// studyColumns returns the columns of a study: those of every table, and the statistics that
// decide in this one, which have priority.
func studyColumns(s *config.Study) []column {
	out := []column{
		columnOf("req/s", "request_throughput", "avg", 1),
		columnOf("out tok/s", "output_token_throughput", "avg", 5),
		columnOf("TTFT p50 ms", "time_to_first_token", "p50", 6),
		columnOf("TTFT p99 ms", "time_to_first_token", "p99", 4),
		columnOf("ITL avg ms", "inter_token_latency", "avg", 7),
		columnOf("latency p50 ms", "request_latency", "p50", 9),
		columnOf("latency p99 ms", "request_latency", "p99", 3),
		columnOf("goodput/s", "goodput", "avg", 8),
	}
	for _, d := range deciding(s) {
		i := slices.IndexFunc(out, func(c column) bool { return c.tag == d.tag && c.stat == d.stat })
		if i < 0 {
			out = append(out, d)
			continue
		}
		out[i].Weight = min(out[i].Weight, d.Weight)
	}
	return out
}

// deciding returns the statistics that the limits of a study, or of its search, are about.
func deciding(s *config.Study) []column {
	var filters []sweep.Filter
	if s.Sweep != nil {
		filters = slices.Clone(s.Sweep.SLAFilters)
	}
	if s.Adaptive() {
		for _, tier := range s.Sweep.SLATiers {
			filters = append(filters, tier.Filters...)
		}
	}
	var out []column
	for _, f := range filters {
		if slices.ContainsFunc(out, func(c column) bool { return c.tag == f.MetricTag && c.stat == f.Stat }) {
			continue
		}
		c := columnOf(f.MetricTag+" "+f.Stat, f.MetricTag, f.Stat, 2)
		if def, ok := catalogue.Lookup(f.MetricTag); ok {
			c.Title = strings.TrimSpace(shortName(def) + " " + f.Stat + " " + def.Unit)
		}
		out = append(out, c)
	}
	return out
}

// shortName is the name of a metric in the heading of a column.
func shortName(def *catalogue.Def) string {
	switch def.Tag {
	case "time_to_first_token", "inter_token_latency":
		return def.Short
	case "request_latency":
		return "latency"
	}
	return strings.ReplaceAll(def.Tag, "_", " ")
}

// CellLine returns the line of a cell of a study that has ended.
func CellLine(s *config.Study, parent, child *run.Run, t *cell.Trial) string {
	counted := fmt.Sprintf("[%d/%d] ", parent.Study.Done, parent.Study.Total)
	if parent.Study.Type == sweep.Adaptive { // its results decide how many there are
		counted = fmt.Sprintf("[%d] ", parent.Study.Done)
	}
	line := counted + studyexport.TrialName(&child.Cell.Variation, child.Cell.Trial)
	if child.State == bench.StateCancelled && t.Failure != "" {
		return line + "  cancelled: " + t.Failure
	}
	if t.Failure != "" {
		return line + "  FAILED: " + t.Failure
	}
	shown := []column{
		columnOf("req/s", "request_throughput", "avg", 0), columnOf("tok/s", "output_token_throughput", "avg", 0),
		columnOf("TTFT p99 ms", "time_to_first_token", "p99", 0), columnOf("latency p99 ms", "request_latency", "p99", 0),
	}
	for _, d := range deciding(s) {
		if !slices.ContainsFunc(shown, func(c column) bool { return c.tag == d.tag && c.stat == d.stat }) {
			shown = append(shown, d)
		}
	}
	var worst *cell.Doubt
	for _, c := range shown {
		if m := t.Metric(c.tag); m != nil && m.Doubt != nil && (worst == nil || m.Doubt.Times > worst.Times) {
			worst = m.Doubt
		}
		v, ok := t.Stat(c.tag, c.stat)
		name, milliseconds := strings.CutSuffix(c.Title, " ms")
		switch {
		case !ok:
		case milliseconds:
			line += "  " + name + " " + view.Figure(v) + " ms"
		case strings.HasSuffix(c.Title, "/s"):
			line += "  " + view.Figure(v) + " " + c.Title
		default:
			line += "  " + c.Title + " " + view.Figure(v)
		}
	}
	if worst != nil {
		line += "  (" + worst.Number + " " + worst.Off + ")"
	}
	return line
}

// TableOptions are how the table of a study is written.
type TableOptions struct {
	Width  int // columns; 0 = 80
	Style  Style
	Folder string // of the files, as users type it
}

// StudyTable writes the results of a study: a row per variation, the best ones, and what
// was left out.
func StudyTable(w io.Writer, r *studyexport.Report, o TableOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	cells, best := r.Rows(), r.Compare()
	if r.Study.Sweep == nil {
		best.Pareto = nil // a row has none to be compared with
	}
	columns, table := studyTable(r.Study, cells, &best, o)
	var out strings.Builder
	out.WriteByte('\n')
	if answer := capacityNotes(r); len(answer) > 0 {
		if a := r.Answer(); a.Paired != nil {
			out.WriteString(view.Hang(strings.Fields(answer[0]), o.Width, "\n  ") + "\n\n")
			metrics := a.PairedTable()
			metrics.Narrow(view.Plain, o.Width)
			out.WriteString(metrics.Text(o.Width) + "\n")
			answer = answer[1:]
		}
		for _, note := range answer {
			out.WriteString(view.Hang(strings.Fields(note), o.Width, "\n  ") + "\n")
		}
		out.WriteByte('\n')
	}
	for i, line := range table.Lines(o.Width) {
		if o.Style.Color && i == 0 {
			line = "\x1b[1m" + line + "\x1b[0m"
		}
		out.WriteString(line + "\n")
	}
	out.WriteByte('\n')
	for _, note := range studyNotes(r, cells, &best, columns, o) {
		out.WriteString(view.Hang(strings.Fields(note), o.Width, "\n  ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// studyTable returns the columns that fit, and the table with them.
func studyTable(s *config.Study, cells []cell.Result, best *cell.Comparison, o TableOptions) ([]column, view.Table) {
	columns := slices.DeleteFunc(studyColumns(s), func(c column) bool {
		return !slices.ContainsFunc(cells, func(x cell.Result) bool { return x.Find(c.tag, c.stat) != nil })
	})
	for {
		t := tableWith(columns, cells, best, o)
		i := t.Excess(view.Plain, o.Width)
		if len(columns) < 2 || i < 0 {
			return columns, t
		}
		columns = slices.Delete(columns, i-len(leading), i-len(leading)+1)
	}
}

// leading are the columns before the statistics.
var leading = [...]view.Column{{}, {Title: "variation"}, {Title: "runs", Number: true}}

// tableWith returns the table with these columns.
func tableWith(columns []column, cells []cell.Result, best *cell.Comparison, o TableOptions) view.Table {
	t := view.Table{Columns: slices.Clone(leading[:])}
	for i := range columns {
		t.Columns = append(t.Columns, columns[i].Column)
	}
	t.Columns = append(t.Columns, view.Column{Title: "client"})
	for i := range cells {
		c := &cells[i]
		row := []string{mark(i, best), title(c), fmt.Sprint(len(c.Good))}
		if left := len(c.Trials) - len(c.Good); left > 0 {
			row[2] += fmt.Sprintf(" of %d", len(c.Trials))
		}
		for _, k := range columns {
			row = append(row, figure(c.Find(k.tag, k.stat), o.Style))
		}
		t.Rows = append(t.Rows, append(row, clientOf(c, columns)))
	}
	return t
}

// mark is a star for the Pareto set.
func mark(i int, best *cell.Comparison) string {
	switch {
	case slices.Contains(best.Pareto, i):
		return "*"
	case slices.Contains(best.Excluded, i):
		return "x"
	case slices.Contains(best.Infeasible, i):
		return "-"
	}
	return ""
}

func title(c *cell.Result) string {
	const most = 32
	text := studyexport.Short(&c.Variation)
	if c.Label == "base" {
		text = "all runs"
	}
	return view.Fit(text, most)
}

// fewMark follows a percentile of too few independent requests.
const fewMark = "*"

// markedFigure returns the mean of an estimate, with a mark if the load generator distorted it
// or a run has too few requests for it.
func markedFigure(e *cell.Estimate) string {
	text := view.Figure(e.Mean)
	if e.Unsupported {
		text += fewMark
	}
	if e.Invalid {
		text += distortedMark
	}
	return text
}

// figure returns an estimate with its marks and half the width of its interval.
func figure(e *cell.Estimate, s Style) string {
	if e == nil {
		return "-"
	}
	text := markedFigure(e)
	if e.N < 2 {
		return text
	}
	sign := "±"
	if s.ASCII {
		sign = "+-"
	}
	return text + " " + sign + view.Figure((e.High-e.Low)/2)
}

// clientOf returns the worst verdict on the load generator by the numbers of the columns.
func clientOf(c *cell.Result, columns []column) string {
	word := "-"
	for i := range c.Good {
		t := &c.Good[i]
		switch t.Client {
		case "":
		case string(verdict.Unknown):
			word = t.Client
		default:
			if word == "-" {
				word = string(verdict.OK)
			}
		}
	}
	for _, k := range columns {
		if c.Invalid(k.tag) {
			return "INVALID"
		}
		for _, t := range c.Counting(k.tag) {
			if m := t.Metric(k.tag); m != nil && m.Doubt != nil {
				word = string(verdict.Suspect)
			}
		}
	}
	return word
}

// capacityNotes returns the lines above the table of a search for a capacity: the answer comes first.
// There are none for other studies.
func capacityNotes(r *studyexport.Report) []string {
	a := r.Answer()
	if a == nil {
		return nil
	}
	if a.Paired != nil {
		return append(slices.Clip(a.Sentences), a.PairedNotes()...)
	}
	if a.Kind == string(run.RepeatsExperiment) {
		return append(slices.Clip(a.Sentences), a.Notes()...)
	}
	if a.Stop.Text == "" {
		return a.Sentences
	}
	out := append(slices.Clip(a.Sentences), "The search ended: "+a.Stop.Text+".")
	// Of an estimate, the sentences have what a narrower interval takes.
	if a.Decide.Needs != "" && string(a.Verdict) != string(capacity.Estimated) {
		out = append(out, "What would decide it: "+a.Decide.Needs+".")
	}
	return out
}

// studyNotes returns the lines below the table.
func studyNotes(r *studyexport.Report, cells []cell.Result, best *cell.Comparison, columns []column, o TableOptions) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	answered := len(capacityNotes(r)) > 0
	if found := search.Of(r.Study); found != nil && !answered {
		notes = slices.Concat(r.Summary().Undecided(), found.Findings(r.Outcomes), found.Ending(r.Outcomes))
	}
	if r.Study.Sweep != nil && !answered && best.BestThroughput >= 0 {
		e := cells[best.BestThroughput].Find(cell.ThroughputTag, cell.ThroughputStat)
		add("Best throughput%s: %s (%s req/s)", within(cells, best, best.BestThroughput), title(&cells[best.BestThroughput]), markedFigure(e))
	}
	if r.Study.Sweep != nil && !answered && best.BestLatency >= 0 {
		e := cells[best.BestLatency].Find(best.LatencyTag, cell.LatencyStat)
		add("Best %s p99%s: %s (%s ms)", latencyName(best), within(cells, best, best.BestLatency), title(&cells[best.BestLatency]), markedFigure(e))
	}
	if r.Study.Sweep != nil {
		notes = append(notes, studyexport.Findings(r.Study.Sweep.PostProcess, r.Outcomes)...)
	}
	notes = append(notes, setNotes(r, cells, best)...)
	notes = append(notes, skipNotes(r.Skipped)...)
	if len(best.Excluded) > 0 {
		format := "x excluded: load generator verdict invalid for the numbers that decide (%d of %d variations)."
		if r.Study.Adaptive() {
			format = "x load generator verdict invalid for a number that the search uses (%d of %d variations): " +
				"these cannot be best, and the load generator may have caused the violations of limits there."
		}
		add(format, len(best.Excluded), len(cells))
	}
	if r.Run.Study != nil {
		for i := range r.Run.Study.Objectives {
			add("%s", r.Run.Study.Objectives[i].Line())
		}
		if failed := r.Run.Study.Failed; failed > 0 {
			add("%s failed.", view.Plural(failed, "run"))
		}
	}
	if starred(cells, columns, best) {
		add("%s after a percentile: a run has too few independent requests for it.", fewMark)
	}
	tags := r.Used()
	for _, k := range columns {
		tags = append(tags, k.tag)
	}
	notes = append(notes, doubtNotes(cells, tags)...)
	if n := r.Study.MultiRun.NumRuns; n > 1 {
		notes = append(notes, precisionNotes(r, cells)...)
		add("± is half the width of the %.4g %% confidence interval over the runs%s.", 100*r.Study.MultiRun.ConfidenceLevel, few(n))
		if ratio := largestSpread(r.Study, cells); ratio > 2 {
			add("Runs vary up to %s times as much as their own intervals predict: the interval of a single run is too narrow.", view.Figure(ratio))
		}
	}
	add("Files: %s", o.Folder)
	if o.Style.ASCII {
		for i := range notes {
			notes[i] = strings.ReplaceAll(notes[i], "±", "+-")
		}
	}
	return notes
}

// precisionNotes say how precisely the repeats of each value of a sweep know what they are to know; none if their number
// is fixed. Without a sweep, the answer says it.
func precisionNotes(r *studyexport.Report, cells []cell.Result) []string {
	if r.Study.Sweep == nil {
		return nil
	}
	var out []string
	for i := range cells {
		line := cells[i].PrecisionLine(r.Study.MultiRun.ConfidenceLevel, r.Study.MultiRun.Convergence)
		if line != "" && len(cells) > 1 {
			line = cells[i].Label + ": " + line
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// latencyName is the name of the latency by which variations are compared.
func latencyName(best *cell.Comparison) string {
	if best.LatencyTag == "time_to_first_token" {
		return "TTFT"
	}
	return "latency"
}

// within says whether the best variation keeps the limits, if some do not.
func within(cells []cell.Result, best *cell.Comparison, i int) string {
	switch {
	case len(best.Infeasible) == 0:
		return ""
	case cells[i].Feasible():
		return " within the limits"
	}
	return ", outside the limits"
}

// starred reports whether the table or the best latency has a percentile of too few requests.
func starred(cells []cell.Result, columns []column, best *cell.Comparison) bool {
	columns = append(slices.Clip(columns), column{tag: best.LatencyTag, stat: cell.LatencyStat})
	for i := range cells {
		for _, c := range columns {
			if e := cells[i].Find(c.tag, c.stat); e != nil && e.Unsupported {
				return true
			}
		}
	}
	return false
}

// setNotes explains the marks of the Pareto set and of what violates a filter.
func setNotes(r *studyexport.Report, cells []cell.Result, best *cell.Comparison) []string {
	var notes []string
	limits := ""
	if n := len(best.Infeasible); n > 0 {
		limits = " within the limits"
		verb := "violate"
		if n == 1 {
			verb = "violates"
		}
		notes = append(notes, fmt.Sprintf("- %d of %d variations %s an SLA filter.", n, len(cells), verb))
	}
	if len(best.Pareto) > 0 && r.Study.Sweep != nil {
		notes = slices.Insert(notes, 0, fmt.Sprintf("* Pareto set: no other variation%s, of those with valid numbers, "+
			"has both more requests per second and a lower %s p99.", limits, latencyName(best)))
	}
	return notes
}

// skipNotes says which variations were skipped, and why; one line per reason.
func skipNotes(skipped []studyexport.Skipped) []string {
	const most = 8 // that are named
	var reasons []string
	names := map[string][]string{}
	for i := range skipped {
		why := skipped[i].Why
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], studyexport.Short(&skipped[i].Variation))
	}
	var notes []string
	for _, why := range reasons {
		list := names[why]
		text := strings.Join(list[:min(most, len(list))], "; ")
		if more := len(list) - most; more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		notes = append(notes, "Skipped: "+text+", because "+why+".")
	}
	return notes
}

// few says that intervals of two runs are wide.
func few(n int) string {
	if n < 3 {
		return "; with 2 runs it is very wide"
	}
	return ""
}

// largestSpread returns the largest ratio of the differences between runs and their own
// intervals, over the statistics of the table.
func largestSpread(s *config.Study, cells []cell.Result) float64 {
	largest := 0.0
	for i := range cells {
		for _, c := range studyColumns(s) {
			if e := cells[i].Find(c.tag, c.stat); e != nil {
				if ratio, ok := e.Spread(); ok && !math.IsInf(ratio, 0) {
					largest = max(largest, ratio)
				}
			}
		}
	}
	return largest
}
