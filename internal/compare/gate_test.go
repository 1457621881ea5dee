package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// measured makes runs with one statistic of one metric each, a minute apart.
func measured(tag string, s metric.Stat, from time.Time, values ...float64) []Input {
	def, ok := catalogue.Lookup(tag)
	if !ok {
		panic(tag)
	}
	out := make([]Input, len(values))
	for i, v := range values {
		m := metric.Result{Def: def}
		m.Set(s, v)
		out[i] = Input{
			Run: &run.Run{ID: fmt.Sprint(from.Unix(), "-", i), State: bench.StateCompleted,
				CreatedAt: from.Add(time.Duration(2*i) * time.Minute), Summary: &run.Summary{Requests: 400}},
			Snapshot: &run.Snapshot{Final: true, Metrics: metric.Results{m}},
		}
	}
	return out
}

func mustRule(t *testing.T, text string) Rule {
	t.Helper()
	r, err := ParseRule(text, map[string]string{"ttft": "time_to_first_token"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseRule(t *testing.T) {
	for text, want := range map[string]string{
		"time_to_first_token:p95<400":    "time_to_first_token:p95<400",
		"ttft:p95 <= 0.4s":               "time_to_first_token:p95<400",
		"good_request_fraction>0.95":     "good_request_fraction>0.95",
		"output_token_throughput>-3%":    "output_token_throughput>-3%",
		"ttft:p95<+5%":                   "time_to_first_token:p95<+5%",
		"request_error_rate<1%":          "request_error_rate<1",
		"request_error_rate:avg < +0.5%": "request_error_rate<+0.5%",
	} {
		r, err := ParseRule(text, map[string]string{"ttft": "time_to_first_token"})
		if err != nil || r.String() != want {
			t.Errorf("ParseRule(%q) = %s, %v, want %s", text, r.String(), err, want)
			continue
		}
		if again, err := ParseRule(r.String(), nil); err != nil || again.String() != want {
			t.Errorf("ParseRule(%q) = %s, %v: a rule does not read its own text", want, again.String(), err)
		}
	}
	for text, want := range map[string]string{
		"":                               "is not of the form METRIC:STATISTIC<LIMIT",
		"time_to_first_tokn:p95<400":     `"time_to_first_tokn" is not a metric; did you mean`,
		"time_to_first_token:p96<400":    `"p96" is not a statistic`,
		"output_token_throughput:p95>40": "has one value, not a distribution",
		"output_token_throughput<+3%":    "output_token_throughput is worse if it is lower: write output_token_throughput>-3%",
		"time_to_first_token:p95>-3%":    "time_to_first_token is worse if it is higher: write time_to_first_token:p95<+3%",
		"output_sequence_length<+3%":     "neither better nor worse",
		"output_token_throughput>-100%":  "must be above 0 and below 100 %",
		"time_to_first_token:p95<4kg":    "is not a unit of time",
	} {
		if r, err := ParseRule(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRule(%q) = %v, %v, want an error with %q", text, r, err, want)
		}
	}
}

func TestCheckRules(t *testing.T) {
	for _, tt := range []struct {
		rules []Rule
		want  string
	}{
		{nil, "at least one rule"},
		{[]Rule{{Metric: "goodput"}}, "rule 1: goodput: give exactly one of max, min and max_regression"},
		{[]Rule{{Metric: "goodput", Min: new(1.0), Max: new(2.0)}}, "exactly one"},
		{[]Rule{{Metric: "goodput", Min: new(1.0), OnInconclusive: "shrug"}}, `on_inconclusive is "shrug", use error, pass or fail`},
	} {
		if err := CheckRules(tt.rules); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CheckRules(%v) = %v, want %q", tt.rules, err, tt.want)
		}
	}
	for _, looks := range [][]int{{}, {2, 5}, {3, 3}, {5, 3}, {3, 4, 5, 6, 7, 8}} {
		if CheckLooks(looks) == nil {
			t.Errorf("looks %v are accepted", looks)
		}
	}
}

// One rule, by the values of the runs.
func TestGateRules(t *testing.T) {
	const p95 = "time_to_first_token:p95"
	tests := []struct {
		name, rule string
		base, runs []float64
		want       results.Verdict
		text       string
	}{
		{"far below a limit", p95 + "<400", nil, []float64{300, 302, 298}, Passes, "300 [295.1, 305]"},
		{"far above a limit", p95 + "<400", nil, []float64{500, 502, 498}, Fails, "500 [495.1, 505]"},
		{"around a limit", p95 + "<400", nil, []float64{395, 405, 410}, Inconclusive, "403.3 [384.7, 422.8]: the interval contains the limit"},
		{"above a least value", "output_token_throughput>90", nil, []float64{100, 101, 99}, Passes, "100 [97.54, 102.5]"},
		{"equal and at the limit", "request_error_rate<0", nil, []float64{0, 0, 0}, Passes, "0 [0, 0]"},
		{"errors beyond the limit", "request_error_rate<1", nil, []float64{5, 5.5, 4.5}, Fails, "5 [3.758, 6.242]"},
		{"two runs", p95 + "<400", nil, []float64{300, 302}, Inconclusive, ": a decision needs 3 runs"},
		{"unchanged", p95 + "<+5%", []float64{100, 101, 99}, []float64{100, 101, 99}, Passes, "0 [-2.242, 2.293]"},
		{"worse", p95 + "<+5%", []float64{100, 101, 99}, []float64{110, 111, 109}, Fails, "10 [7.635, 12.42]"},
		{"worse by less than is allowed", p95 + "<+5%", []float64{100, 101, 99}, []float64{102, 103, 101}, Passes, "2 [-0.2645, 4.316]"},
		{"better", p95 + "<+5%", []float64{100, 101, 99}, []float64{50, 51, 49}, Passes, "-50.01 [-52.04, -47.88]"},
		{"lower throughput", "output_token_throughput>-3%", []float64{100, 101, 99}, []float64{90, 91, 89}, Fails, "-10 [-12.14, -7.808]"},
		{"noise", p95 + "<+5%", []float64{100, 120, 90}, []float64{110, 95, 125}, Inconclusive,
			"6.545 [-22.72, 46.9]: the interval contains both no change and the largest change that is allowed"},
		{"errors, by points", "request_error_rate<+1%", []float64{1, 1.1, 0.9}, []float64{4, 4.1, 3.9}, Fails, "3 [2.773, 3.227]"},
		{"a baseline of two runs", p95 + "<+5%", []float64{100, 101}, []float64{150, 151, 149}, Inconclusive,
			": the baseline has 2 of the 3 runs that a decision on changes needs"},
		{"no baseline", p95 + "<+5%", nil, []float64{150, 151, 149}, Inconclusive, ": there is no baseline"},
		{"one run against five", p95 + "<+5%", []float64{100, 101, 99, 100, 100}, []float64{120}, Fails, "20 [17.45, 22.61]"},
	}
	for _, tt := range tests {
		r := mustRule(t, tt.rule)
		s, _ := metric.ParseStat(r.Stat)
		g := Gate{Rules: []Rule{r}}
		if tt.base != nil {
			g.Baseline = &Reference{Runs: measured(r.Metric, s, start, tt.base...)}
		}
		a, err := g.Judge(measured(r.Metric, s, start.Add(time.Minute), tt.runs...))
		if err != nil {
			t.Fatal(err)
		}
		got := &a.Rules[0]
		text := got.Reason
		if text != "" {
			text = ": " + text
		}
		if got.Estimate != nil {
			text = fmt.Sprintf("%.4g [%.4g, %.4g]", *got.Estimate, *got.Low, *got.High) + text
		}
		if got.Verdict != tt.want || a.Verdict != tt.want || text != tt.text || !a.Final {
			t.Errorf("%s: rule %s, gate %s, final %v: %s\nwant %s: %s", tt.name, got.Verdict, a.Verdict, a.Final, text, tt.want, tt.text)
		}
	}
}

// What the gate says of several rules, and what undecided ones count as.
func TestGateVerdict(t *testing.T) {
	const ttft = "time_to_first_token"
	tests := []struct {
		name  string
		rules []string
		on    OnInconclusive
		level verdict.Level
		want  results.Verdict
	}{
		{"all pass", []string{ttft + "<400", ttft + "<500"}, "", verdict.OK, Passes},
		{"one fails", []string{ttft + "<400", ttft + "<90"}, "", verdict.OK, Fails},
		{"one is open", []string{ttft + "<400", ttft + "<100"}, "", verdict.OK, Inconclusive},
		{"an open one counts as pass", []string{ttft + "<400", ttft + "<100"}, CountsAsPass, verdict.OK, Passes},
		{"an open one counts as fail", []string{ttft + "<400", ttft + "<100"}, CountsAsFail, verdict.OK, Fails},
		{"a failure outweighs an open one", []string{ttft + "<90", ttft + "<100"}, "", verdict.OK, Fails},
		{"distorted", []string{ttft + "<400"}, CountsAsPass, verdict.Invalid, Invalid},
	}
	for _, tt := range tests {
		g := Gate{OnInconclusive: tt.on}
		for _, text := range tt.rules {
			g.Rules = append(g.Rules, mustRule(t, text))
		}
		runs := measured(ttft, metric.Avg, start, 100, 101, 99)
		runs[1].Run.Client = &run.ClientVerdict{Reasons: []verdict.Reason{{Level: tt.level, Concerns: []string{ttft}}}}
		a, err := g.Judge(runs)
		if err != nil {
			t.Fatal(err)
		}
		if a.Verdict != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, a.Verdict, tt.want)
		}
	}
	// The rule's own choice comes first.
	mine := mustRule(t, ttft+"<100")
	mine.OnInconclusive = CountsAsPass
	a, err := (&Gate{Rules: []Rule{mine}, OnInconclusive: CountsAsFail}).Judge(measured(ttft, metric.Avg, start, 100, 101, 99))
	if err != nil || a.Verdict != Passes || a.Rules[0].Verdict != Inconclusive {
		t.Errorf("gate %s, rule %s, %v", a.Verdict, a.Rules[0].Verdict, err)
	}
}

// A gate looks only when it is due, keeps the first decision of a rule, and judges what there is when it stops.
func TestGateLooks(t *testing.T) {
	judge := func(stop string, runs ...float64) *GateAnswer {
		t.Helper()
		g := Gate{Rules: []Rule{mustRule(t, "time_to_first_token<400")}, Looks: []int{3, 5}, Stop: stopped(stop)}
		a, err := g.Judge(measured("time_to_first_token", metric.Avg, start, runs...))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	far := []float64{300, 301, 299}
	near := []float64{380, 420, 390, 410, 395, 405}
	for _, tt := range []struct {
		name           string
		a              *GateAnswer
		want           results.Verdict
		look           int
		final, decided bool
	}{
		{"before the first look", judge("", 300, 301), Inconclusive, 0, false, false},
		{"at the first look", judge("", far...), Passes, 3, true, true},
		{"the first decision stays", judge("", append(slices.Clone(far), 900, 900)...), Passes, 3, true, true},
		{"open at the first look", judge("", near[:3]...), Inconclusive, 3, false, false},
		{"between the looks", judge("", near[:4]...), Inconclusive, 3, false, false},
		{"stopped between the looks", judge("the budget is used up", near[:4]...), Inconclusive, 4, true, false},
		{"open at the last look", judge("", near...), Inconclusive, 5, true, false},
	} {
		if tt.a.Verdict != tt.want || tt.a.Rules[0].Look != tt.look || tt.a.Final != tt.final || tt.a.Decided() != tt.decided {
			t.Errorf("%s: %s at %d, final %v, decided %v, want %s at %d, %v, %v", tt.name, tt.a.Verdict, tt.a.Rules[0].Look,
				tt.a.Final, tt.a.Decided(), tt.want, tt.look, tt.final, tt.decided)
		}
	}
	// Nothing is decided before the first look, however many runs there are.
	late := Gate{Rules: []Rule{mustRule(t, "time_to_first_token<400")}, Looks: []int{4}}
	a, err := late.Judge(measured("time_to_first_token", metric.Avg, start, far...))
	if err != nil || a.Decided() {
		t.Errorf("decided before the first look: %v, %v", a.Verdict, err)
	}
	// Two looks are stricter than one.
	if got := judge("", near[:3]...).Rules[0].Level; math.Abs(got-0.9706) > 1e-9 {
		t.Errorf("level %v of two looks, want 0.9706", got)
	}
}

// A baseline of another load is not comparable, and a loss in many small steps raises a doubt.
func TestGateDoubts(t *testing.T) {
	const tag = "time_to_first_token"
	g := Gate{Rules: []Rule{mustRule(t, tag+"<+3%")}, Baseline: &Reference{
		Name: "main", Revision: 7, Runs: measured(tag, metric.Avg, start, 108, 108.1, 107.9), First: measured(tag, metric.Avg, start, 100, 100.1, 99.9),
	}}
	a, err := g.Judge(measured(tag, metric.Avg, start.Add(time.Hour), 109, 109.1, 108.9))
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	for _, d := range a.Doubts {
		codes[d.Code] = d.Message
	}
	const creep = "time_to_first_token is worse by 9.0 % than in the first revision of the baseline, more than twice what the rule allows for one change"
	if a.Verdict != Passes || codes["creep"] != creep || codes["not-interleaved"] == "" {
		t.Errorf("%s, doubts %v", a.Verdict, codes)
	}
	// A candidate that sends the prompts of the baseline to the same server finds them in its cache.
	if codes["warm-second"] != "" {
		t.Errorf("runs without a server in common: %s", codes["warm-second"])
	}
	again := measured(tag, metric.Avg, start.Add(time.Hour), 109, 109.1, 108.9)
	again[0].Run.Targets, g.Baseline.Runs[2].Run.Targets = []string{"http://x"}, []string{"http://x"}
	warm := func(seed int64) bool {
		again[0].Run.Seed, g.Baseline.Runs[2].Run.Seed = seed, 5
		answer, err := g.Judge(again)
		return err == nil && slices.ContainsFunc(answer.Doubts, func(d results.AnswerDoubt) bool { return d.Code == "warm-second" })
	}
	if !warm(5) || warm(6) {
		t.Errorf("doubt warm-second with the prompts of the baseline: %v, with others: %v", warm(5), warm(6))
	}
	other := measured(tag, metric.Avg, start.Add(time.Hour), 109, 109.1, 108.9)
	for i := range other {
		other[i].Run.Config = []byte(`{"phases":[{"concurrency":8}]}`)
	}
	if a, err = g.Judge(other); err != nil || a.Verdict != NotComparable || len(a.Load) != 1 || !a.Decided() {
		t.Errorf("another load: %s, %v, %v", a.Verdict, a.Load, err)
	}
	g.Allow = []string{"/phases"}
	if a, err = g.Judge(other); err != nil || a.Verdict != Passes {
		t.Errorf("an allowed difference: %s, %v", a.Verdict, err)
	}
}

// How gates of one rule (3 % against a baseline, looks at 3, 5 and 8 runs) end, by how far runs deviate from
// each other. The bounds were simulated beforehand.
func TestSimulateGate(t *testing.T) {
	draws := 300
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		draws = 20_000
	}
	tests := []struct {
		name                string
		deviation, loss     float64
		base                int
		leastPass, mostFail float64 // shares in percent
		leastFail           float64
	}{
		{"unchanged, 1 %", 0.01, 0, 5, 95, 0.2, 0},
		{"unchanged, 2 %", 0.02, 0, 5, 45, 1.5, 0},
		{"unchanged, 3 %", 0.03, 0, 5, 0, 3.5, 0},
		{"unchanged, 2 %, ten runs of the baseline", 0.02, 0, 10, 70, 1.5, 0},
		{"5 % worse, 1 %", 0.01, 0.05, 5, 0, 100, 99},
		{"5 % worse, 2 %", 0.02, 0.05, 5, 0, 100, 85},
	}
	random := rand.New(rand.NewPCG(5, 6))
	side := func(n int, mean, deviation float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = mean * math.Exp(deviation*random.NormFloat64())
		}
		return out
	}
	for _, tt := range tests {
		ended := map[results.Verdict]float64{}
		used := 0.0
		for range draws {
			g := Gate{Rules: []Rule{{Metric: "output_token_throughput", MaxRegression: new(0.03)}}, Looks: DefaultLooks(),
				Baseline: &Reference{Runs: measured("output_token_throughput", metric.Avg, start, side(tt.base, 1000, tt.deviation)...)}}
			a, err := g.Judge(measured("output_token_throughput", metric.Avg, start, side(8, 1000*(1-tt.loss), tt.deviation)...))
			if err != nil {
				t.Fatal(err)
			}
			ended[a.Verdict] += 100 / float64(draws)
			used += float64(a.Rules[0].Look) / float64(draws)
		}
		t.Logf("%s: pass %.1f %%, fail %.1f %%, inconclusive %.1f %%, %.1f runs", tt.name, ended[Passes], ended[Fails],
			ended[Inconclusive], used)
		if ended[Passes] < tt.leastPass || ended[Fails] > tt.mostFail || ended[Fails] < tt.leastFail {
			t.Errorf("%s: %v, want pass from %v %%, fail from %v to %v %%", tt.name, ended, tt.leastPass, tt.leastFail, tt.mostFail)
		}
	}
}

// Several rules on unchanged runs: the correction keeps the chance that any of them fails.
func TestSimulateGateRules(t *testing.T) {
	draws := 200
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		draws = 20_000
	}
	random := rand.New(rand.NewPCG(7, 8))
	tags := []string{"time_to_first_token", "inter_token_latency", "request_latency", "output_token_throughput", "goodput"}
	side := func(n int) []Input {
		out := measured(tags[0], metric.Avg, start, make([]float64, n)...)
		for i := range out {
			out[i].Snapshot.Metrics = nil
			for _, tag := range tags {
				def, _ := catalogue.Lookup(tag)
				m := metric.Result{Def: def}
				m.Set(metric.Avg, 100*math.Exp(0.03*random.NormFloat64()))
				out[i].Snapshot.Metrics = append(out[i].Snapshot.Metrics, m)
			}
		}
		return out
	}
	var rules []Rule
	for _, tag := range tags {
		rules = append(rules, Rule{Metric: tag, MaxRegression: new(0.01)})
	}
	failed := 0.0
	for range draws {
		a, err := (&Gate{Rules: rules, Looks: DefaultLooks(), Baseline: &Reference{Runs: side(5)}}).Judge(side(8))
		if err != nil {
			t.Fatal(err)
		}
		if a.Verdict == Fails {
			failed += 100 / float64(draws)
		}
	}
	t.Logf("any of %d rules fails on unchanged runs in %.1f %%", len(tags), failed)
	if failed > 4 {
		t.Errorf("any of %d rules fails on unchanged runs in %.1f %%, want at most 2.5 and noise", len(tags), failed)
	}
}

// TestGateInstrument: what the load generator itself may have added fails no candidate.
func TestGateInstrument(t *testing.T) {
	const tag = "time_to_first_token"
	from := time.Unix(1e9, 0)
	for _, tt := range []struct {
		rule   string
		p99    float64 // error bound of the client
		want   results.Verdict
		reason string
	}{
		{tag + ":p99<+3%", 1, Fails, ""},
		{tag + ":p99<+3%", 50, Inconclusive, "the load generator itself may have added 50 ms, which is all of the difference"},
		{tag + ":p99<101", 1, Fails, ""},
		{tag + ":p99<101", 50, Inconclusive, "the load generator itself may have added 50 ms, which is all of the difference"},
	} {
		base := measured(tag, metric.P99, from, 100, 100.1, 99.9, 100)
		candidate := measured(tag, metric.P99, from.Add(time.Hour), 110, 110.1, 109.9, 110)
		for i := range candidate {
			candidate[i].Run.Client = &run.ClientVerdict{Bias: []verdict.Bias{{Metric: tag, P99: tt.p99}}}
		}
		g := Gate{Rules: []Rule{mustRule(t, tt.rule)}, Baseline: &Reference{Runs: base}}
		a, err := g.Judge(candidate)
		if err != nil {
			t.Fatal(err)
		}
		if r := &a.Rules[0]; r.Verdict != tt.want || r.Reason != tt.reason || a.Decide.Needs != "" {
			t.Errorf("%s, %v ms: %s %q, %q", tt.rule, tt.p99, r.Verdict, r.Reason, a.Decide.Needs)
		}
	}
}

// TestGateCollapse: 0 in every run is worse than any change, and no change that cannot be judged.
func TestGateCollapse(t *testing.T) {
	from := time.Unix(1e9, 0)
	for _, tt := range []struct {
		base, candidate []float64
		want            results.Verdict
	}{
		{[]float64{10, 11, 10}, []float64{0, 0, 0}, Fails},
		{[]float64{0, 0, 0}, []float64{10, 11, 10}, Passes},
		{[]float64{0, 0, 0}, []float64{10, 0, 10}, Inconclusive},
		{[]float64{10, 11, 10}, []float64{0, 0}, Inconclusive},
		{[]float64{0, 0, 0}, []float64{0, 0, 0}, Inconclusive},
	} {
		g := Gate{
			Rules:    []Rule{mustRule(t, "goodput>-3%")},
			Baseline: &Reference{Runs: measured("goodput", metric.Avg, from, tt.base...)},
		}
		candidate := measured("goodput", metric.Avg, from.Add(time.Hour), tt.candidate...)
		a, err := g.Judge(candidate)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Rules[0].Verdict; got != tt.want {
			t.Errorf("%v to %v: %s, %q", tt.base, tt.candidate, got, a.Rules[0].Reason)
		}
	}
}

// TestGateWithoutRuns: nothing passes because nothing was measured.
func TestGateWithoutRuns(t *testing.T) {
	g := Gate{Rules: []Rule{mustRule(t, "ttft<400")}, Looks: []int{3}, OnInconclusive: CountsAsPass, Stop: stopped("cancelled")}
	a, err := g.Judge(nil)
	if err != nil || a.Verdict != Inconclusive {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestGateOpen: why a rule is open agrees with its interval, and what would decide it with the runs that there are.
func TestGateOpen(t *testing.T) {
	from := time.Unix(1e9, 0)
	const tag = "time_to_first_token"
	base := &Reference{Runs: measured(tag, metric.Avg, from, 100, 100.4, 99.6, 100.2, 99.8)}
	for _, tt := range []struct {
		rule           string
		base           *Reference
		values         []float64
		reason, decide string
	}{
		{"ttft<+3%", base, []float64{103, 102.4, 103.2, 102.6}, "the interval contains the largest change that is allowed", "and as many of the baseline"},
		{"ttft<+3%", base, []float64{96, 108, 99, 104}, "the interval contains both no change and the largest change that is allowed", "and as many of the baseline"},
		{"ttft<400", nil, []float64{404, 398, 402}, "the interval contains the limit", "runs of the candidate decide"},
	} {
		g := Gate{Rules: []Rule{mustRule(t, tt.rule)}, Baseline: tt.base}
		a, err := g.Judge(measured(tag, metric.Avg, from.Add(time.Hour), tt.values...))
		if err != nil {
			t.Fatal(err)
		}
		r := &a.Rules[0]
		if r.Verdict != Inconclusive || r.Reason != tt.reason || !strings.Contains(a.Decide.Needs, tt.decide) || !a.Final {
			t.Errorf("%s %v: %s %q, %q", tt.rule, tt.values, r.Verdict, r.Reason, a.Decide.Needs)
		}
	}
	// A rule that no further run decides ends the measurement, with what would help.
	g := Gate{
		Rules: []Rule{mustRule(t, "ttft<+3%")}, Looks: []int{3, 5},
		Baseline: &Reference{Runs: measured(tag, metric.Avg, from, 100, 101)},
	}
	a, err := g.Judge(measured(tag, metric.Avg, from.Add(time.Hour), 100, 101, 102))
	if err != nil || !a.Decided() || !a.Final || a.Decide.Needs != "a baseline of 3 runs or more decides rules on changes" {
		t.Errorf("%t %t %q, %v", a.Decided(), a.Final, a.Decide.Needs, err)
	}
}

// stopped is why a measurement ended before its plan; empty = it did not.
func stopped(why string) results.AnswerStop { return results.AnswerStop{Reason: why, Text: why} }
