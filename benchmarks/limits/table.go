//go:build linux

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/view"
)

// verdict is one line of the table. What is unknown or does not apply is absent.
type verdict struct {
	scenario  string
	what      string
	reference string // median of the reference
	ours      string // median of aiperfd
	ratio     string // ours to the reference
	older     string // median of the other binary
	toOlder   string // ours to the other binary
	limit     string
	word      verdictWord
}

// verdictWord is the last column of the table.
type verdictWord string

const (
	pass    verdictWord = "pass"
	missed  verdictWord = "FAIL"  // the limit is missed
	worse   verdictWord = "WORSE" // than the other binary
	noLimit verdictWord = view.Absent
)

// A measure is worse than the other binary's if the median of the ratios of the rounds is
// beyond worseBy, and every ratio is on that side, of at least worseRounds rounds. Noise
// alone passes one of the two, not both.
const (
	worseBy     = 1.1
	worseRounds = 3
)

// judge compares the medians of a scenario's rows with its limits. A ratio is the
// median of the ratios of the rounds, whose runs are neighbours in time.
func judge(sc *scenario, rows []row) []verdict {
	of := byClient(rows)
	ours, reference, older := of[ourClient], of[rawClient], of[olderClient]
	if sc.reference == httpReference {
		reference = of[httpClient]
	}
	var out []verdict
	for _, c := range sc.checks {
		value := median(ours[c.measure])
		toReference := ratios(ours[c.measure], reference[c.measure])
		toOlder := ratios(ours[c.measure], older[c.measure])
		v := verdict{
			scenario: sc.name, what: c.what, ours: compact(value), reference: compact(median(reference[c.measure])),
			older: compact(median(older[c.measure])), ratio: times(toReference), toOlder: times(toOlder),
			limit: view.Absent, word: noLimit,
		}
		if c.ratio {
			value = median(toReference)
		}
		if !math.IsNaN(c.limit) {
			v.limit, v.word = c.limitText(), missed
			if c.holds(value) {
				v.word = pass
			}
		}
		if v.word != missed && isCost(c.measure) && isWorse(toOlder, c.measure == requestRate) {
			v.word = worse
		}
		out = append(out, v)
	}
	return out
}

// notRun is the line of a load that this machine cannot run.
func notRun(sc *scenario, need, descriptors int) verdict {
	return verdict{
		scenario: sc.name, what: fmt.Sprintf("not run: it needs %d file descriptors of %d", need, descriptors),
		reference: view.Absent, ours: view.Absent, ratio: view.Absent,
		older: view.Absent, toOlder: view.Absent, limit: view.Absent, word: noLimit,
	}
}

func (c *check) holds(value float64) bool {
	return value <= c.limit && !c.atLeast || value >= c.limit && c.atLeast
}

func (c *check) limitText() string {
	sign := "≤"
	if c.atLeast {
		sign = "≥"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", sign, compact(c.limit), c.unit))
}

// isWorse judges the ratios of all rounds to the other binary. Of some measures more is better.
func isWorse(toOlder []float64, moreIsBetter bool) bool {
	if len(toOlder) < worseRounds {
		return false
	}
	by := slices.Clone(toOlder)
	if moreIsBetter {
		for i := range by {
			by[i] = 1 / by[i]
		}
	}
	return slices.Min(by) > 1 && median(by) > worseBy
}

// byClient sorts measures by client and name, in the order of the rounds.
func byClient(rows []row) map[string]map[string][]float64 {
	out := map[string]map[string][]float64{}
	for _, r := range rows {
		if out[r.Client] == nil {
			out[r.Client] = map[string][]float64{}
		}
		for name, v := range r.M {
			out[r.Client][name] = append(out[r.Client][name], v)
		}
	}
	return out
}

// medianOf returns the median of a measure over all clients; NaN if no row has it.
func medianOf(rows []row, measure string) float64 {
	var values []float64
	for _, r := range rows {
		if v, ok := r.M[measure]; ok {
			values = append(values, v)
		}
	}
	return median(values)
}

// ratios divides round by round; empty unless both clients have every round.
func ratios(ours, others []float64) []float64 {
	if len(ours) != len(others) {
		return nil
	}
	out := make([]float64, len(ours))
	for i := range ours {
		out[i] = ours[i] / others[i]
	}
	return out
}

// times formats the median of ratios.
func times(ratios []float64) string {
	if len(ratios) == 0 {
		return view.Absent
	}
	return compact(median(ratios)) + " ×"
}

// compact formats a value; NaN is absent.
func compact(v float64) string { return view.Compact(&v) }

// printTable writes the verdicts for a terminal, or as a table in Markdown. The columns of
// the other binary are there if there is one.
func printTable(w io.Writer, verdicts []verdict, older, markdown bool) error {
	titles := []string{"load", "measure", "reference", "aiperfd", "to reference"}
	if older {
		titles = append(titles, "against", "to against")
	}
	titles = append(titles, "limit", "verdict")
	var t view.Table
	for _, title := range titles {
		t.Columns = append(t.Columns, view.Column{Title: title})
	}
	for _, v := range verdicts {
		cells := []string{v.scenario, v.what, v.reference, v.ours, v.ratio}
		if older {
			cells = append(cells, v.older, v.toOlder)
		}
		t.Rows = append(t.Rows, append(cells, v.limit, string(v.word)))
	}
	text := t.Text(0)
	if markdown {
		text = t.Markdown()
	}
	_, err := io.WriteString(w, text)
	return err
}
