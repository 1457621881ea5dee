package config

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// maxTemplate bounds the file of a body template.
const maxTemplate = 1 << 20

// readTemplate takes the body of a template out of the file that it names, as
// AIPerf does. A body in place makes a JSON object, so it has a brace; what has
// none is a file or the name of a built-in template.
func (l *loader) readTemplate() {
	const path = endpointPath + ".template.body"
	t := l.doc.Benchmark.Endpoint.Template
	if t == nil || t.Body == "" || strings.Contains(t.Body, "{") || t.Body == builtInTemplate || l.options.Stored {
		return
	}
	n := l.at(path)
	if l.checkFile(path, t.Body); n == nil || l.failed[path] || l.options.Untrusted && len(l.options.DataRoots) == 0 {
		return
	}
	body, err := l.head(t.Body, maxTemplate+1)
	switch {
	case err != nil:
		l.failValue(n, CodeFileNotAllowed, "the file cannot be read")
	case len(body) > maxTemplate:
		l.failValue(n, CodeOutOfRange, "a template must have at most 1 MiB")
	case !bytes.Contains(body, []byte("{")):
		l.failValue(n, CodeOutOfRange, "the file must hold a template of a JSON object")
	default:
		t.Body = string(body)
	}
}

// builtInTemplate is the name that package endpoint knows a body for.
const builtInTemplate = "nv-embedqa"

// head returns the first bytes of a file that the document may read.
func (l *loader) head(name string, most int64) ([]byte, error) {
	f, err := Open(name, l.roots())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

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

// detectFormat says which format the first record of a dataset looks like;
// single_turn if nothing speaks for another.
func (l *loader) detectFormat(d *Dataset) string {
	var record map[string]json.RawMessage
	switch {
	case len(d.Records) > 0:
		record = make(map[string]json.RawMessage)
		for _, m := range d.Records[0].Members() {
			record[m.Name] = m.Value
		}
	case d.Path != "" && !(l.options.Untrusted && len(l.options.DataRoots) == 0):
		record = l.firstRecord(d.Path)
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
func (l *loader) firstRecord(name string) (record map[string]json.RawMessage) {
	start, err := l.head(name, maxTemplate)
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
