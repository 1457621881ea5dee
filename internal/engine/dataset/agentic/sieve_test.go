package agentic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"aiperfd/internal/engine/dataset/file"
)

// restored returns the record of a sieve with the ids in their places.
func restored(s *sieve) string {
	var out []byte
	at := 0
	for k, c := range s.cuts {
		out = append(append(out, s.out[at:c.at]...), '[')
		for i, id := range s.lists[k] {
			if i > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, id, 10)
		}
		out = append(out, ']')
		at = c.at + bytes.IndexByte(s.out[c.at:], ']') + 1
	}
	return string(append(out, s.out[at:]...))
}

func TestSieve(t *testing.T) {
	for _, tt := range []struct{ text, record, ids string }{
		{`{"hash_ids": [1, 2,3 ]}`, `{"hash_ids": [0]}`, "[[1 2 3]]"},
		{`{"a":{"hash_ids" :[1,2,3]},"b":{"hash_ids":[1,2,3,4]},"c":{"hash_ids":[1,2]},"d":{"hash_ids":[1,2,3,4,15]}}`,
			`{"a":{"hash_ids" :[0]},"b":{"hash_ids":[1]},"c":{"hash_ids":[2]},"d":{"hash_ids":[3]}}`, "[[1 2 3] [1 2 3 4] [1 2] [1 2 3 4 15]]"},
		{`{"a":{"hash_ids":[1,23]},"b":{"hash_ids":[1,2]},"c":{"hash_ids":[1,234]},"d":{"hash_ids":[-1,-9223372036854775808]}}`,
			`{"a":{"hash_ids":[0]},"b":{"hash_ids":[1]},"c":{"hash_ids":[2]},"d":{"hash_ids":[3]}}`, "[[1 23] [1 2] [1 234] [-1 -9223372036854775808]]"},
		// What is no list of ids stays.
		{`{"hash_ids":[],"ids":[1],"x\"hash_ids":[1],"s":"\"hash_ids\":[1]"}`, `{"hash_ids":[],"ids":[1],"x\"hash_ids":[1],"s":"\"hash_ids\":[1]"}`, "[]"},
		{`{"hash_ids":[1,"]"],"hash_ids":[[0],2],"hash_ids":[1.5],"hash_ids":[9223372036854775808],"hash_ids":[5]}`,
			`{"hash_ids":[1,"]"],"hash_ids":[[0],2],"hash_ids":[1.5],"hash_ids":[9223372036854775808],"hash_ids":[0]}`, "[[5]]"},
		{`{"hash_ids":[01]}`, `{"hash_ids":[01]}`, "[]"},
		{`{"hash_ids":[1,]}`, `{"hash_ids":[1,]}`, "[]"},
		{`{"hash_ids":[1 2]}`, `{"hash_ids":[1 2]}`, "[]"},
		{`{"hash_ids":[1,2`, `{"hash_ids":[1,2`, "[]"},
		{`{"hash_ids":[{"hash_ids":[1]},7]}`, `{"hash_ids":[{"hash_ids":[1]},7]}`, "[]"},
	} {
		for cut := range len(tt.text) { // wherever the bytes are divided
			s := newSieve()
			s.Write([]byte(tt.text[:cut]))
			s.Write([]byte(tt.text[cut:]))
			if got := string(s.Record()); got != tt.record || fmt.Sprint(s.lists) != tt.ids {
				t.Errorf("%s, divided at %d:\n got %s %v\nwant %s %s", tt.text, cut, got, s.lists, tt.record, tt.ids)
				break
			}
		}
	}
}

// TestSieveColumns: an error names the place in the text that was read, not in the record.
func TestSieveColumns(t *testing.T) {
	text := `{"hash_ids": [100, 200, 300], "t": x}`
	_, problems := parseText(new(usual()), []byte(text))
	if want := []string{"not valid JSON: invalid character 'x' looking for beginning of value at column 36"}; !reflect.DeepEqual(problems, want) {
		t.Errorf("%q", problems)
	}
	_, problems = parseText(new(usual()), []byte("{\"hash_ids\": [\n100,\n200\n], \"t\": x}"))
	if want := []string{"not valid JSON: invalid character 'x' looking for beginning of value at line 4, column 9 of the record"}; !reflect.DeepEqual(problems, want) {
		t.Errorf("%q", problems)
	}
}

// FuzzSieve: the record and the ids of a sieve are the text that it took, and are JSON only if that is.
func FuzzSieve(f *testing.F) {
	f.Add([]byte(traceA()), 7)
	f.Add([]byte(`{"hash_ids":[1,"]"],"hash_ids":[[0],2]}`), 3)
	f.Add([]byte("{\"hash_ids\":[1,2],\"hash_ids\":[1,\n2,3],\"hash_ids\":[1,23]}"), 9)
	f.Fuzz(func(t *testing.T, data []byte, part int) {
		s := newSieve()
		for rest := data; len(rest) > 0; {
			n := min(max(1, part), len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
		}
		record := bytes.Clone(s.Record())
		if json.Valid(record) != json.Valid(data) {
			t.Fatalf("%q became %q", data, record)
		}
		var before, after any
		if json.Unmarshal(data, &before) != nil {
			return
		}
		if err := json.Unmarshal([]byte(restored(s)), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q with %v: %v", data, record, s.lists, err)
		}
	})
}

// generated writes generated traces to a file.
func generated(tb testing.TB, c Corpus) (path string, size int64) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "traces.jsonl")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Generate(f); err != nil {
		tb.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	return path, info.Size()
}

// BenchmarkReadCorpus reads traces of the shape of the published ones into graphs.
func BenchmarkReadCorpus(b *testing.B) {
	path, size := generated(b, Corpus{Traces: 24, Requests: 145, Context: 990_016})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(b.Context(), file.File{Path: path}, Options{Rules: DefaultRules()}, func(*Graph) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
