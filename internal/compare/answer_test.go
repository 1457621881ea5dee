package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// latency is a latency with its p50 and the interval of that.
func latency(tag string, p50, low, high float64) string {
	return fmt.Sprintf(`{"tag":%q,"unit":"ms","count":400,"stats":{"avg":%v,"p50":%[2]v},`+
		`"confidence":{"effective_sample_size":400,"intervals":{"p50":[%v,%v]},"unsupported":[]}}`, tag, p50, low, high)
}

func rateOf(tag string, v float64) string {
	return fmt.Sprintf(`{"tag":%q,"unit":"","count":0,"stats":{"avg":%v}}`, tag, v)
}

// side makes runs with one TTFT each, which differ by nothing else.
func side(t *testing.T, name string, started time.Time, p50 ...float64) []Input {
	t.Helper()
	var out []Input
	for i, v := range p50 {
		in := input(t, fmt.Sprint(name, i), `{"phases":[{"concurrency":4}]}`, latency("time_to_first_token", v, 0.98*v, 1.02*v))
		in.Run.CreatedAt = started.Add(time.Duration(2*i) * time.Minute)
		in.Run.Summary = &run.Summary{Requests: 400}
		out = append(out, in)
	}
	return out
}

// lines returns a line for each metric.
func lines(a *Answer) string {
	var out []string
	for i := range a.Metrics {
		m := &a.Metrics[i]
		line := fmt.Sprintf("%s(%s) %s", m.Statistic, m.Tag, m.Verdict)
		if m.Change != nil {
			line += fmt.Sprintf(" %s [%s, %s] %s", m.signed(m.Change), m.signed(m.Low), m.signed(m.High), m.Method)
		}
		if m.Reason != "" {
			line += ": " + m.Reason
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// start is when the first run of side A begins; B begins a minute later, so the sides alternate.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestJudge(t *testing.T) {
	const ttft = "p50(time_to_first_token) "
	tests := []struct {
		name    string
		a, b    []float64
		verdict results.Verdict
		want    string // of the metric
	}{
		{"five runs, slower", []float64{100, 101, 99, 100, 100}, []float64{105, 106, 104, 105, 105}, IsWorse,
			ttft + "worse +5.0 % [+3.9 %, +6.1 %] welch"},
		{"five runs, faster", []float64{105, 106, 104, 105, 105}, []float64{100, 101, 99, 100, 100}, IsBetter,
			ttft + "better -4.8 % [-5.7 %, -3.8 %] welch"},
		{"five runs, equal", []float64{100, 101, 99, 100, 100}, []float64{100, 100, 101, 99, 101}, Equivalent,
			ttft + "equivalent +0.2 % [-0.9 %, +1.3 %] welch"},
		{"three noisy runs", []float64{100, 120, 90}, []float64{110, 95, 125}, Inconclusive,
			ttft + "inconclusive +6.5 % [-22.7 %, +46.9 %] welch: no change and changes beyond the margin are both within the interval"},
		{"two runs", []float64{100, 101}, []float64{120, 121}, Inconclusive,
			ttft + "inconclusive +19.9 % [+16.5 %, +23.4 %] welch: a verdict needs 3 runs on each side"},
		{"one run each, slower", []float64{100}, []float64{110}, IsWorse, ttft + "worse +10.0 % [+6.9 %, +13.2 %] mover"},
		{"one run each, a little slower", []float64{100}, []float64{101}, Inconclusive,
			ttft + "inconclusive +1.0 % [-1.8 %, +3.9 %] mover: no change and changes beyond the margin are both within the interval"},
		{"one new run against five", []float64{100, 101, 99, 100, 100}, []float64{106}, IsWorse, ttft + "worse +6.0 % [+3.7 %, +8.3 %] prediction"},
		{"one run against two", []float64{100, 101}, []float64{106}, Inconclusive,
			ttft + "inconclusive: a verdict needs 3 runs on each side"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := Judge(side(t, "a", start, tt.a...), side(t, "b", start.Add(time.Minute), tt.b...), AnswerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if a.Verdict != tt.verdict || lines(a) != tt.want {
				t.Errorf("%s: %s\nwant %s: %s", a.Verdict, lines(a), tt.verdict, tt.want)
			}
			if wide := len(tt.a) >= 3 && (len(tt.b) >= 3 || len(tt.a) >= 5); wide != (a.SpeaksFor == theseConfigurations) {
				t.Errorf("speaks for %s", a.SpeaksFor)
			}
			if len(a.Doubts) > 0 {
				t.Errorf("doubts: %v", a.Doubts)
			}
			if !json.Valid(must(json.Marshal(a))) {
				t.Error("the answer is no JSON")
			}
		})
	}
}

// TestCSV: a line per metric; what is not known is empty.
func TestCSV(t *testing.T) {
	for want, b := range map[string][]float64{
		"p50,ms,3,3,100,105,": {105, 106, 104},
		"p50,ms,3,1,100,105,,,,%,3,,,,inconclusive,a verdict needs 3 runs on each side": {105},
	} {
		a, err := Judge(side(t, "a", start, 100, 101, 99), side(t, "b", start.Add(time.Minute), b...), AnswerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(a.CSV()), "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[0], "cell,metric,statistic,unit,") ||
			!strings.HasPrefix(lines[1], ",time_to_first_token,"+want) {
			t.Errorf("%q, want %q", lines, want)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// Exchanging the sides exchanges better and worse, and the unit of a metric changes nothing.
func TestJudgeIsSymmetrical(t *testing.T) {
	a, b := []float64{100, 102, 99}, []float64{108, 110, 107}
	forward, err := Judge(side(t, "a", start, a...), side(t, "b", start.Add(time.Minute), b...), AnswerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		a[i], b[i] = a[i]/1000, b[i]/1000
	}
	backward, err := Judge(side(t, "b", start, b...), side(t, "a", start.Add(time.Minute), a...), AnswerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if forward.Verdict != IsWorse || backward.Verdict != IsBetter {
		t.Errorf("%s, exchanged %s", forward.Verdict, backward.Verdict)
	}
	if d := *forward.Metrics[0].P - *backward.Metrics[0].P; d > 1e-9 || d < -1e-9 {
		t.Errorf("p differs by %v", d)
	}
}

// A number that the load generator distorted is not judged, and no answer rests on it.
func TestJudgeDistorted(t *testing.T) {
	a, b := side(t, "a", start, 100), side(t, "b", start.Add(time.Minute), 150)
	b[0].Run.Client = &run.ClientVerdict{Reasons: []verdict.Reason{{Level: verdict.Invalid, Concerns: []string{"time_to_first_token"}}}}
	got, err := Judge(a, b, AnswerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Verdict != Invalid || lines(got) != "p50(time_to_first_token) invalid: distorted by the load generator" {
		t.Errorf("%s: %s", got.Verdict, lines(got))
	}
	if got.Sentences[0] != "No answer: the load generator distorted Time to First Token p50." {
		t.Error(got.Sentences)
	}
}

// Differences of the load forbid a comparison, unless they are allowed; those of the subject are
// what is compared, and others do not matter.
func TestJudgeLoads(t *testing.T) {
	a, b := side(t, "a", start, 100), side(t, "b", start.Add(time.Minute), 150)
	a[0].Run.Config = json.RawMessage(`{"phases":[{"concurrency":4}],"endpoint":{"urls":["http://a"]},"datasets":[{"randomSeed":1}],"artifacts":{"dir":"a"}}`)
	b[0].Run.Config = json.RawMessage(`{"phases":[{"concurrency":8}],"endpoint":{"urls":["http://b"]},"datasets":[{"randomSeed":2}],"artifacts":{"dir":"b"}}`)
	got, err := Judge(a, b, AnswerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `Not comparable: the runs put different loads on their servers

Differs: /phases/0/concurrency 4, 8
What to do: compare runs of the same load, or accept a difference with --allow and what stands behind "Differs".
Compared: /endpoint/urls/0 http://a, http://b
`
	if got.Verdict != NotComparable || got.Text(0) != want {
		t.Errorf("%s:\n%s\nwant:\n%s", got.Verdict, got.Text(0), want)
	}
	got, err = Judge(a, b, AnswerOptions{Allow: []string{"/phases"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Verdict != IsWorse || !slices.ContainsFunc(got.Doubts, func(d results.AnswerDoubt) bool { return d.Code == "load-differs" }) {
		t.Errorf("allowed: %s, doubts %v", got.Verdict, got.Doubts)
	}
}

// Runs of one side that were all measured first raise a doubt.
func TestJudgeOrder(t *testing.T) {
	a := side(t, "a", start, 100, 101, 99)
	b := side(t, "b", start.Add(time.Hour), 100, 101, 99)
	got, err := Judge(a, b, AnswerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Doubts) != 1 || got.Doubts[0].Code != "not-interleaved" {
		t.Errorf("doubts = %v", got.Doubts)
	}
}

// Values that rise from run to run are a doubt.
func TestJudgeDrift(t *testing.T) {
	a := side(t, "a", start, 100, 101, 102, 103, 104, 105)
	got, err := Judge(a, side(t, "b", start.Add(time.Minute), 100, 103, 101, 104, 102, 105), AnswerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Doubts) != 1 || got.Doubts[0].Code != "drift-across-runs" {
		t.Errorf("doubts = %v", got.Doubts)
	}
}

// Shares of errors are compared in points, zero values are not compared as ratios, and
// latencies of answers of other lengths not at all.
func TestJudgeOtherScales(t *testing.T) {
	runOf := func(id string, errors int64, metrics ...string) []Input {
		in := input(t, id, `{}`, append(metrics, rateOf("request_error_rate", float64(errors)/10))...)
		in.Run.CreatedAt, in.Run.Summary = start, &run.Summary{Requests: 1000 - errors, Errors: errors}
		return []Input{in}
	}
	got, err := Judge(
		runOf("a", 1, latency("request_latency", 200, 199, 201), rateOf("output_token_throughput", 0), rateOf("output_sequence_length", 100)),
		runOf("b", 60, latency("request_latency", 300, 299, 301), rateOf("output_token_throughput", 90), rateOf("output_sequence_length", 150)),
		AnswerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `p50(request_latency) not_tested +50.0 % [+49.1 %, +50.9 %] mover: answers of A and B are not equally long
avg(output_token_throughput) not_tested: a value of 0 has no relative change
avg(request_error_rate) worse +5.9 points [+4.5 points, +7.5 points] mover`
	if lines(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", lines(got), want)
	}
}

func TestRegressed(t *testing.T) {
	tests := []struct {
		name string
		a, b []float64
		want Regression
	}{
		{"far worse", []float64{100, 101, 99}, []float64{120, 121, 119}, Failed},
		{"a little worse", []float64{100, 101, 99}, []float64{105, 106, 104}, Passed},
		{"better", []float64{100, 101, 99}, []float64{80, 81, 79}, Passed},
		{"noisy", []float64{100, 120, 90}, []float64{110, 95, 125}, Undecided},
		{"too few runs", []float64{100, 101}, []float64{150, 151}, Undecided},
	}
	for _, tt := range tests {
		a, err := Judge(side(t, "a", start, tt.a...), side(t, "b", start.Add(time.Minute), tt.b...), AnswerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := a.Regressed(0.1); got != tt.want {
			t.Errorf("%s: %s, want %s (%s)", tt.name, got, tt.want, lines(a))
		}
	}
}

// A rate is worse by a share if that much of it is missing, not if A has that much more than B.
func TestRegressedRates(t *testing.T) {
	rates := func(name string, started time.Time, values ...float64) (out []Input) {
		for i, v := range values {
			in := input(t, fmt.Sprint(name, i), `{}`, rateOf("goodput", v))
			in.Run.CreatedAt, in.Run.Summary = started.Add(time.Duration(2*i)*time.Minute), &run.Summary{Requests: 400}
			out = append(out, in)
		}
		return out
	}
	for share, want := range map[float64]Regression{0.33: Failed, 0.5: Passed} {
		a, err := Judge(rates("a", start, 100, 100.1, 99.9), rates("b", start.Add(time.Minute), 66, 66.1, 65.9), AnswerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := a.Regressed(share); got != want {
			t.Errorf("two thirds of a rate, limit %v: %s, want %s (%s)", share, got, want, lines(a))
		}
	}
}

// The differences of two documents decide however many there are.
func TestManyDifferences(t *testing.T) {
	inputs := func(id string, concurrency int) []Input {
		document := fmt.Sprintf(`{"datasets":[[%s0]],"phases":[{"concurrency":%d}]}`,
			strings.Repeat(id+",", maxDifferences+1), concurrency)
		return []Input{input(t, id, document, ttft(5, 4.9, 5.1))}
	}
	a, err := Judge(inputs("1", 4), inputs("2", 8), AnswerOptions{Allow: []string{"/datasets"}})
	if err != nil {
		t.Fatal(err)
	}
	if a.Verdict != NotComparable || len(a.Load) != 1 || a.Load[0].Pointer != "/phases/0/concurrency" {
		t.Errorf("verdict %s, differences of the load %v; want the concurrency", a.Verdict, a.Load)
	}
}

// The table and the Markdown show the same.
func TestAnswerTexts(t *testing.T) {
	a, err := Judge(side(t, "a", start, 100, 101, 99), side(t, "b", start.Add(time.Minute), 120, 121, 119), AnswerOptions{Margin: 0.02})
	if err != nil {
		t.Fatal(err)
	}
	const text = `B is worse than A: Time to First Token p50 +20.0 %

METRIC                    UNIT    A    B   CHANGE  95 % INTERVAL     MARGIN  VERDICT
Time to First Token  p50  ms    100  120  +20.0 %  +17.5 to +22.6 %   2.0 %  worse
`
	if got := a.Text(0); got != text {
		t.Errorf("text:\n%s\nwant:\n%s", got, text)
	}
	for line := range strings.Lines(a.Text(80)) { // the verdict is never what is left out
		if len(line) > 81 || strings.HasPrefix(line, "Time") && !strings.HasSuffix(line, "worse\n") {
			t.Errorf("a line of 80 columns: %q", line)
		}
	}
	if got := a.Markdown(); !strings.Contains(got, "**B is worse than A: Time to First Token p50 +20.0 %**") ||
		!strings.Contains(got, "+17.5 to +22.6 %") {
		t.Errorf("Markdown:\n%s", got)
	}
}

// Every statistic of the default question is in the catalogue, with a direction.
func TestFamily(t *testing.T) {
	for _, q := range family() {
		def, ok := catalogue.Lookup(q.tag)
		if !ok || direction(def) == Undefined {
			t.Errorf("%s has no direction in the catalogue", q.tag)
		}
	}
}
