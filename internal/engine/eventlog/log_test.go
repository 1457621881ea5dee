package eventlog

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// collect returns copies of all events.
func collect(e *Log) []Event {
	var list []Event
	for v := range e.All() {
		v.Data = bytes.Clone(v.Data)
		list = append(list, v)
	}
	return list
}

// templatesOf returns the template of each event, "-" for none.
func templatesOf(e *Log) string {
	var b strings.Builder
	for c := e.Cursor(); c.Next(); {
		if c.Template == NoTemplate {
			b.WriteByte('-')
		} else {
			fmt.Fprint(&b, c.Template)
		}
	}
	return b.String()
}

// distinct returns n events of different structure.
func distinct(n int) []string {
	var list []string
	for i := range n {
		list = append(list, strings.Repeat("[", i+1)+strings.Repeat("]", i+1))
	}
	return list
}

func TestTemplates(t *testing.T) {
	eight := []string{`{}`, `[]`, `null`, `{"a":{}}`, `{"b":{}}`, `[[]]`, `[true]`, `[{}]`}
	for _, tt := range []struct {
		name string
		data []string
		want string
	}{
		{"one string differs", []string{`{"a":"x"}`, `{"a":"y"}`, `{"a":"z z"}`, `{"a":""}`, `{"a":"\"}\\"}`}, "-0000"},
		{"the same bytes", []string{`{"a":1}`, `{"a":1}`, `{"a":1}`}, "-00"},
		{"a constant that changes", []string{`{"a":"x"}`, `{"a":"x"}`, `{"a":"y"}`, `{"a":"x"}`, `{"a":"z"}`}, "-0111"},
		{"names of members are not variables", []string{`{"a":"x"}`, `{"b":"x"}`, `{"c" : 1}`, `{"d" : 1}`}, "----"},
		{"other structure", []string{`{"a":"x"}`, `{"a":null}`, `{"a":["x"]}`, `{"a":"x","b":1}`}, "----"},
		{"no escape hides a quote", []string{`{"a":"x"}`, `{"a":"y"}`, `{"a":"z","b":"z"}`, `{"a":"\","b":"z"}`}, "-0--"},
		{"control characters", []string{`{"a":"x"}`, `{"a":"y"}`, "{\"a\":\"\n\"}", "{\"a\":\"\\\n\"}"}, "-0--"},
		{"an open string", []string{`{"a":"x"}`, `{"a":"y"}`, `{"a":"z`, `{"a":"z\"}`}, "-0--"},
		{"numbers only later", append(eight[:8:8], `{"n":1}`, `{"n":-2.5e+3}`, `{"n":01}`, `{"n":1.}`, `{"n":2e}`, `{"n":0}`), "---------0---0"},
		{"several variables only later", append(eight[:8:8], `{"a":"1","n":1,"c":"x"}`, `{"a":"2","n":1,"c":"y"}`, `{"a":"","n":1,"c":""}`), "---------00"},
		{"too early for numbers", []string{`{"n":1}`, `{"n":2}`, `{"n":3}`}, "---"},
		{"two kinds in turn", []string{`["a"]`, `{"b":"b"}`, `["c"]`, `{"b":"d"}`, `["e"]`, `{"b":"f"}`}, "--0101"},
		{"too many variables", append(eight[:8:8], `[1,1,1,1,1,1,1,1,1]`, `[2,2,2,2,2,2,2,2,2]`, `[1,2,2,2,2,2,2,2,2]`), "----------0"},
		{"nothing", []string{"", "", ""}, "---"},
		{"too many misses", append(distinct(70), `["x"]`, `["y"]`, `["y"]`), strings.Repeat("-", 73)},
		{"not yet too many misses", append(distinct(60), `["x"]`, `["y"]`, `["y"]`), strings.Repeat("-", 61) + "00"},
		{"another attempt from time to time", append(distinct(127), `["x"]`, `["y"]`), strings.Repeat("-", 128) + "0"},
		{"no JSON at all", []string{"x", "x", "y", `"`, `"`, `"1"2`, `"3"2`}, "-0---" + "-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e Log
			var want []Event
			for i, s := range tt.data {
				v := Event{At: time.Duration(i), Read: int32(i), Data: []byte(s)}
				e.Append(v)
				want = append(want, v)
			}
			if diff := cmp.Diff(want, collect(&e)); diff != "" {
				t.Errorf("(-appended +read):\n%s", diff)
			}
			if got := templatesOf(&e); got != tt.want {
				t.Errorf("templates %s, want %s", got, tt.want)
			}
		})
	}
}

// TestFields checks the fields other than the data.
func TestFields(t *testing.T) {
	want := []Event{
		{At: 5, Read: 2, Name: "a", Data: []byte(`["x"]`)},
		{At: 5, Read: 2, Name: "a", Data: []byte(`["y"]`)},
		{At: 4, Read: 9, Name: "b", Data: []byte(`["y"]`)},
		{At: -1 << 62, Read: -1, Data: []byte(`["y"]`)},
		{At: 1 << 62, Read: 1<<31 - 1, Name: "a", Data: []byte(`["y"]`), Comment: "c"},
		{At: 1 << 62, Read: 1<<31 - 1, Name: "a", Data: []byte(`["` + strings.Repeat("z", 300) + `"]`)},
		{At: 0, Name: "error", Data: []byte{}, Comment: strings.Repeat("c", 200)},
	}
	var e Log
	for range 2 { // the second time with the memory of the first
		for _, v := range want {
			e.Append(v)
		}
		if diff := cmp.Diff(want, collect(&e)); diff != "" || e.Len() != len(want) {
			t.Errorf("%d events (-appended +read):\n%s", e.Len(), diff)
		}
		if got := templatesOf(&e); got != "-0---0-" {
			t.Errorf("templates %s, want those of name a alone", got)
		}
		c := e.Cursor()
		for i := range want {
			if !c.Next() || c.Size() != len(want[i].Data) {
				t.Errorf("event %d has size %d, want %d", i, c.Size(), len(want[i].Data))
			}
		}
		e.Reset(1 << 20)
		if e.Len() != 0 || e.Cursor().events.Templates() != 0 || len(collect(&e)) != 0 {
			t.Error("events after Reset")
		}
	}
	for range 100 {
		e.Append(Event{Data: make([]byte, 100)})
	}
	e.Reset(100)
	if cap(e.log) != 0 {
		t.Errorf("%d bytes kept over a limit of 100", cap(e.log))
	}
}

// TestAllStops checks that All stops when the loop does.
func TestAllStops(t *testing.T) {
	var e Log
	e.Append(Event{At: 1})
	e.Append(Event{At: 2})
	for v := range e.All() {
		if v.At == 2 {
			t.Error("the loop went on")
		}
		break
	}
}

// TestRoundTrip checks that random events that resemble JSON are restored exactly.
func TestRoundTrip(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{`"`, `"a"`, `"a":`, `"\"`, `\`, `{`, `}`, `,`, `1`, `-1.5e3`, `01`, `1.`, `e`, "\n", `:`, ` `, `{"a":"x","n":1}`}),
		rapid.String(),
	)
	bases := rapid.SliceOfN(rapid.SliceOfN(piece, 0, 8), 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		var e Log
		var want []Event
		templates := bases.Draw(t, "templates")
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			parts := append([]string{}, rapid.SampledFrom(templates).Draw(t, "template")...)
			if len(parts) > 0 {
				parts[rapid.IntRange(0, len(parts)-1).Draw(t, "place")] = piece.Draw(t, "piece")
			}
			v := Event{
				At: time.Duration(rapid.Int64Range(-5, 5).Draw(t, "at")), Read: rapid.Int32Range(0, 2).Draw(t, "read"),
				Name: rapid.SampledFrom([]string{"", "n"}).Draw(t, "name"), Data: []byte(strings.Join(parts, "")),
			}
			e.Append(v)
			want = append(want, v)
		}
		if diff := cmp.Diff(want, collect(&e)); diff != "" {
			t.Fatalf("(-appended +read):\n%s", diff)
		}
	})
}

// TestMemory checks that an event of a common stream takes only a few bytes.
func TestMemory(t *testing.T) {
	const head, tail = `{"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":`, `,"model":"meta-llama/Llama-3.1-8B-Instruct","system_fingerprint":"fp_0123456789"`
	for _, tt := range []struct {
		name   string
		format func(i int) string
		limit  int // bytes per event
	}{
		{"text", func(i int) string {
			return head + `1700000000` + tail + fmt.Sprintf(`,"choices":[{"index":0,"delta":{"content":" w%d"},"logprobs":null,"finish_reason":null}]}`, i)
		}, 18},
		{"time and padding", func(i int) string {
			return head + fmt.Sprint(1700000000+i/20) + tail + fmt.Sprintf(`,"choices":[{"index":0,"delta":{"content":" w%d"}}],"obfuscation":"%d"}`, i, i*i)
		}, 40},
		{"sixteen choices", func(i int) string {
			return head + `1700000000` + tail + fmt.Sprintf(`,"choices":[{"index":%d,"delta":{"content":" w%d"}}]}`, i%16, i)
		}, 30},
	} {
		var e Log
		for i := range 600 {
			e.Append(Event{At: time.Duration(i) * 20_000_003, Read: int32(i), Data: []byte(tt.format(i))})
		}
		if got := e.Size() / e.Len(); got > tt.limit {
			t.Errorf("%s: %d bytes per event, want at most %d", tt.name, got, tt.limit)
		}
	}
}

func TestAppendAllocations(t *testing.T) {
	var e Log
	first, second := []byte(`{"a":"x","b":1}`), []byte(`{"a":"y","b":1}`)
	run := func() {
		e.Reset(1 << 20)
		e.Append(Event{Data: first})
		for i := range 500 {
			e.Append(Event{At: time.Duration(i), Read: int32(i), Data: second})
		}
		n := 0
		for c := e.Cursor(); c.Next(); {
			n += len(c.Event().Data) + c.Size()
		}
		if n != 501*2*len(first) {
			t.Fatalf("%d bytes read", n)
		}
	}
	run()
	if n := testing.AllocsPerRun(20, run); n > 2 { // the cursor and its buffer
		t.Errorf("%v allocations for 501 events, want 2", n)
	}
}
