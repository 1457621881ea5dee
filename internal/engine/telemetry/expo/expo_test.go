package expo

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// transcript returns what a scanner reads of a page, one line per entry.
func transcript(page string) string {
	var out strings.Builder
	s := NewScanner([]byte(page))
	for s.Next() {
		switch s.Entry() {
		case Type, Help, Unit:
			fmt.Fprintf(&out, "%d %s: %s\n", s.Entry(), s.Name(), Unescape(string(s.Text()), false))
		case Sample:
			name, labels, err := ParseSeries(s.Series())
			fmt.Fprintf(&out, "%s %q %v = %v\n", name, labels, err, s.Value())
		case None:
		}
	}
	if n := s.Malformed(); n > 0 {
		fmt.Fprintf(&out, "%d malformed\n", n)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func TestScanner(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"a counter", "# HELP a_total Says \\\\ and\\nmore.\n# TYPE a_total counter\na_total 3\n",
			"2 a_total: Says \\ and\nmore.\n1 a_total: counter\na_total [] <nil> = 3"},
		{"labels", `x:y_z{b="1",a="q\"\n\\}",} 1.5e3 1700000000000`, `x:y_z [{"a" "q\"\n\\}"} {"b" "1"}] <nil> = 1500`},
		{"spaces", "  a { b = \"c\" }\t7\r\n", `a [{"b" "c"}] <nil> = 7`},
		{"special values", "a NaN\nb +Inf\nc -Inf\nd 1e999", "a [] <nil> = NaN\nb [] <nil> = +Inf\nc [] <nil> = -Inf\nd [] <nil> = +Inf"},
		{"an exemplar", `h_bucket{le="1"} 3 # {trace_id="x y"} 0.7 1.2`, `h_bucket [{"le" "1"}] <nil> = 3`},
		{"the end of OpenMetrics", "# TYPE a info\n# UNIT a seconds\na_info{v=\"1\"} 1\n# EOF\nb 2\n",
			"1 a: info\n3 a: seconds\na_info [{\"v\" \"1\"}] <nil> = 1"},
		{"a quoted name", `{"my.metric",a="b"} 2`, `my.metric [{"a" "b"}] <nil> = 2`},
		{"garbage", "hello world\na{b=\"c} 1\n1a 3\na\na b\na 1 b\n\x00\nok 1", "ok [] <nil> = 1\n7 malformed"},
		{"a label twice", `a{b="1",b="2"} 3`, ` [] the series is malformed = 3`},
		{"no labels", `a{} 3`, `a [] <nil> = 3`},
		{"bad labels", "a{b} 3\na{=\"x\"} 4\na{b=\"x\" c=\"y\"} 5",
			" [] the series is malformed = 3\n [] the series is malformed = 4\n [] the series is malformed = 5"},
		{"comments", "# a comment\n#\n# TYPE\n#TYPE b gauge\nb 1", "1 b: gauge\nb [] <nil> = 1"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, transcript(tt.page)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// page has n families with four series each, as servers expose them.
func page(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "# HELP vllm:metric_%d_seconds Histogram of something in seconds.\n", i)
		fmt.Fprintf(&b, "# TYPE vllm:metric_%d_seconds histogram\n", i)
		for _, le := range []string{"0.1", "1.0", "+Inf"} {
			fmt.Fprintf(&b, "vllm:metric_%d_seconds_bucket{le=\"%s\",model_name=\"meta-llama/Llama-3.1-8B\"} %d.0\n", i, le, i)
		}
		fmt.Fprintf(&b, "vllm:metric_%d_seconds_sum{model_name=\"meta-llama/Llama-3.1-8B\"} %d.25\n", i, i)
		fmt.Fprintf(&b, "vllm:metric_%d_seconds_count{model_name=\"meta-llama/Llama-3.1-8B\"} %d.0\n", i, i)
	}
	return b.Bytes()
}

func TestScannerAllocates(t *testing.T) {
	p := page(20)
	if n := testing.AllocsPerRun(10, func() {
		s := NewScanner(p)
		for s.Next() {
			_ = s.Value()
		}
	}); n > 1 {
		t.Errorf("reading a page takes %v allocations, want 1 for the scanner", n)
	}
}

func BenchmarkScanner(b *testing.B) {
	p := page(80) // 400 series
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		s := NewScanner(p)
		for s.Next() {
			_ = s.Value()
		}
	}
}

// oracle returns the values of a page by series as Prometheus' own parser reads them; nil = it refuses.
func oracle(p []byte) map[string]float64 {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(p))
	if err != nil {
		return nil
	}
	out := map[string]float64{}
	put := func(name string, m *dto.Metric, v float64, more ...string) {
		labels := map[string]string{}
		for _, l := range m.Label {
			labels[l.GetName()] = l.GetValue()
		}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		out[key(name, labels)] = v
	}
	for name, f := range families {
		for _, m := range f.Metric {
			switch {
			case m.Counter != nil:
				put(name, m, m.Counter.GetValue())
			case m.Gauge != nil:
				put(name, m, m.Gauge.GetValue())
			case m.Untyped != nil:
				put(name, m, m.Untyped.GetValue())
			case m.Histogram != nil:
				put(name+"_sum", m, m.Histogram.GetSampleSum())
				put(name+"_count", m, float64(m.Histogram.GetSampleCount()))
				for _, b := range m.Histogram.Bucket {
					put(name+"_bucket", m, float64(b.GetCumulativeCount()), "le", fmt.Sprint(b.GetUpperBound()))
				}
			}
		}
	}
	return out
}

func key(name string, labels map[string]string) string {
	out := name
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		out += fmt.Sprintf(" %s=%q", l, labels[l])
	}
	return out
}

// TestOracle compares the samples of pages with those that Prometheus' parser reads.
func TestOracle(t *testing.T) {
	for _, p := range [][]byte{
		page(7),
		[]byte("# TYPE g gauge\ng{a=\"x\\\"y\",b=\"\\n\"} -1.5\ng{a=\"z\"} 1e-7 1700000000000\n# TYPE c counter\nc 12\nu 4\n"),
	} {
		want, got := oracle(p), map[string]float64{}
		s := NewScanner(p)
		for s.Next() {
			if s.Entry() != Sample {
				continue
			}
			name, labels, err := ParseSeries(s.Series())
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]string{}
			for _, l := range labels {
				all[l.Name] = l.Value
				if l.Name == "le" {
					all["le"] = strings.TrimSuffix(l.Value, ".0")
				}
			}
			got[key(name, all)] = s.Value()
		}
		if len(want) == 0 {
			t.Fatal("the oracle cannot read the page")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-oracle +scanner):\n%s", diff)
		}
	}
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte("# TYPE a counter\na{b=\"c\"} 1 2 # {x=\"y\"} 3\n# EOF"))
	f.Add(page(1))
	f.Add([]byte(`{"a",b="\\"} NaN`))
	f.Fuzz(func(t *testing.T, p []byte) {
		s := NewScanner(p)
		lines := bytes.Count(p, []byte("\n")) + 1
		entries := 0
		for s.Next() {
			entries++
			if s.Entry() != Sample {
				continue
			}
			name, labels, err := ParseSeries(s.Series())
			if err == nil && name == "" {
				t.Errorf("%q: a series without a name", s.Series())
			}
			if !slices.IsSortedFunc(labels, func(a, b Label) int { return strings.Compare(a.Name, b.Name) }) {
				t.Errorf("%q: the labels are not in order", s.Series())
			}
			if math.IsNaN(s.Value()) && !bytes.Contains(bytes.ToLower(p), []byte("nan")) {
				t.Errorf("NaN from nothing")
			}
		}
		if entries+s.Malformed() > lines {
			t.Errorf("%d entries and %d malformed lines in %d lines", entries, s.Malformed(), lines)
		}
	})
}
