package terminal

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/study/cell"
	"aiperfd/internal/view"
)

// distortedMark follows a number that the load generator distorted in all runs.
const distortedMark = "!"

// The effects of a doubt, in the order of their notes.
const (
	distorted = iota // in all runs of a variation
	leftOut          // in some of them, which are excluded
	possible
	effects
)

// finding is what is said of one number, over all variations that it was distorted in.
type finding struct {
	number     string
	variations []string
	runs       int
	worst      *cell.Doubt
}

// doubtNotes says which numbers the load generator distorted, where and why, and what helps.
// tags are the metrics that the table shows or that decide.
func doubtNotes(cells []cell.Result, tags []string) []string {
	var found [effects][]finding
	for i := range cells {
		c := &cells[i]
		for k := range c.Good {
			t := &c.Good[k]
			seen := map[string]bool{}
			for _, tag := range tags {
				m := t.Metric(tag)
				if m == nil || m.Doubt == nil || seen[m.Doubt.Number] {
					continue
				}
				seen[m.Doubt.Number] = true
				effect := possible
				switch {
				case c.Invalid(tag):
					effect = distorted
				case m.Doubt.Invalid:
					effect = leftOut
				}
				found[effect] = collect(found[effect], title(c), m.Doubt)
			}
		}
	}
	var notes, remedies []string
	for effect, list := range found {
		for _, f := range list {
			notes = append(notes, f.note(effect))
			if !slices.Contains(remedies, f.worst.Remedy) {
				remedies = append(remedies, f.worst.Remedy)
			}
		}
	}
	if len(remedies) > 0 {
		notes = append(notes, "What helps: "+strings.Join(remedies, "; ")+".")
	}
	return notes
}

// collect adds a doubt to the finding of its number.
func collect(list []finding, variation string, d *cell.Doubt) []finding {
	i := slices.IndexFunc(list, func(f finding) bool { return f.number == d.Number })
	if i < 0 {
		i = len(list)
		list = append(list, finding{number: d.Number, worst: d})
	}
	f := &list[i]
	if f.runs++; d.Times > f.worst.Times {
		f.worst = d
	}
	if !slices.Contains(f.variations, variation) {
		f.variations = append(f.variations, variation)
	}
	return list
}

// note is the sentence of a finding.
func (f *finding) note(effect int) string {
	const most = 3
	names := slices.Clone(f.variations[:min(most, len(f.variations))])
	if more := len(f.variations) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	where := enumerate(names)
	worst := ""
	if f.runs > 1 {
		worst = "in the worst run "
	}
	text := fmt.Sprintf("%s%s (%s)", worst, f.worst.Off, f.worst.Cause)
	switch effect {
	case distorted:
		return fmt.Sprintf("%s %s invalid at %s: %s.", distortedMark, f.number, where, text)
	case leftOut:
		return fmt.Sprintf("%s: %s excluded at %s: %s.", f.number, view.Plural(f.runs, "run"), where, text)
	}
	return fmt.Sprintf("%s at %s: %s.", f.number, where, text)
}

// enumerate joins names: "a", "a and b", "a, b and c"; with semicolons if names have commas.
func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	comma, and := ", ", " and "
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, ",") }) {
		comma, and = "; ", "; and "
	}
	last := len(names) - 1
	return strings.Join(names[:last], comma) + and + names[last]
}
