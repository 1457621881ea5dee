//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"

	"aiperfd/internal/view"
)

// verdict is one line of the table.
type verdict struct {
	scenario string
	what     string
	raw      string // median of the raw client
	ours     string // median of aiperfd
	result   string // the value that is compared with the limit
	limit    string
	word     string // pass, FAIL, or – without a limit
}

// judge compares the medians of a scenario's rows with its limits. A ratio is the
// median of the ratios of the rounds, whose two runs are neighbours in time.
func judge(sc *scenario, rows []row) []verdict {
	ours, raw := byClient(rows)
	var out []verdict
	for _, c := range sc.checks {
		value := median(ours[c.measure])
		if c.ratio {
			value = median(ratios(ours[c.measure], raw[c.measure]))
		}
		v := verdict{scenario: sc.name, what: c.what, ours: compact(median(ours[c.measure])), raw: compact(median(raw[c.measure])),
			result: compact(value) + " " + c.unit, word: "FAIL"}
		sign := "≤"
		if c.atLeast {
			sign = "≥"
		}
		v.limit = fmt.Sprintf("%s %s %s", sign, compact(c.limit), c.unit)
		if value <= c.limit && !c.atLeast || value >= c.limit && c.atLeast {
			v.word = "pass"
		}
		out = append(out, v)
	}
	return append(out, background(sc, ours, raw)...)
}

// background adds measures without a limit that help to interpret the others.
func background(sc *scenario, ours, raw map[string][]float64) []verdict {
	type info struct{ what, measure string }
	list := []info{{"requests/s", requestRate}, {"events/s", eventRate}, {"CPU per event (µs)", cpuPerEvent}, {"resident memory (MiB)", rss}}
	if !sc.plain {
		list = append(list, info{"TTFT p99 (ms)", ttftP99}, info{"the server's TTFT p99 (ms)", truthTTFTP99},
			info{"error of each TTFT, p99 (ms)", ttftEachP99}, info{"inter-chunk p99 (ms)", icP99})
	}
	if sc.itl > 0 {
		list = append(list, info{"the server's lateness p99 (ms)", mockLateP99})
	}
	list = append(list, info{"the server's CPU per event (µs)", mockCPUPerEvent}, info{"idle before: a thread woke late by, p99 (ms)", wakeP99})
	if sc.rate > 0 {
		list = append(list, info{"schedule lag p99 (ms)", lagP99})
	}
	var out []verdict
	for _, i := range list {
		ratio := view.Absent
		if r := ratios(ours[i.measure], raw[i.measure]); len(r) > 0 {
			ratio = compact(median(r)) + " ×"
		}
		out = append(out, verdict{scenario: sc.name, what: i.what, raw: compact(median(raw[i.measure])),
			ours: compact(median(ours[i.measure])), result: ratio, limit: view.Absent, word: view.Absent})
	}
	return out
}

// byClient sorts measures by client and name, in the order of the rounds.
func byClient(rows []row) (ours, raw map[string][]float64) {
	ours, raw = map[string][]float64{}, map[string][]float64{}
	for _, r := range rows {
		to := ours
		if r.Client == rawClient {
			to = raw
		}
		for name, v := range r.M {
			to[name] = append(to[name], v)
		}
	}
	return ours, raw
}

// ratios divides round by round; empty unless both clients have every round.
func ratios(ours, raw []float64) []float64 {
	if len(ours) != len(raw) {
		return nil
	}
	out := make([]float64, len(ours))
	for i := range ours {
		out[i] = ours[i] / raw[i]
	}
	return out
}

// compact formats a value; NaN is absent.
func compact(v float64) string { return view.Compact(&v) }

func (v verdict) cells() []string {
	return []string{v.scenario, v.what, v.raw, v.ours, strings.TrimSpace(v.result), strings.TrimSpace(v.limit), v.word}
}

// printTable writes the verdicts for a terminal, or as a table in Markdown.
func printTable(w io.Writer, verdicts []verdict, markdown bool) error {
	var t view.Table
	for _, title := range []string{"load", "measure", "raw", "aiperfd", "result", "limit", "verdict"} {
		t.Columns = append(t.Columns, view.Column{Title: title})
	}
	for _, v := range verdicts {
		t.Rows = append(t.Rows, v.cells())
	}
	text := t.Text(0)
	if markdown {
		text = t.Markdown()
	}
	_, err := io.WriteString(w, text)
	return err
}
