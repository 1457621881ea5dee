package compare

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// example is a gate with a rule of each kind: kept, broken, open, and distorted.
func example(t *testing.T) *GateAnswer {
	t.Helper()
	runs := func(ttft ...float64) []Input {
		out := measured("time_to_first_token", metric.P95, start, ttft...)
		for i := range out {
			more := measured("request_latency", metric.Avg, start, 5)
			out[i].Snapshot.Metrics = append(out[i].Snapshot.Metrics, more[0].Snapshot.Metrics...)
			out[i].Run.Client = &run.ClientVerdict{Reasons: []verdict.Reason{{Level: verdict.Invalid, Concerns: []string{"request_latency"}}}}
		}
		return out
	}
	g := Gate{Version: "1.0", OnInconclusive: CountsAsError, Baseline: &Reference{Name: "main", Revision: 2, Runs: runs(100, 101, 99)}}
	for _, text := range []string{"ttft:p95<400", "ttft:p95<+5%", "ttft:p95<110", "request_latency<6"} {
		g.Rules = append(g.Rules, mustRule(t, text))
	}
	candidate := runs(110, 111, 109)
	for i := range candidate {
		candidate[i].Run.CreatedAt = candidate[i].Run.CreatedAt.Add(time.Minute)
	}
	a, err := g.Judge(candidate)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestGateText(t *testing.T) {
	const want = `The candidate fails: time_to_first_token:p95<+5%

RULE                         BASELINE  CANDIDATE  UNIT   CHANGE  INTERVAL           RUNS  VERDICT
time_to_first_token:p95<400         –        110  ms          –  105 to 115            3  pass
time_to_first_token:p95<+5%       100        110  ms    +10.0 %  +6.3 % to +13.8 %     3  fail
time_to_first_token:p95<110         –        110  ms          –  106 to 115            3  inconclusive
request_latency<6                   –          –  ms          –  –                     –  invalid

Baseline: main@2, 3 runs
time_to_first_token:p95<110: 110 ms (interval 106 to 115), inconclusive: the interval contains the limit
request_latency<6: invalid: the load generator distorted it in a run of the candidate
What would decide it: the candidate is so near the limit that no sensible number of runs decides it
`
	a := example(t)
	if got := a.Text(0); got != want {
		t.Errorf("text:\n%s\nwant:\n%s", got, want)
	}
	for line := range strings.Lines(a.Text(80)) {
		if len([]rune(line)) > 81 {
			t.Errorf("a line of 80 columns: %q", line)
		}
	}
	if got := a.Markdown(); !strings.HasPrefix(got, "**The candidate fails: ") || strings.Count(got, "\n|") != 6 {
		t.Errorf("Markdown:\n%s", got)
	}
	text, err := json.Marshal(a)
	if err != nil || !bytes.Contains(text, []byte(`"schema":"aiperfd-answer/1","kind":"gate","final":true`)) {
		t.Errorf("JSON: %v %s", err, text)
	}
}

// The same runs give the same answer, byte for byte.
func TestGateIsDeterministic(t *testing.T) {
	one, err := json.Marshal(example(t))
	if err != nil {
		t.Fatal(err)
	}
	if two, _ := json.Marshal(example(t)); !bytes.Equal(one, two) {
		t.Errorf("%s\n%s", one, two)
	}
}

// junitSchema is the part of the schema of Jenkins (junit-10.xsd) that a report without
// properties uses: for each element its parents, its required and its optional attributes.
var junitSchema = map[string]struct {
	parents            []string
	required, optional []string
}{
	"testsuites": {[]string{""}, nil, []string{"name", "time", "tests", "failures", "disabled", "errors"}},
	"testsuite": {[]string{"testsuites"}, []string{"name"},
		[]string{"tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"}},
	"testcase": {[]string{"testsuite"}, []string{"name", "classname"}, []string{"assertions", "time", "status"}},
	"skipped":  {[]string{"testcase"}, nil, []string{"message"}},
	"error":    {[]string{"testcase"}, nil, []string{"type", "message"}},
	"failure":  {[]string{"testcase"}, nil, []string{"type", "message"}},
}

// checkJUnit checks the structure of a report and returns how often each element occurs.
func checkJUnit(t *testing.T, report []byte) map[string]int {
	t.Helper()
	count, path := map[string]int{}, []string{""}
	declared := map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(report)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			rule, ok := junitSchema[name]
			if !ok || !slices.Contains(rule.parents, path[len(path)-1]) {
				t.Errorf("element %s below %q", name, path[len(path)-1])
			}
			var names []string
			for _, a := range e.Attr {
				names = append(names, a.Name.Local)
				if n, err := strconv.Atoi(a.Value); err == nil && name == "testsuite" {
					declared[a.Name.Local] = n
				}
				if !slices.Contains(append(slices.Clone(rule.required), rule.optional...), a.Name.Local) {
					t.Errorf("element %s has the attribute %s", name, a.Name.Local)
				}
			}
			for _, need := range rule.required {
				if !slices.Contains(names, need) {
					t.Errorf("element %s lacks the attribute %s", name, need)
				}
			}
			count[name]++
			path = append(path, name)
		case xml.EndElement:
			path = path[:len(path)-1]
		}
	}
	for attribute, element := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"} {
		if declared[attribute] != count[element] {
			t.Errorf("testsuite says %d %s, and has %d", declared[attribute], attribute, count[element])
		}
	}
	return count
}

func TestGateJUnit(t *testing.T) {
	a := example(t)
	report, err := a.JUnit()
	if err != nil {
		t.Fatal(err)
	}
	got := checkJUnit(t, report)
	if got["testcase"] != 4 || got["failure"] != 1 || got["error"] != 1 || got["skipped"] != 1 {
		t.Errorf("elements %v\n%s", got, report)
	}
	const failure = `<failure message="time_to_first_token:p95&lt;+5%: changed by +10.0 % (interval +6.3 % to +13.8 %), fail" type="fail">`
	if !bytes.Contains(report, []byte(failure)) {
		t.Errorf("report lacks %s\n%s", failure, report)
	}
	a.Verdict = NotComparable
	if report, err = a.JUnit(); err != nil {
		t.Fatal(err)
	}
	if got := checkJUnit(t, report); got["error"] != 4 {
		t.Errorf("elements of a report that is not comparable: %v", got)
	}
}

func TestGateAnnotations(t *testing.T) {
	const want = `::notice title=aiperfd gate::time_to_first_token:p95<400: 110 ms (interval 105 to 115), pass
::error title=aiperfd gate::time_to_first_token:p95<+5%25: changed by +10.0 %25 (interval +6.3 %25 to +13.8 %25), fail
::warning title=aiperfd gate::time_to_first_token:p95<110: 110 ms (interval 106 to 115), inconclusive: the interval contains the limit
::error title=aiperfd gate::request_latency<6: invalid: the load generator distorted it in a run of the candidate
`
	if got := example(t).Annotations(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
