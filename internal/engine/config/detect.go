package config

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
)

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

// detectFormat returns the format that the first record of a dataset looks like;
// single_turn if nothing speaks for another.
func (f filler) detectFormat(d *Dataset) string {
	var record map[string]json.RawMessage
	switch {
	case len(d.Records) > 0:
		record = make(map[string]json.RawMessage)
		for _, m := range d.Records[0].Members() {
			record[m.Name] = m.Value
		}
	case d.Path != "" && !(f.options.Untrusted && len(f.options.DataRoots) == 0):
		record = f.firstRecord(d.Path)
	}
	for _, s := range signs() {
		value, ok := record[s.member]
		isList := strings.HasPrefix(strings.TrimSpace(string(value)), "[")
		if ok && (isList || s.member == "input_length") {
			return s.format
		}
	}
	return "single_turn"
}

// firstRecord reads the first line of a file that is not empty; nil if it is no
// JSON object of at most 1 MiB.
func (f filler) firstRecord(name string) (record map[string]json.RawMessage) {
	start, err := f.head(name, maxTemplate)
	if err != nil {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(start))
	lines.Buffer(nil, maxTemplate)
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
