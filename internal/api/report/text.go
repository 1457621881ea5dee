package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

// The lengths of lists in the text of a report.
const (
	maxErrors      = 10
	maxWarnings    = 8
	maxCells       = 30
	maxDifferences = 12
)

// text is a report without charts. Its strings are plain: foreign ones are in them as they
// are.
type text struct {
	Title  string
	Answer []string // what a sweep found; comes first
	Alerts []alert  // what a reader must know before the numbers
	Facts  []string
	Tables []table
	Lists  []list
	Origin string // what made the report, and of which run
}

type alert struct {
	Title string
	Lines []string
}

type table struct {
	view.Table
	More string // what is left out; may be empty
}

// newTable returns a table of columns with text and, after them, columns with numbers.
func newTable(title string, text []string, numbers ...string) table {
	t := table{Table: view.Table{Title: title}}
	for _, name := range text {
		t.Columns = append(t.Columns, view.Column{Title: name})
	}
	for _, name := range numbers {
		t.Columns = append(t.Columns, view.Column{Title: name, Number: true})
	}
	return t
}

type list struct {
	Title string
	Items []string
}

// text returns the report in words and tables.
func (c *content) text() *text {
	if len(c.runs) > 1 {
		return c.comparedText()
	}
	r := &c.runs[0]
	t := &text{Title: title(r), Facts: []string{facts(r), outcome(r)}, Origin: fmt.Sprintf("aiperfd %s, run %s, seed %d", r.Version, r.ID, r.RandomSeed)}
	t.alarm(r, "", c.shown(reasons(r)))
	if !c.asOf.IsZero() {
		t.Alerts = append(t.Alerts, alert{Title: "The run had not ended at " + c.asOf.Format(time.RFC3339) + "."})
	}
	if r.Kind == run.KindSweep {
		if c.sweep != nil {
			t.Answer = answer(c.sweep)
		}
		if c.answer != nil && c.answer.Paired != nil {
			t.pairedText(c.answer)
		}
		t.add(c.sweepTables()...)
	} else {
		snap := c.inputs[0].Snapshot
		t.add(byPhase(snap), openLoop(snap), c.latencies(), corrected(c.comparison), rates(c.comparison))
		t.add(servers(c.server)...)
		t.add(spans(c.spans))
		t.add(gpus(c.gpu)...)
		t.add(network(c.path))
		t.add(sessions(c.agents)...)
		t.add(speculation(c.comparison, snap), byCategory(r))
		t.add(objectives(r), attainment(c.comparison), failures(&c.errors))
	}
	t.warn(r)
	return t
}

// add adds the tables that have rows.
func (t *text) add(tables ...table) {
	for i := range tables {
		if len(tables[i].Rows) > 0 {
			t.Tables = append(t.Tables, tables[i])
		}
	}
}

// alarm adds what makes the numbers of a run doubtful. reasons are those of the client's
// verdict that concern numbers of the report.
func (t *text) alarm(r *wire.Run, prefix string, reasons []verdict.Reason) {
	for _, level := range []verdict.Level{verdict.Invalid, verdict.Suspect} {
		of := slices.DeleteFunc(slices.Clone(reasons), func(x verdict.Reason) bool { return x.Level != level })
		if len(of) == 0 {
			continue
		}
		names := "these numbers"
		if !all(r.Client, of) {
			names = listed(affected(of))
		}
		a := alert{Title: prefix + "The load generator may have distorted " + names + ".", Lines: verdict.Sentences(of)}
		if level == verdict.Invalid {
			a.Title = prefix + "Do not use " + names + ": the load generator distorted them."
		}
		if len(affected(of)) == 1 {
			a.Title = strings.Replace(a.Title, "distorted them", "distorted it", 1)
		}
		var remedies []string
		for i := range of {
			if text := of[i].Remedy; text != "" && !slices.Contains(remedies, text) {
				remedies = append(remedies, text)
			}
		}
		if len(remedies) > 0 {
			a.Lines = append(a.Lines, "What helps: "+strings.Join(remedies, "; ")+".")
		}
		t.Alerts = append(t.Alerts, a)
	}
	if r.Error != nil {
		t.Alerts = append(t.Alerts, alert{Title: prefix + "The run failed (" + string(r.Error.Code) + ").", Lines: []string{r.Error.Message}})
	}
}

// shown returns the reasons that decide the verdict or concern a number of the report.
func (c *content) shown(reasons []verdict.Reason) []verdict.Reason {
	tags := catalogue.Headlines(catalogue.InTables)
	return slices.DeleteFunc(slices.Clone(reasons), func(x verdict.Reason) bool {
		return x.Unreported && !slices.ContainsFunc(tags, func(tag string) bool {
			return find(c.comparison, tag) != nil && c.withheld[tag].Reason == "" && verdict.Affects([]verdict.Reason{x}, tag) != nil
		})
	})
}

// reasons returns the reasons of the client's verdict on a run.
func reasons(r *wire.Run) []verdict.Reason {
	if r.Client == nil {
		return nil
	}
	return r.Client.Reasons
}

// affected lists the numbers that reasons concern, each once.
func affected(reasons []verdict.Reason) []string {
	var out []string
	for i := range reasons {
		for _, number := range reasons[i].Concerns {
			if !slices.Contains(out, number) {
				out = append(out, number)
			}
		}
	}
	return out
}

// all reports whether reasons concern every latency that was judged, and the throughput.
func all(client *run.ClientVerdict, reasons []verdict.Reason) bool {
	numbers := affected(reasons)
	return len(client.Bias) > 0 && slices.Contains(numbers, "throughput") &&
		!slices.ContainsFunc(client.Bias, func(b verdict.Bias) bool { return !slices.Contains(numbers, b.Metric) })
}

// listed joins names: "a", "a and b", "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// warn adds the warnings of a run.
func (t *text) warn(r *wire.Run) {
	l := list{Title: "Warnings"}
	left := 0
	for i := range r.Warnings {
		detail := r.Warnings[i].Detail
		switch {
		case slices.ContainsFunc(t.Alerts, func(a alert) bool { return slices.Contains(a.Lines, detail) }):
		case len(l.Items) < maxWarnings:
			l.Items = append(l.Items, detail)
		default:
			left++
		}
	}
	if left > 0 {
		l.Items = append(l.Items, plural(int64(left), "more warning"))
	}
	if len(l.Items) > 0 {
		t.Lists = append(t.Lists, l)
	}
}

// title returns how a run is called.
func title(r *wire.Run) string {
	return cmp.Or(r.Name, strings.Join(r.Models, ", "), "Run "+r.ID)
}

// facts returns what was measured and with which load.
func facts(r *wire.Run) string {
	endpoint := r.Endpoint
	if r.Streaming {
		endpoint += ", streaming"
	}
	parts := []string{strings.Join(r.Models, ", "), strings.Join(r.Targets, ", "), endpoint}
	if r.Kind == run.KindSweep {
		return join(append([]string{"sweep", trials(r)}, parts...))
	}
	if len(r.Loads) < 2 {
		return join(append(parts, load(r)))
	}
	for _, l := range r.Loads {
		parts = append(parts, l.Phase+": "+l.Load)
	}
	return join(parts)
}

// outcome returns how a run ended.
func outcome(r *wire.Run) string {
	parts := []string{string(r.State)}
	if s := r.Summary; s != nil && r.Kind == run.KindRun {
		parts = append(parts, plural(s.Requests, "request"), plural(s.Errors, "error"))
	}
	if r.StartedAt != nil {
		parts = append(parts, "started "+r.StartedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
		if r.EndedAt != nil {
			parts = append(parts, "took "+r.EndedAt.Sub(*r.StartedAt).Round(100*time.Millisecond).String())
		}
	}
	return join(append(parts, verdicts(r)))
}

// verdicts returns what is known of the quality of a run.
func verdicts(r *wire.Run) string {
	var parts []string
	if r.Verdict != nil {
		parts = append(parts, "objectives: "+*r.Verdict)
	}
	if r.Client != nil {
		parts = append(parts, "client: "+string(r.Client.Verdict))
	}
	return join(parts)
}

// load returns the load of a run; empty if it is not one number.
func load(r *wire.Run) string {
	var parts []string
	if r.RequestRate != nil {
		parts = append(parts, view.Compact(r.RequestRate)+" req/s")
	}
	if r.Concurrency != nil {
		parts = append(parts, fmt.Sprintf("%d concurrent", *r.Concurrency))
	}
	return strings.Join(parts, ", ")
}

// join joins the parts that are not empty.
func join(parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// latencies returns the distributions that matter most.
func (c *content) latencies() table {
	statistics := []string{"avg", "p50", "p90", "p99"}
	t := newTable("Latency", []string{"Metric", "Unit"}, statistics...)
	for _, tag := range catalogue.Headlines(catalogue.InTables) {
		m := find(c.comparison, tag)
		if m == nil {
			continue
		}
		row := []string{m.Header, m.Unit}
		for _, name := range statistics {
			if name != "avg" && c.withheld[tag].Reason != "" {
				row = append(row, "withheld")
				continue
			}
			row = append(row, withInterval(statistic(m, name)))
		}
		t.Rows = append(t.Rows, row)
	}
	t.More = strings.TrimSpace(intervalNote(t.Rows) + " " + starNote(t.Rows, 2))
	return t
}

// starred marks a percentile of too few requests.
func starred(value string, few bool) string {
	if few {
		value += "*"
	}
	return value
}

// starNote explains the stars of a table with so many columns of text, if it has some.
func starNote(rows [][]string, columns int) string {
	for _, row := range rows {
		if slices.ContainsFunc(row[columns:], func(cell string) bool { return strings.Contains(cell, "*") }) {
			return "* after a percentile: there are too few independent requests for it."
		}
	}
	return ""
}

// intervalNote explains the intervals of a table that has some.
func intervalNote(rows [][]string) string {
	for _, row := range rows {
		if slices.ContainsFunc(row[2:], func(cell string) bool { return strings.Contains(cell, "(") }) {
			return "In parentheses: 95 % confidence intervals of this run. They do not say how far another run would differ."
		}
	}
	return ""
}

// rates returns the metrics that are one number.
func rates(c *compare.Comparison) table {
	t := newTable("Throughput", []string{"Metric", "Unit"}, "Value")
	for _, tag := range []string{"request_throughput", "goodput", "output_token_throughput", "total_token_throughput", "error_request_count"} {
		if m := find(c, tag); m != nil {
			t.Rows = append(t.Rows, []string{m.Header, m.Unit, withInterval(statistic(m, "avg"))})
		}
	}
	return t
}

func find(c *compare.Comparison, tag string) *compare.Metric {
	if i := slices.IndexFunc(c.Metrics, func(m compare.Metric) bool { return m.Tag == tag }); i >= 0 {
		return &c.Metrics[i]
	}
	return nil
}

// statistic returns a statistic of the first run; nil if there is none.
func statistic(m *compare.Metric, name string) *compare.Value {
	for i := range m.Statistics {
		if m.Statistics[i].Name == name {
			return &m.Statistics[i].Values[0]
		}
	}
	return nil
}

// withInterval returns a value with its confidence interval, if it has one.
func withInterval(v *compare.Value) string {
	if v == nil {
		return view.Absent
	}
	text := view.Compact(v.Value)
	if in := v.Interval; in != nil {
		if low, high := view.Compact(&in[0]), view.Compact(&in[1]); low != high || text != low {
			text += fmt.Sprintf(" (%s–%s)", low, high)
		}
	}
	return starred(text, v.Unsupported)
}

// objectives returns which objectives a run met.
func objectives(r *wire.Run) table {
	t := newTable("Service level objectives", []string{"", "Objective"}, "Measured")
	if r.Summary == nil {
		return t
	}
	for i := range r.Summary.SLOs {
		s := &r.Summary.SLOs[i]
		met, value := "met", view.Compact(s.Value)+" "+s.Unit
		if !s.Met {
			met = "missed"
		}
		if s.Uncertain {
			value += " (uncertain: " + cmp.Or(s.Doubt, "the limit is within the confidence interval, or the sample is too small") + ")"
		}
		t.Rows = append(t.Rows, []string{met, s.Objective, value})
	}
	return t
}

// failures returns the most frequent errors.
func failures(e *wire.Errors) table {
	t := newTable("Errors", []string{"Class", "Message"}, "Requests")
	for i := range e.Items {
		if i == maxErrors {
			t.More = plural(int64(len(e.Items)-i), "more kind") + " of error"
			break
		}
		g := &e.Items[i]
		t.Rows = append(t.Rows, []string{g.Class, cut(cmp.Or(g.Sample, g.Message)), strconv.FormatInt(g.Count, 10)})
	}
	return t
}

// cells returns the runs of a sweep.
func cells(l *wire.RunList) table {
	t := newTable("Runs", []string{"Run", "Load", "State"},
		"req/s", "tokens/s", "TTFT p50 ms", "TTFT p99 ms", "Latency p50 ms", "Latency p99 ms", "Errors")
	for i := range l.Items {
		if i == maxCells {
			t.More = plural(int64(l.Total-i), "more run")
			break
		}
		r := &l.Items[i]
		s := cmp.Or(r.Summary, new(run.Summary))
		name := r.Name
		if r.Cell != nil && r.Cell.Label != "" {
			name = r.Cell.Label
		}
		t.Rows = append(t.Rows, []string{
			cmp.Or(name, r.ID), cmp.Or(load(r), view.Absent), join([]string{string(r.State), verdicts(r)}), view.Compact(s.RequestThroughput), view.Compact(s.OutputTokenThroughput),
			view.Compact(s.TTFTP50), view.Compact(s.TTFTP99), view.Compact(s.LatencyP50), view.Compact(s.LatencyP99), strconv.FormatInt(s.Errors, 10),
		})
	}
	return t
}

// plural writes a number of things.
func plural(n int64, noun string) string {
	return view.Whole(n) + " " + view.Noun(n, noun)
}

// cut shortens a text that may be long.
func cut(s string) string {
	const most = 200 // characters
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
