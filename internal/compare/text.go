package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/view"
)

// Text returns the answer for a terminal with that many columns; 0 = as wide as needed.
func (a *Answer) Text(width int) string { return a.card().text(width) }

// Markdown returns the answer for a comment on a pull request.
func (a *Answer) Markdown() string { return a.card().markdown() }

func (a *Answer) card() card { return card{a.Headline("B"), a.Table(""), a.Notes()} }

// card is an answer for people: one sentence, what it rests on, and what a reader should know besides.
type card struct {
	headline string
	table    view.Table // without rows there is none
	notes    []string
}

// text returns the card for a terminal with that many columns; 0 = as wide as needed.
func (c card) text(width int) string {
	var b strings.Builder
	wrapped := func(text string) {
		if width > 0 {
			text = view.Wrap(text, width)
		}
		b.WriteString(text + "\n")
	}
	wrapped(c.headline)
	if len(c.table.Rows) > 0 {
		if width > 0 {
			c.table.Narrow(view.Plain, width)
		}
		b.WriteString("\n" + c.table.Text(width))
	}
	for i, note := range c.notes {
		if i == 0 {
			b.WriteString("\n")
		}
		wrapped(note)
	}
	return b.String()
}

// markdown returns the card for a comment on a pull request.
func (c card) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", view.EscapeMarkdown(c.headline))
	if len(c.table.Rows) > 0 {
		b.WriteString("\n" + c.table.Markdown())
	}
	for i, note := range c.notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", view.EscapeMarkdown(note))
	}
	return b.String()
}

// Headline returns the answer as one sentence, in which B has a name.
func (a *Answer) Headline(b string) string {
	var names []string
	for i := range a.Metrics {
		if m := &a.Metrics[i]; m.Verdict == a.Verdict && m.Verdict != Equivalent {
			names = append(names, m.headline())
		}
	}
	list := enumerate(names)
	switch a.Verdict {
	case IsWorse:
		return b + " is worse than A: " + list
	case IsBetter:
		return b + " is better than A: " + list
	case Equivalent:
		return b + " and A are equivalent within the margins"
	case Invalid:
		return "No answer: the load generator distorted " + list
	case NotComparable:
		return "Not comparable: the runs put different loads on their servers"
	case Inconclusive, NotTested:
	}
	if list == "" {
		return "No answer: the runs have no metric that can be tested"
	}
	return "No answer yet; undecided: " + list
}

// enumerate joins names; of a long list only the first.
func enumerate(names []string) string {
	const most = 8
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// headline names a metric with its change, if the change is what its verdict is about.
func (m *MetricAnswer) headline() string {
	name := m.Header
	if m.Statistic != "avg" {
		name += " " + m.Statistic
	}
	if m.Cell != "" {
		name += " at " + m.Cell
	}
	if m.Change != nil && (m.Verdict == IsWorse || m.Verdict == IsBetter) {
		name += " " + m.signed(m.Change)
	}
	return name
}

// signed formats a change with its sign and unit.
func (m *MetricAnswer) signed(change *float64) string {
	unit := " %"
	if m.Points {
		unit = " points"
	}
	text := fmt.Sprintf("%+.1f", *change)
	if text == "-0.0" {
		text = "+0.0"
	}
	return text + unit
}

// Table returns the metrics as a table.
func (a *Answer) Table(title string) view.Table {
	t := view.Table{Title: title}
	sweeps := slices.ContainsFunc(a.Metrics, func(m MetricAnswer) bool { return m.Cell != "" })
	if sweeps {
		t.Columns = append(t.Columns, view.Column{Title: "CONFIGURATION"})
	}
	t.Columns = append(t.Columns, []view.Column{
		{Title: "METRIC"}, {}, {Title: "UNIT", Weight: 2}, {Title: "A", Number: true}, {Title: "B", Number: true},
		{Title: "CHANGE", Number: true}, {Title: "95 % INTERVAL", Weight: 1}, {Title: "MARGIN", Weight: 3, Number: true},
		{Title: "VERDICT"},
	}...)
	for i := range a.Metrics {
		m := &a.Metrics[i]
		change, interval := view.Absent, view.Absent
		if m.Change != nil && m.Low != nil && m.High != nil {
			change = m.signed(m.Change)
			low, unit, _ := strings.Cut(m.signed(m.Low), " ")
			interval = low + " to " + strings.TrimSuffix(m.signed(m.High), unit) + unit
		}
		var row []string
		if sweeps {
			row = append(row, m.Cell)
		}
		t.Rows = append(t.Rows, append(row,
			m.Header, m.Statistic, m.Unit, view.FigureOr(m.A, view.Absent), view.FigureOr(m.B, view.Absent), change, interval,
			strings.TrimPrefix(m.signed(&m.Margin), "+"), strings.ReplaceAll(string(m.Verdict), "_", " "),
		))
	}
	return t
}

// PlanTitle is what [Answer.Plan] shows.
const PlanTitle = "Runs on each side that find a change as large as the margin in 80 % of comparisons"

// Plan returns a table of how many runs on each side find a change as large as the margin.
func (a *Answer) Plan() view.Table {
	t := view.Table{
		Columns: []view.Column{
			{Title: "METRIC"}, {}, {Title: "RUNS DIFFER BY", Weight: 1, Number: true}, {Title: "MARGIN", Number: true},
			{Title: "RUNS", Number: true},
		},
	}
	for i := range a.Metrics {
		m := &a.Metrics[i]
		name, differ, runs := m.Header, view.Absent, view.Absent
		if m.Cell != "" {
			name += " at " + m.Cell
		}
		if m.Deviation != nil {
			differ, runs = strings.TrimPrefix(m.signed(m.Deviation), "+"), "more than 1000"
		}
		if m.Planned != nil {
			runs = strconv.Itoa(*m.Planned)
		}
		t.Rows = append(t.Rows, []string{name, m.Statistic, differ, strings.TrimPrefix(m.signed(&m.Margin), "+"), runs})
	}
	return t
}

// Notes returns what a reader should know beside the table.
func (a *Answer) Notes() []string {
	var out []string
	for _, d := range a.Load {
		out = append(out, "Differs: "+describeDifference(&d))
	}
	if len(a.Load) > 0 {
		out = append(out, "What to do: compare runs of the same load, or accept a difference with --allow and what "+
			"stands behind \"Differs\".")
	}
	out = append(out, a.explanations()...)
	for _, d := range a.Subject {
		out = append(out, "Compared: "+describeDifference(&d))
	}
	for _, d := range a.Doubts {
		out = append(out, "Doubt: "+d.Message)
	}
	if a.Decide.Needs != "" {
		out = append(out, "What would decide it: "+a.Decide.Needs)
	}
	return out
}

// explanations says what the answer is about, and why metrics have no better verdict.
func (a *Answer) explanations() []string {
	var out []string
	if len(a.Metrics) > 0 && a.SpeaksFor == theseRuns {
		out = append(out, fmt.Sprintf("The answer is about these runs: another run of the same configuration may differ. "+
			"%d runs on each side speak for the configurations.", minRuns))
	}
	reasons := map[string][]string{}
	var order []string
	for i := range a.Metrics {
		m := &a.Metrics[i]
		if m.Reason == "" {
			continue
		}
		if reasons[m.Reason] == nil {
			order = append(order, m.Reason)
		}
		reasons[m.Reason] = append(reasons[m.Reason], m.headline())
	}
	for _, reason := range order {
		out = append(out, fmt.Sprintf("%s: %s", enumerate(reasons[reason]), reason))
	}
	return out
}

// asSentences ends each text with a period.
func asSentences(texts []string) []string {
	for i, text := range texts {
		texts[i] = strings.TrimSuffix(text, ".") + "."
	}
	return texts
}

// describeDifference names a difference of documents with its distinct values.
func describeDifference(d *Difference) string {
	var values []string
	for _, f := range d.Values {
		if text := fmt.Sprint(textOf(f.Value)); len(values) == 0 || values[len(values)-1] != text {
			values = append(values, text)
		}
	}
	return d.Pointer + " " + strings.Join(values, ", ")
}

// textOf returns a value of a document as text.
func textOf(v any) string {
	if raw, ok := v.(interface{ MarshalJSON() ([]byte, error) }); ok {
		if text, err := raw.MarshalJSON(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}
