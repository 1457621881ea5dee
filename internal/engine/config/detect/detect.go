// Package detect recognises datasets by their first record.
package detect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
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
	}
}

// Format returns the format that a record looks like; single_turn if nothing speaks for
// another.
func (r Record) Format() string {
	for _, s := range signs() {
		value, ok := r[s.member]
		isList := strings.HasPrefix(strings.TrimSpace(string(value)), "[")
		if ok && (isList || s.member == "input_length") {
			return s.format
		}
	}
	return "single_turn"
}

// stamps are the members that hold the time of a record, by the format of a trace. A
// format without one always has times.
func stamps() map[string]string {
	return map[string]string{
		"mooncake_trace": "timestamp", "bailian_trace": "timestamp",
		"burst_gpt_trace": "", "baseten_trace": "", "sagemaker_data_capture": "", "tracelab": "",
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

// First returns the record in the first line of text that is not empty, of at most so
// many bytes; nil if it is no JSON object.
func First(text []byte, most int) (record Record) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, most)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if json.Unmarshal(line, &record) != nil {
				return nil
			}
			return record
		}
	}
	return nil
}
