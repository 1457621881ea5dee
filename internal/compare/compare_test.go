package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// decoded returns metrics as they are stored.
func decoded(t *testing.T, text string) metric.Results {
	t.Helper()
	var out metric.Results
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// ttft is a latency with an interval of the average.
func ttft(avg, low, high float64) string {
	return fmt.Sprintf(`{"tag":"time_to_first_token","unit":"ms","count":9,"stats":{"avg":%v,"max":%v},"confidence":{"effective_sample_size":9,"intervals":{"avg":[%v,%v]},"unsupported":[]}}`,
		avg, 2*avg, low, high)
}

func input(t *testing.T, id, config string, metrics ...string) Input {
	t.Helper()
	return Input{
		Run: &run.Run{ID: id, State: bench.StateCompleted, Config: json.RawMessage(config)},
		Snapshot: &run.Snapshot{
			Final: true, Metrics: decoded(t, "["+strings.Join(metrics, ",")+"]"),
		},
	}
}

// table writes one line for each statistic: value, change and percent of each run.
func table(c *Comparison) string {
	var b strings.Builder
	for _, m := range c.Metrics {
		for _, s := range m.Statistics {
			fmt.Fprintf(&b, "%s(%s) %s:", s.Name, m.Tag, m.Better)
			for _, v := range s.Values {
				fmt.Fprintf(&b, " %s=%s", v.Run, number(v.Value))
				if v.Interval != nil {
					fmt.Fprint(&b, *v.Interval)
				}
				if v.Delta != nil {
					fmt.Fprintf(&b, " %s %s%%;", number(v.Delta), number(v.Percent))
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *v)
}

func TestNew(t *testing.T) {
	const (
		rate   = `{"tag":"request_throughput","unit":"requests/sec","count":0,"stats":{"avg":%s}}`
		length = `{"tag":"output_sequence_length","unit":"tokens","count":9,"stats":{"avg":%v},"confidence":{"effective_sample_size":9,"intervals":{"avg":[%[1]v,%[1]v]},"unsupported":[]}}`
	)
	c, err := New([]Input{
		input(t, "a", `{}`, ttft(20, 19, 21), fmt.Sprintf(rate, "10"), fmt.Sprintf(length, 5)),
		input(t, "b", `{}`, ttft(10, 9, 11), fmt.Sprintf(rate, "12.5"), fmt.Sprintf(length, 6)),
		input(t, "c", `{}`, ttft(30, 25, 35), fmt.Sprintf(rate, "0"), `{"tag":"unheard_of","unit":"ms","count":0,"stats":{"avg":1}}`),
		input(t, "d", `{}`, ttft(20.5, 18, 23), fmt.Sprintf(rate, "10")),
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	const want = `avg(time_to_first_token) lower: a=20[19 21] b=10[9 11] -10 -50%; c=30[25 35] 10 50%; d=20.5[18 23] 0.5 2.5%;
max(time_to_first_token) lower: a=40 b=20 -20 -50%; c=60 20 50%; d=41 1 2.5%;
avg(output_sequence_length) none: a=5[5 5] b=6[6 6] 1 20%; c=- d=-
avg(request_throughput) higher: a=10 b=12.5 2.5 25%; c=0 -10 -100%; d=10 0 0%;
avg(unheard_of) none: a=- b=- c=1 d=-
`
	if diff := cmp.Diff(want, table(c)); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
	// The other baseline, which is 0 and infinite for a run.
	c, err = New([]Input{input(t, "a", `{}`, fmt.Sprintf(rate, "10")), input(t, "b", `{}`, fmt.Sprintf(rate, "0")), input(t, "c", `{}`, fmt.Sprintf(rate, `"inf"`))}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := table(c), "avg(request_throughput) higher: a=10 10 -%; b=0 c=-\n"; got != want || c.Baseline != "b" {
		t.Errorf("comparison with 0 = %s, want %s", got, want)
	}
}

// Runs without results are there, with the reason.
func TestRunsWithoutResults(t *testing.T) {
	good := input(t, "good", `{}`, ttft(1, 1, 1))
	good.Run.Client = &run.ClientVerdict{Verdict: verdict.Suspect}
	good.Run.Summary = &run.Summary{SLOs: []metric.SLOResult{{Objective: "x", Met: true}, {Objective: "y"}}}
	live := Input{Run: &run.Run{ID: "live", State: bench.StateRunning}, Snapshot: &run.Snapshot{Metrics: good.Snapshot.Metrics}}
	failed := &run.Error{Code: run.NoSuccess, Message: "not one request succeeded"}
	c, err := New([]Input{
		good, live,
		{Run: &run.Run{ID: "queued", State: bench.StateQueued}},
		{Run: &run.Run{ID: "starting", State: bench.StateStarting}, Snapshot: new(run.Snapshot)},
		{Run: &run.Run{ID: "failed", State: bench.StateFailed, Error: failed}, Snapshot: &run.Snapshot{Final: true}},
		{Run: &run.Run{ID: "cancelled", State: bench.StateCancelled}, Snapshot: &run.Snapshot{Final: true}},
		{Run: &run.Run{ID: "sweep", State: bench.StateCompleted, Study: new(run.Study)}},
	}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range c.Runs {
		line := r.ID + ": " + string(r.Results)
		if r.Reason != nil {
			line += ": " + *r.Reason
		}
		got = append(got, line)
	}
	want := []string{
		"good: final", "live: live", "queued: none: The run has not started",
		"starting: none: The run has not measured anything yet", "failed: none: The run failed: not one request succeeded",
		"cancelled: none: The run ended without a measurement",
		"sweep: none: A sweep has no results of its own; compare runs of GET /api/runs/{id}/children",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if r := c.Runs[0]; *r.Client != verdict.Suspect || *r.Verdict != "fail" || len(r.Objectives) != 2 {
		t.Errorf("verdicts of the first = %v, %v, %v", *r.Client, *r.Verdict, r.Objectives)
	}
	for _, v := range c.Metrics[0].Statistics[0].Values {
		if v.Delta != nil {
			t.Errorf("%s is compared with a run without results", v.Run)
		}
	}
}

func TestDifferences(t *testing.T) {
	long := strings.Repeat("ä", maxText)
	c, err := New([]Input{
		input(t, "a", `{"same":[1,{"x":null}],"n":1,"list":["p"],"a/b~c":true,"gone":null,"text":"`+long+`1","empty":[],"big":12345678901234567890}`),
		input(t, "b", `{"same":[1,{"x":null}],"n":1.5,"list":["p","q"],"a/b~c":false,"text":"`+long+`2","empty":[0],"big":12345678901234567891}`),
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range c.Differences {
		text, err := json.Marshal(d.Values)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d.Pointer+" "+string(text))
	}
	cut := strings.Repeat("ä", maxText/2) + "…"
	want := []string{
		`/a~1b~0c [{"run":"a","value":true},{"run":"b","value":false}]`,
		`/big [{"run":"a","value":12345678901234567890},{"run":"b","value":12345678901234567891}]`,
		`/empty [{"run":"a","value":[]}]`,
		`/empty/0 [{"run":"b","value":0}]`,
		`/gone [{"run":"a","value":null}]`,
		`/list/1 [{"run":"b","value":"q"}]`,
		`/n [{"run":"a","value":1},{"run":"b","value":1.5}]`,
		`/text [{"run":"a","value":"` + cut + `"},{"run":"b","value":"` + cut + `"}]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if c.DifferencesTruncated {
		t.Error("differences are said to be cut")
	}
	c, err = New([]Input{input(t, "a", `[`+strings.Repeat("0,", maxDifferences)+`0]`), input(t, "b", `{}`)}, 0)
	if err != nil || len(c.Differences) != maxDifferences || !c.DifferencesTruncated {
		t.Errorf("of too many differences %d are there, cut = %v, %v", len(c.Differences), c.DifferencesTruncated, err)
	}
	if _, err := New([]Input{input(t, "a", `{`), input(t, "b", `{}`)}, 0); err == nil || !strings.Contains(err.Error(), "run a") {
		t.Errorf("New of a broken configuration = %v", err)
	}
}

func TestParseQuery(t *testing.T) {
	for text, want := range map[string]string{
		"ids=a,b": "", "ids=a,b&baseline=b": "", "ids=1,2,3,4,5,6,7,8,9,10": "",
		"":                            "ids has 0 runs, want 2 to 10, separated by commas",
		"ids=a":                       "ids has 1 runs, want 2 to 10, separated by commas",
		"ids=1,2,3,4,5,6,7,8,9,10,11": "ids has 11 runs, want 2 to 10, separated by commas",
		"ids=a,&baseline=c":           `ids has an empty element; baseline is "c", want one of ids`,
	} {
		values, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		q, err := ParseQuery(values)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("ParseQuery(%s) = %v, want %s", text, err, want)
		}
		if strings.Contains(text, "baseline=b") && q.Baseline != 1 {
			t.Errorf("ParseQuery(%s) = %+v", text, q)
		}
	}
}

func TestDirection(t *testing.T) {
	for tag, want := range map[string]Direction{
		"request_latency": Lower, "normalized_latency": Lower, "benchmark_duration": Lower, "request_error_rate": Lower,
		"error_request_count": Lower, "late_request_count": Lower, "request_throughput": Higher, "goodput": Higher,
		"output_sequence_length": Undefined, "effective_concurrency": Undefined, "http_req_connection_reused": Undefined, "error_isl": Undefined,
		"good_request_count": Higher, "request_count": Undefined, "wasted_output_tokens": Lower, "slo_attainment.request_latency": Higher,
		"adj_request_latency": Lower, "corrected_time_to_first_token": Lower, "audio_duration": Undefined,
	} {
		def, ok := catalogue.Lookup(tag)
		if !ok {
			t.Errorf("no metric %s", tag)
			continue
		}
		if got := direction(def); got != want {
			t.Errorf("direction of %s = %s, want %s", tag, got, want)
		}
	}
}

// finite must not let through what JSON cannot encode.
func TestFinite(t *testing.T) {
	if finite(math.Inf(1)) != nil || finite(math.NaN()) != nil || *finite(1) != 1 {
		t.Error("finite")
	}
}
