package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/plainjson"
)

// sliced reports whether a report has time slices.
func sliced(r *Report) bool { return len(r.Slices()) > 0 }

// writeSlicesJSON writes profile_export_aiperf_timeslices.json, slice by slice, because
// there may be many.
func writeSlicesJSON(w io.Writer, r *Report) error {
	before := "{\n  \"timeslices\": [\n    "
	for _, slice := range r.Slices() {
		one := object{{"start_ns", slice.Start.UnixNano()}, {"end_ns", slice.End.UnixNano()}}
		if !slice.Complete {
			one.add("is_complete", false)
		}
		one.addMetrics(slice.Results, nil)
		text, err := one.appendJSON(nil)
		if err != nil {
			return err
		}
		if err := writeIndented(w, before, text, "    "); err != nil {
			return err
		}
		before = ",\n    "
	}
	input, err := plainjson.Marshal(r.InputConfig)
	if err != nil {
		return err
	}
	if err := writeIndented(w, "\n  ],\n  \"input_config\": ", input, "  "); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n}\n")
	return err
}

// writeIndented writes a text and a JSON value whose lines but the first begin with
// prefix.
func writeIndented(w io.Writer, before string, value []byte, prefix string) error {
	out := bytes.NewBufferString(before)
	if err := json.Indent(out, value, prefix, "  "); err != nil {
		return err
	}
	_, err := out.WriteTo(w)
	return err
}

// writeSlicesCSV writes profile_export_aiperf_timeslices.csv: one line per slice,
// metric and statistic.
func writeSlicesCSV(w io.Writer, r *Report) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	_ = out.Write([]string{"Timeslice", "Start_NS", "End_NS", "Metric", "Unit", "Stat", "Value"}) // Error has it
	for i, slice := range r.Slices() {
		head := []string{strconv.Itoa(i), strconv.FormatInt(slice.Start.UnixNano(), 10), strconv.FormatInt(slice.End.UnixNano(), 10)}
		for _, m := range sortedByTag(slice.Results) {
			stats := csvStats[:]
			if !distributed(m) {
				stats = []metric.Stat{metric.Avg}
			}
			for _, stat := range stats {
				if value := cell(m, stat, r.Layout.CSVDigits); value != "" {
					_ = out.Write(append(head[:3:3], m.Def.Header, m.Def.Unit, stat.String(), value)) // the same
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}
