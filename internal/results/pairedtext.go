package results

import (
	"fmt"
	"strings"

	"aiperfd/internal/view"
)

// PairedTable returns the metrics of a comparison of two servers. If the answer is that there is none, its rows do not
// call anything better or worse: the differences are there, but may not be those of the servers.
func (a *Answer) PairedTable() view.Table {
	p := a.Paired
	t := view.Table{Columns: []view.Column{
		{Title: "metric"}, {Title: "B is"}, {Title: "change", Number: true}, {Title: "95 % interval", Number: true},
		{Title: "margin", Number: true, Weight: 2}, {Title: "B faster in", Number: true, Weight: 1},
		{Title: "detectable", Number: true, Weight: 3}, {Title: "drift A, B", Number: true, Weight: 4},
	}}
	for i := range p.Metrics {
		m := &p.Metrics[i]
		verdict := m.Verdict
		if a.Verdict == "invalid" {
			verdict = "no answer"
		}
		row := []string{m.Tag, verdict, "not measured", "", changeText(m.Margin, m.Unit), "", "", ""}
		if m.Change != nil {
			row[2] = signedText(*m.Change, m.Unit)
		}
		if m.Low != nil && m.High != nil {
			row[3] = fmt.Sprintf("%s to %s", strings.TrimSuffix(signedText(*m.Low, m.Unit), " "+m.Unit), signedText(*m.High, m.Unit))
		} else if m.Change != nil {
			row[3] = fmt.Sprintf("after %d blocks", p.Looks)
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

// PairedNotes describes what the answer of a comparison of two servers rests on, what speaks against it, and what would
// decide it.
func (a *Answer) PairedNotes() []string {
	p := a.Paired
	var notes []string
	notes = append(notes, fmt.Sprintf("%s in %s. The chance that any of the intervals "+
		"misses its true change is at most 5 %%, however often they are looked at.", view.Plural(p.Pairs, "pair"), view.Plural(int64(len(p.Blocks)), "block")))
	return append(append(notes, a.Notes()...), p.SideNotes()...)
}

// SideNotes describes the two sides of a comparison, a line each.
func (p *Paired) SideNotes() []string {
	var out []string
	for i := range p.Sides {
		s := &p.Sides[i]
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
