package engine_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"aiperfd/internal/api/report"
	"aiperfd/internal/app"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/stat"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/random"
	"aiperfd/internal/run"
)

// scene is a random run.
type scene struct {
	rnd         *rand.Rand
	streaming   bool
	open        bool
	concurrency int
	requests    int
	entries     int
	fault       string
	goodput     map[string]float64 // limits in ms
	slos        []objective
	server      mock.Options
}

// objective is one of the run.
type objective struct {
	tag, stat, op string
	limit         float64 // in the unit of the metric
	unit          string
}

func (o objective) String() string {
	name := o.tag
	if o.stat != "" {
		name = o.stat + "(" + o.tag + ")"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %v%s", name, o.op, o.limit, o.unit))
}

func (o objective) holds(v float64) bool {
	if o.op == "<" {
		return v < o.limit
	}
	return v > o.limit
}

// newScene draws a run. Its latencies are constant, skewed or of two kinds, some of its
// requests fail, and its objectives are near and far from what it will measure.
func newScene(t *testing.T, seed uint64) *scene {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	s := &scene{
		rnd: r, streaming: r.IntN(4) > 0, open: r.IntN(3) == 0, concurrency: 1 + r.IntN(12),
		requests: 1 + int(math.Exp(r.Float64()*math.Log(250))), entries: 1 + r.IntN(150), goodput: map[string]float64{},
	}
	delays := []string{"const:20ms", "lognormal:40ms:0.6", "exp:30ms", "bimodal:0.05:const:20ms:const:400ms"}
	ttft, err := random.ParseDelay(delays[r.IntN(len(delays))])
	if err != nil {
		t.Fatal(err)
	}
	s.server = mock.Options{TTFT: ttft, ITL: mock.ConstDelay(5e6), Seed: seed}
	if r.IntN(3) == 0 {
		s.fault = fmt.Sprintf("status:503,rate=%.2f", r.Float64()/2)
		rule, err := mock.ParseFault(s.fault)
		if err != nil {
			t.Fatal(err)
		}
		s.server.Faults = append(s.server.Faults, rule)
	}
	latency := func() string {
		if s.streaming && r.IntN(2) == 0 {
			return "time_to_first_token"
		}
		return "request_latency"
	}
	limit := func() float64 { return math.Round(5*math.Exp(7*r.Float64())) + 0.5 } // 5 ms to 5 s
	for range r.IntN(3) {
		s.goodput[latency()] = limit()
	}
	for range r.IntN(4) {
		stats := []string{"avg", "p25", "p50", "p90", "p95", "p99", "max"}
		s.slos = append(s.slos, objective{latency(), stats[r.IntN(len(stats))], []string{"<", ">"}[r.IntN(2)], limit(), "ms"})
	}
	if r.IntN(4) == 0 {
		s.slos = append(s.slos, objective{"request_throughput", "", ">", limit(), ""})
	}
	return s
}

func (s *scene) document() string {
	load := fmt.Sprintf("type: concurrency, concurrency: %d", s.concurrency)
	if s.open {
		load = fmt.Sprintf("type: poisson, rate: %d, concurrency: %d", 5+s.rnd.IntN(300), s.concurrency)
	}
	objectives := []string{}
	for _, o := range s.slos {
		objectives = append(objectives, o.String())
	}
	quoted, _ := json.Marshal(objectives) // strings
	limits, _ := json.Marshal(s.goodput)
	return fmt.Sprintf(`
randomSeed: %d
benchmark:
  model: m
  endpoint: {url: "http://mem", type: chat, streaming: %t, useServerTokenCount: true}
  dataset: {prompts: {isl: 32, osl: %d}, entries: %d}
  slos: %s
  runSlos: %s
  phases: [{name: profiling, kind: profiling, %s, requests: %d}]
`, s.rnd.IntN(1000), s.streaming, 1+s.rnd.IntN(12), s.entries, limits, quoted, load, s.requests)
}

// observed is what the records of a run say, in the order in which its requests completed.
type observed struct {
	*scene
	lines  []line
	ok     []line
	window float64 // seconds
	values map[string][]float64
	report *export.Report
}

func (o *observed) failed() int { return len(o.lines) - len(o.ok) }

// TestSentences draws runs and computes what their reports print again, from their records:
// the brief report of a terminal, the full one of the file and the Markdown. Every line must
// be one that it knows, so that a new sentence needs a check here.
func TestSentences(t *testing.T) {
	runs := 200
	if testing.Short() || raceEnabled {
		runs = 20
	}
	for seed := range runs {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, uint64(seed))
			document := s.document()
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, s.server, nil)
				r, err := b.engine.Wait(t.Context(), b.submit(document))
				if err != nil {
					t.Fatal(err)
				}
				o := b.observe(s, r.ID)
				o.checkBrief(t)
				o.checkWidths(t)
				o.checkMarkdown(t, b.markdown(r))
				b.stop()
			})
			if t.Failed() {
				t.Logf("fault %q, document:%s", s.fault, document)
			}
		})
	}
}

// observe reads the records of a run.
func (b *bed) observe(s *scene, id string) *observed {
	b.t.Helper()
	o := &observed{scene: s, values: map[string][]float64{}, lines: b.records(id)}
	slices.SortStableFunc(o.lines, func(x, y line) int { return int(x.Metadata.EndNs - y.Metadata.EndNs) })
	for i := range o.lines {
		l := &o.lines[i]
		if l.Error != nil {
			continue
		}
		o.ok = append(o.ok, *l)
		for tag := range l.Metrics {
			if v, err := strconv.ParseFloat(l.metric(tag), 64); err == nil {
				o.values[tag] = append(o.values[tag], v)
			}
		}
	}
	f, err := os.Open(filepath.Join(b.store.Dir(id), export.NamesFor("").Result))
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	if o.report, err = export.ReadResult(f); err != nil {
		b.t.Fatal(err)
	}
	o.window = o.report.Duration.Seconds()
	return o
}

// markdown returns the report of a run for a pull request.
func (b *bed) markdown(r *run.Run) string {
	b.t.Helper()
	data, err := json.Marshal(map[string]any{"schema": "aiperfd-run/1", "run": r, "config": r.Config})
	if err != nil {
		b.t.Fatal(err)
	}
	dir := b.store.Dir(r.ID)
	if err := os.WriteFile(filepath.Join(dir, ".run.json"), data, 0o600); err != nil {
		b.t.Fatal(err)
	}
	text, err := app.Report(b.t.Context(), app.ReportOptions{Runs: []string{dir}, Format: report.Markdown, Version: "test"})
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// brief returns the brief report.
func (o *observed) brief(t *testing.T, width int) string {
	t.Helper()
	var out bytes.Buffer
	if err := export.Console(&out, o.report, export.ConsoleOptions{Detail: export.Brief, Width: width, ReportFile: "profile_export_console.txt"}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// checkWidths: however narrow the terminal is, nothing but the load is cut.
func (o *observed) checkWidths(t *testing.T) {
	t.Helper()
	words := func(width int) string {
		text := strings.ReplaceAll(o.brief(t, width), "  (* too few)", "  (* too few independent requests)")
		_, text, _ = strings.Cut(text, "\nRequests")
		return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "  (* too few independent requests)", "")
	}
	if wide, narrow := words(400), words(60+o.rnd.IntN(80)); wide != narrow && len(wide) < len(narrow) {
		t.Errorf("on a narrow terminal:\n%s\non a wide one:\n%s", narrow, wide)
	}
}

// checkBrief compares the brief report with the records, line by line.
func (o *observed) checkBrief(t *testing.T) {
	t.Helper()
	text := o.brief(t, 400)
	var got []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, "\n")
		switch label := strings.TrimSpace(line[:min(12, len(line))]); label {
		case "Load", "Client": // not numbers of the run
		case "Cache":
			o.checkCache(t, line[12:])
		case "Warning", "Note":
			o.checkWarning(t, line[12:])
		default:
			got = append(got, line)
		}
	}
	want := o.lineOf("Requests", o.requestsText())
	want = append(want, o.errorsLine()...)
	if len(o.ok) == 0 {
		want = append(want, o.lineOf("Result", "no latency or throughput to report: no request succeeded")...)
	} else {
		want = append(want, o.throughputLine()...)
		want = append(want, o.steadyLine()...)
		want = append(want, o.latencyLines()...)
		want = append(want, o.goodputLine()...)
		want = append(want, o.objectiveLines()...)
	}
	// How far latencies from due times are alike depends on the order of requests that ended at
	// the same time, which the records do not have.
	due := regexp.MustCompile(`alike: for (TTFT|Latency) from due time p\d\d, (\d+) are worth \d+ independent ones?`)
	if a, b := due.ReplaceAllString(strings.Join(want, "\n"), "alike: $2"), due.ReplaceAllString(strings.Join(got, "\n"), "alike: $2"); a != b {
		t.Errorf("the report says\n%s\nbut by the records it is\n%s", b, a)
	}
}

// checkCache compares the line about the prefix cache: the shares, and the state with the
// share that it follows from. The input of failed requests is in no record.
func (o *observed) checkCache(t *testing.T, text string) {
	t.Helper()
	m := regexp.MustCompile(`^expected (mixed|warm) \(([\d.]+) % of prompts repeated(?:, ([\d.]+) % of the input)?, server reports no cached tokens(?:, ([\d.]+) % of first tokens came much sooner than the others, as those of cached prompts do)?\)$`).FindStringSubmatch(text)
	if m == nil {
		t.Errorf("a line about the cache without a check: %s", text)
		return
	}
	if m[4] != "" {
		o.checkSooner(t, numberOf(m[4])/100)
	}
	input := numberOf(cmp.Or(m[3], m[2]))
	state := map[bool]string{true: "warm", false: "mixed"}[input >= 75]
	if m[2] != percentOf(o.repeated()) || input < 4.95 || m[1] != state || o.failed() == 0 && math.Abs(input-100*o.repeatedInput()) > 0.06 {
		t.Errorf("Cache: %s, but %v %% of prompts and %v of the input were repeated", text, 100*o.repeated(), o.repeatedInput())
	}
}

// checkSooner checks that a share of the first tokens came much sooner than the others.
func (o *observed) checkSooner(t *testing.T, share float64) {
	t.Helper()
	waits := slices.Sorted(slices.Values(o.values["time_to_first_token"]))
	early := int(math.Round(share * float64(len(waits))))
	mean := func(of []float64) (m float64) {
		for _, v := range of {
			m += v / float64(len(of))
		}
		return m
	}
	if early == 0 || early == len(waits) || 1.4*mean(waits[:early]) > mean(waits[early:]) {
		t.Errorf("%v of the first tokens did not come much sooner than the others: %v", share, waits)
	}
}

// checkWarning checks the numbers of a warning.
func (o *observed) checkWarning(t *testing.T, text string) {
	t.Helper()
	if cut := regexp.MustCompile(` \(\d+ more in profile_export_console\.txt\)$`).FindString(text); cut != "" {
		text = strings.TrimSuffix(text, cut)
	}
	for _, w := range []struct {
		form  string
		check func(numbers []float64) bool
	}{
		{`^phase profiling: (\d+) of (\d+) arrivals? waited for a slot, up to (\d+) at the same time; those that were sent waited ([\d.,]+) (ms|s) on average, at most ([\d.,]+) (ms|s), which only the latencies from the due time include$`, func(v []float64) bool {
			return int(v[1]) == len(o.lines) && int(v[0]) <= len(o.lines) && v[3]*v[4] <= v[5]*v[6]
		}},
		{`^no local tokenizer for "m": prompt lengths use the built-in o200k_base and may be 10–20 % off; pass --tokenizer or --allow-download$`, nil},
		{`^([\d.]+) % of prompts had been sent before in the run, and the server had cached .*$`, func(v []float64) bool { return math.Abs(v[0]-100*o.repeated()) < 0.06 }},
		{`^asked ([\d.,]+)/s, the random arrivals came at ([\d.,]+)/s: the rate of a short run differs from the mean$`, func(v []float64) bool {
			return math.Abs(v[1]-o.offered()) <= 0.01*v[1]+0.5
		}},
		{`^asked ([\d.,]+)/s, served ([\d.,]+)/s, the queue grew to ([\d,]+): the server cannot serve this rate within the concurrency limit; corrected percentiles are lower bounds.*$`, func(v []float64) bool {
			return math.Abs(v[1]-float64(len(o.ok))/o.window) <= 0.01*v[1]+0.5 && v[1] < v[0] && int(v[2]) <= len(o.lines)
		}},
	} {
		m := regexp.MustCompile(w.form).FindStringSubmatch(text)
		if m == nil {
			continue
		}
		var numbers []float64
		for _, s := range m[1:] {
			v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
			if err != nil {
				v = map[string]float64{"ms": 1, "s": 1000}[s]
			}
			numbers = append(numbers, v)
		}
		if w.check != nil && !w.check(numbers) {
			t.Errorf("the records contradict: %s", text)
		}
		return
	}
	t.Errorf("a warning without a check: %s", text)
}

// checkMarkdown compares the tables of the Markdown report with the records.
func (o *observed) checkMarkdown(t *testing.T, text string) {
	t.Helper()
	plain := strings.NewReplacer("&lt;", "<", "&gt;", ">", `\_`, "_", `\*`, "").Replace(text)
	if want := fmt.Sprintf("%s · %s · ", counted(len(o.ok), "request"), counted(o.failed(), "error")); !strings.Contains(plain, want) {
		t.Errorf("Markdown lacks %q:\n%s", want, text)
	}
	if len(o.ok) == 0 {
		return
	}
	headers := map[string]string{"Time to First Token": "time_to_first_token", "Inter Token Latency": "inter_token_latency", "Request Latency": "request_latency"}
	rows := 0
	for line := range strings.Lines(plain) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if tag := headers[cells[0]]; tag != "" {
			rows++
			o.checkMarkdownRow(t, tag, cells[2:])
		}
		if cells[0] == "Request Throughput" {
			if got := numberOf(cells[2]); !near(got, float64(len(o.ok))/o.window) {
				t.Errorf("Markdown: %s", line)
			}
		}
	}
	if rows == 0 {
		t.Errorf("Markdown without latencies:\n%s", text)
	}
	for _, s := range o.slos {
		value, met, doubt := o.outcome(s)
		row := regexp.MustCompile(`(?m)^\| (met|missed) \| ` + regexp.QuoteMeta(s.String()) + ` \| (\S+) \S+(?: \(uncertain: (.*)\))? \|$`).FindStringSubmatch(plain)
		if row == nil || row[1] == "met" != met || row[3] != doubt || !near(numberOf(row[2]), value) {
			t.Errorf("Markdown: objective %s = %q, want %v, met %v, %q\n%s", s, row, value, met, doubt, plain)
		}
	}
}

// checkMarkdownRow checks avg, p50, p90 and p99, and that intervals contain them.
func (o *observed) checkMarkdownRow(t *testing.T, tag string, cells []string) {
	t.Helper()
	values := o.values[tag]
	sorted := slices.Sorted(slices.Values(values))
	want := []float64{sum(values) / float64(len(values)), stat.Quantile(sorted, 0.5), stat.Quantile(sorted, 0.9), stat.Quantile(sorted, 0.99)}
	for i, cell := range cells {
		value, interval, found := strings.Cut(cell, " (")
		if !near(numberOf(value), want[i]) {
			t.Errorf("Markdown: %s[%d] = %s, want %v", tag, i, cell, want[i])
		}
		if low, high, _ := strings.Cut(strings.TrimSuffix(interval, ")"), "–"); found && (numberOf(low) > numberOf(value) || numberOf(high) < numberOf(value)) {
			t.Errorf("Markdown: %s[%d] = %s: the interval does not contain the value", tag, i, cell)
		}
	}
}

// numberOf reads a number with separators of thousands.
func numberOf(s string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// near reports whether a number is printed with at least two digits of another one.
func near(printed, v float64) bool { return math.Abs(printed-v) <= 0.006*math.Abs(v)+1e-9 }

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
