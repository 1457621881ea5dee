package export

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
)

// ConsoleOptions say how a report is printed. The zero value is what files hold.
type ConsoleOptions struct {
	Width int  // columns; 0 = 140. At less than 60 it counts as 60
	Color bool // with ANSI escapes
	ASCII bool // boxes are drawn with + - |
}

// minWidth is the narrowest report.
const minWidth = 60

// Console prints a report for people: a head, the errors, one table for each
// group of metrics in AIPerf's layout, and how long it took. A terminal that is
// too narrow for a table leaves out std, min, max and p90, in that order. A run
// without successes gets a panel that says so in place of the tables.
func Console(w io.Writer, r *Report, o ConsoleOptions) error {
	o.Width = max(minWidth, cmp.Or(o.Width, consoleFileWidth))
	p := &page{opts: o, rules: boxRules(o.ASCII)}
	measured := count(r, "request_count") > 0
	if measured && !r.Complete && !r.Cancelled {
		p.incomplete(r)
	}
	p.head(r)
	p.errors(r)
	if measured {
		p.groups(r)
	} else {
		p.failure(r)
	}
	p.foot(r)
	_, err := io.WriteString(w, p.text.String())
	return err
}

// page is a report that is being printed.
type page struct {
	opts  ConsoleOptions
	rules rules
	text  strings.Builder
}

// style is an ANSI rendition.
type style string

const (
	bold   style = "1"
	red    style = "1;31"
	yellow style = "33"
)

func (p *page) paint(s style, text string) string {
	if !p.opts.Color || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func (p *page) line(text string) {
	p.text.WriteString(text)
	p.text.WriteByte('\n')
}

// fact prints a name and a value; further lines of the value are indented.
func (p *page) fact(s style, name, value string) {
	const indent = 11
	label := fmt.Sprintf("%-*s", indent, name+":")
	value = wrap(printableText(value), p.opts.Width-indent)
	value = strings.ReplaceAll(value, "\n", "\n"+strings.Repeat(" ", indent))
	p.line(p.paint(s, label) + value)
}

// incomplete warns of results that lack requests.
func (p *page) incomplete(r *Report) {
	why := ""
	if r.Reason != "" {
		why = ": " + printableText(r.Reason)
	}
	p.line("")
	for line := range strings.SplitSeq(wrap("INCOMPLETE RESULTS"+why+"; do not compare them with those of other runs", p.opts.Width), "\n") {
		p.line(p.paint(red, line))
	}
}

// head prints what was measured, and every doubt about it.
func (p *page) head(r *Report) {
	p.line("")
	p.fact(bold, "Model", strings.Join(r.Models, ", "))
	endpoint := r.Endpoint
	if r.Streaming {
		endpoint += ", streaming"
	}
	p.fact(bold, "Endpoint", endpoint)
	p.fact(bold, "Load", r.Load)
	if !r.Start.IsZero() {
		p.fact(bold, "Window", fmt.Sprintf("%s UTC, %.2f sec", r.Start.UTC().Format(time.DateTime), r.Duration.Seconds()))
	}
	requests := fmt.Sprintf("%d ok, %d failed, %d cancelled",
		count(r, "request_count"), count(r, "error_request_count"), count(r, "cancelled_request_count"))
	if r.Expected > 0 {
		requests += fmt.Sprintf(", of %d", r.Expected)
	}
	p.fact(bold, "Requests", requests)
	p.fact(bold, "Tokens", cmp.Or(r.Tokenizer, "not counted"))
	if r.Client != nil {
		p.fact(verdictStyle(r.Client.Verdict), "Client", "verdict "+r.Client.Line())
		if c := r.Client.Certificate; c != nil {
			p.fact(bold, "Certified", c.Line())
		}
	}
	for _, n := range r.Notes {
		p.fact(yellow, "Note", n.Detail)
	}
}

// verdictStyle is how a verdict looks.
func verdictStyle(l verdict.Level) style {
	switch l {
	case verdict.Invalid:
		return red
	case verdict.Suspect:
		return yellow
	case verdict.OK, verdict.Unknown:
	}
	return bold
}

// count returns a metric of whole numbers, 0 if it is absent.
func count(r *Report, tag string) int64 {
	if m := r.Results.Find(tag); m != nil {
		if v, ok := m.Get(metric.Avg); ok {
			return int64(v)
		}
	}
	return 0
}

// errors prints the errors by kind.
func (p *page) errors(r *Report) {
	if len(r.Errors) == 0 {
		return
	}
	t := table{
		title: "aiperfd | Error Summary", head: []string{"Code", "Type", "Message", "Count"},
		left: []bool{2: true},
	}
	for i := range r.Errors {
		g := &r.Errors[i]
		d := describeError(g.Class, g.Status, g.Example)
		code := "N/A"
		if d.Code != 0 {
			code = strconv.Itoa(d.Code)
		}
		t.rows = append(t.rows, []string{
			code, printableText(d.Type), shorten(printableText(d.Message)), strconv.FormatInt(g.Count, 10),
		})
	}
	t.wrapColumn(2, p.opts.Width, 20)
	t.wrapColumn(1, p.opts.Width, 10)
	p.line("")
	p.line("")
	t.render(p)
}

// shorten cuts a message to what helps in a table.
func shorten(message string) string {
	const most = 500
	return truncate(message, most, "...")
}

// failure prints the panel of a run in which nothing succeeded.
func (p *page) failure(r *Report) {
	text := cmp.Or(printableText(r.Reason), "not one request succeeded")
	if count(r, "error_request_count") == 0 {
		text += "\n\nNo request came back with an answer or an error."
	} else {
		text += "\n\nThere is nothing to measure: latencies and throughput are of successful requests. " +
			"The errors are listed above and in the summary."
	}
	p.line("")
	p.panel("Benchmark failed", text)
}

// panel prints text in a box with a title in its upper edge.
func (p *page) panel(title, text string) {
	inner := p.opts.Width - 6
	r := &p.rules
	left := (p.opts.Width - 4 - textWidth(title)) / 2
	right := p.opts.Width - 4 - textWidth(title) - left
	p.line(r.panelTop[0] + strings.Repeat(r.panelTop[1], left) + " " + p.paint(red, title) + " " +
		strings.Repeat(r.panelTop[1], right) + r.panelTop[3])
	for line := range strings.SplitSeq(wrap(text, inner), "\n") {
		p.line(r.panelBar + "  " + line + strings.Repeat(" ", inner-textWidth(line)) + "  " + r.panelBar)
	}
	p.line(r.panelFloor[0] + strings.Repeat(r.panelFloor[1], p.opts.Width-2) + r.panelFloor[3])
}

// consoleGroups are the tables in order, with what their titles end in.
var consoleGroups = [...]struct {
	group metric.Group
	title string
}{
	{metric.GroupEffective, ": Effective"},
	{metric.GroupActive, ": Active"},
	{metric.GroupUsage, ": Usage"},
	{metric.GroupDefault, ""},
}

// consoleStats are the columns of a table of metrics.
var consoleStats = [...]metric.Stat{
	metric.Avg, metric.Min, metric.Max, metric.P99, metric.P90, metric.P50, metric.Std,
}

// dispensable are the columns that a narrow terminal does without, in order.
var dispensable = [...]metric.Stat{metric.Std, metric.Min, metric.Max, metric.P90}

// groups prints the tables of metrics.
func (p *page) groups(r *Report) {
	p.line("")
	p.line("")
	title := "aiperfd | " + cmp.Or(printableText(r.Title), "Metrics")
	for _, g := range consoleGroups {
		t := table{title: title + g.title, head: []string{"Metric"}}
		for _, s := range consoleStats {
			t.head = append(t.head, s.String())
		}
		for _, m := range grouping(r.Results, g.group) {
			row := p.row(m)
			if r.Stream != nil {
				withhold(row, r.Stream.Withheld[m.Def.Tag])
			}
			t.rows = append(t.rows, row)
		}
		if len(t.rows) == 0 {
			continue
		}
		t.wrapColumn(0, p.opts.Width, 30)
		for _, s := range dispensable {
			if t.width() > p.opts.Width {
				t.dropColumn(s.String())
			}
		}
		t.render(p)
	}
	p.footnotes(r)
}

// grouping returns the metrics of one table: by their order, those without one
// last.
func grouping(rs metric.Results, g metric.Group) []*metric.Result {
	rows := slices.DeleteFunc(ordered(rs), func(m *metric.Result) bool {
		return m.Def.Group != g || m.Def.Flags&metric.ErrorOnly != 0 // errors have a table of their own
	})
	slices.SortStableFunc(rows, func(a, b *metric.Result) int {
		if (a.Def.Order == 0) != (b.Def.Order == 0) {
			return cmp.Compare(b.Def.Order, a.Def.Order)
		}
		return cmp.Compare(a.Def.Order, b.Def.Order)
	})
	return rows
}

// longHeader is the length from which on a unit goes below its header.
const longHeader = 30

// row prints one metric.
func (p *page) row(m *metric.Result) []string {
	separator := " "
	if len(m.Def.Header) > longHeader {
		separator = "\n"
	}
	row := []string{m.Def.Header + separator + "(" + m.Def.Unit + ")"}
	for _, s := range consoleStats {
		row = append(row, p.number(m, s))
	}
	return row
}

// withhold takes the percentiles out of a row where they mean nothing; a note at
// the head says why.
func withhold(row []string, w verdict.Withheld) {
	if w.Reason == "" {
		return
	}
	for i, s := range consoleStats {
		switch s {
		case metric.P50, metric.P90, metric.P99, metric.Std:
			row[i+1] = "withheld"
		default:
		}
	}
}

// number prints one statistic. Error-adjusted ones can be infinite. A percentile
// that the sample does not support has a star.
func (p *page) number(m *metric.Result, s metric.Stat) string {
	v, ok := m.Get(s)
	switch {
	case !ok:
		return "N/A"
	case finite(v) && !m.Confidence.Supported(s):
		return grouped(v) + "*"
	case finite(v):
		return grouped(v)
	case p.opts.ASCII:
		return "inf"
	}
	return "∞"
}

// foot prints how it ended.
func (p *page) foot(r *Report) {
	p.line("")
	if r.Cancelled {
		p.line(p.paint(yellow, "The run was cancelled; its results may be incomplete."))
	}
	seconds := r.Duration.Seconds()
	if m := r.Results.Find("benchmark_duration"); m != nil {
		if v, ok := m.Get(metric.Avg); ok {
			seconds = v
		}
	}
	early := ""
	if r.Cancelled {
		early = " (cancelled early)"
	}
	p.line(fmt.Sprintf("Benchmark Duration: %.2f sec%s", seconds, early))
	if r.CLICommand != "" {
		p.line("CLI Command: " + printableText(r.CLICommand))
	}
}
