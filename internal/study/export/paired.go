package export

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/results"
	"aiperfd/internal/view"
)

// pairedMarkdown adds the metrics, the sides and the doubts of a comparison of two servers.
func pairedMarkdown(out *bytes.Buffer, a *results.Answer) {
	if a.Stop.Text != "" {
		fmt.Fprintf(out, "- The measurement ended: %s.\n", a.Stop.Text)
	}
	if a.Decide.Needs != "" {
		fmt.Fprintf(out, "- What would decide it: %s.\n", view.EscapeMarkdown(a.Decide.Needs))
	}
	for _, d := range a.Doubts {
		fmt.Fprintf(out, "- Doubt: %s.\n", view.EscapeMarkdown(d.Message))
	}
	t := PairedTable(a)
	fmt.Fprintf(out, "\n%s\n", t.Markdown())
	for _, line := range pairedSides(a) {
		fmt.Fprintf(out, "- %s\n", view.EscapeMarkdown(line))
	}
}

// PairedTable returns the metrics of a comparison of two servers.
func PairedTable(a *results.Answer) view.Table {
	t := view.Table{Columns: []view.Column{
		{Title: "metric"}, {Title: "B is"}, {Title: "change", Number: true}, {Title: "95 % interval", Number: true},
		{Title: "margin", Number: true, Weight: 2}, {Title: "B faster in", Number: true, Weight: 1},
		{Title: "detectable", Number: true, Weight: 3}, {Title: "drift A, B", Number: true, Weight: 4},
	}}
	for i := range a.Paired.Metrics {
		m := &a.Paired.Metrics[i]
		row := []string{m.Tag, m.Verdict, "not measured", "", changeText(m.Margin, m.Unit), "", "", ""}
		if m.Change != nil {
			row[2] = signedText(*m.Change, m.Unit)
		}
		if m.Low != nil && m.High != nil {
			row[3] = fmt.Sprintf("%s to %s", strings.TrimSuffix(signedText(*m.Low, m.Unit), " "+m.Unit), signedText(*m.High, m.Unit))
		} else if m.Change != nil {
			row[3] = fmt.Sprintf("after %d blocks", a.Paired.Looks)
		}
		if m.Won != nil {
			row[5] = fmt.Sprintf("%.0f %%", 100**m.Won)
		}
		if m.Detectable != nil {
			row[6] = changeText(*m.Detectable, m.Unit)
		}
		if m.DriftA != nil && m.DriftB != nil {
			row[7] = fmt.Sprintf("%s, %s", strings.TrimSuffix(signedText(*m.DriftA, "%"), " %"), signedText(*m.DriftB, "%"))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// changeText writes a change that is not negative.
func changeText(v float64, unit string) string {
	decimals := 1
	if v < 0.095 {
		decimals = 2
	}
	return fmt.Sprintf("%.*f %s", decimals, v, unit)
}

// signedText writes a change with its sign.
func signedText(v float64, unit string) string {
	if v < 0 {
		return "-" + changeText(-v, unit)
	}
	return "+" + changeText(v, unit)
}

// PairedNotes describes a comparison of two servers: the answer, what it rests on, what speaks against it, and what
// would decide it.
func PairedNotes(a *results.Answer) []string {
	p := a.Paired
	notes := append(slices.Clip(a.Sentences), fmt.Sprintf("%s in %s. All intervals together hold with 95 %%, "+
		"whenever they are looked at.", view.Plural(p.Pairs, "pair"), view.Plural(int64(len(p.Blocks)), "block")))
	if a.Stop.Text != "" {
		notes = append(notes, "The measurement ended: "+a.Stop.Text+".")
	}
	if a.Decide.Needs != "" {
		notes = append(notes, "What would decide it: "+a.Decide.Needs+".")
	}
	for _, d := range a.Doubts {
		notes = append(notes, "Doubt: "+d.Message+".")
	}
	return append(notes, pairedSides(a)...)
}

// pairedSides describes the two sides of a comparison, a line each.
func pairedSides(a *results.Answer) []string {
	var out []string
	for i := range a.Paired.Sides {
		s := &a.Paired.Sides[i]
		line := fmt.Sprintf("%s: %s", s.Name, strings.Join(s.Targets, ", "))
		if len(s.Models) > 0 {
			line += ", model " + strings.Join(s.Models, ", ")
		}
		line += fmt.Sprintf(", %s failed, sent %.2g ms after they were due on average", view.Plural(s.Failed, "request"), s.Lag)
		if s.RunID != "" {
			line += ", run " + s.RunID
		}
		out = append(out, line)
	}
	return out
}
