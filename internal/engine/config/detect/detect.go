// Package detect recognises datasets by their first record.
package detect

import (
	"context"
	"encoding/json"
	"strings"

	"aiperfd/internal/engine/dataset/file"
)

// Record is the first record of a dataset: its members, as JSON. Nil is a dataset whose
// first record is unknown.
type Record map[string]json.RawMessage

// signs are members that only records of one format have, most telling first.
func signs() []struct{ member, format string } {
	return []struct{ member, format string }{
		{"messages", "raw_payload"},
		{"turns", "multi_turn"},
		{"hash_ids", "mooncake_trace"},
		{"input_length", "mooncake_trace"},
		{"data", "inputs_json"},
		{"conversations", "sharegpt"},
	}
}

// Format returns the format that a record looks like; if nothing speaks for one, columns
// for the rows of a table, and single_turn for other records.
func (r Record) Format() string {
	for _, s := range signs() {
		value, ok := r[s.member]
		isList := strings.HasPrefix(strings.TrimSpace(string(value)), "[")
		if ok && (isList || s.member == "input_length") {
			return s.format
		}
	}
	if _, ok := r[table]; ok {
		return "columns"
	}
	return "single_turn"
}

// stamps are the members that hold the time of a record, by the format of a trace. A
// format without one always has times.
func stamps() map[string]string {
	return map[string]string{
		"mooncake_trace": "timestamp", "bailian_trace": "timestamp",
		"burst_gpt_trace": "", "sagemaker_data_capture": "", "tracelab": "",
	}
}

// IsTrace reports whether a format is that of recorded requests.
func IsTrace(format string) bool {
	_, trace := stamps()[format]
	return trace
}

// Timed reports whether the record of a trace has a time.
func (r Record) Timed(format string) bool {
	member, trace := stamps()[format]
	if !trace || member == "" {
		return trace
	}
	stamp, ok := r[member]
	return ok && string(stamp) != "null"
}

// table is the member that marks the first record of a table. No column has that name.
const table = "\x00"

// First returns the first record of a file; nil if it cannot be read or is no JSON object.
func First(f file.File) (record Record) {
	r, err := file.Open(context.Background(), f)
	if err != nil {
		return nil
	}
	defer r.Close()
	first, err := r.Next()
	if err != nil || json.Unmarshal(first.Data, &record) != nil {
		return nil
	}
	switch r.Container() {
	case "csv", "tsv", "parquet", "arrow":
		record[table] = nil
	}
	return record
}
