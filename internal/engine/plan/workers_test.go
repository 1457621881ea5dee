package plan

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/load/spec"
)

// compiledText returns the plan of a document.
func compiledText(t *testing.T, text string) *Plan {
	t.Helper()
	doc, _, err := config.Load([]byte(text), config.LoadOptions{Choices: Choices(), Format: config.YAML})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNeedsWorkers(t *testing.T) {
	const head = `
benchmark:
  model: m
  endpoint: {url: "http://server/", streaming: %STREAMING}
  dataset: {type: synthetic, prompts: {isl: 10, osl: %OSL}}
`
	for name, tt := range map[string]struct {
		osl, phase string
		streaming  bool
		cores      int
		want       string // that the warning begins with
	}{
		"little":       {"100", "profiling: {type: poisson, rate: 100, duration: 60}", true, 2, ""},
		"many tokens":  {"4000", "profiling: {type: poisson, rate: 100, duration: 60}", true, 2, "phase profiling: 100 requests per second are asked for, with streams of up to 4,000 tokens on average."},
		"not streamed": {"4000", "profiling: {type: poisson, rate: 100, duration: 60}", false, 2, ""},
		"many requests": {"100", "profiling: {type: constant, rate: 30000, duration: 60}", false, 2,
			"phase profiling: 30,000 requests per second are asked for. In the measurements"},
		"more cores":            {"100", "profiling: {type: constant, rate: 30000, duration: 60}", false, 3, ""},
		"a burst":               {"100", "profiling: {type: constant, rate: 30000, requests: 1000}", false, 2, ""},
		"a closed loop":         {"4000", "profiling: {type: concurrency, concurrency: 5000, requests: 100000}", true, 1, ""},
		"divided already":       {"100", "cluster: {workers: 2}\n  profiling: {type: constant, rate: 30000, duration: 60}", false, 2, ""},
		"users":                 {"100", "dataset: {type: synthetic, turns: 2, prompts: {isl: 10, osl: 9}}\n  profiling: {type: user_centric, rate: 40000, users: 80000, duration: 60}", false, 2, "phase profiling: 40,000 requests per second are asked for."},
		"the warm-up is a load": {"100", "warmup: {type: constant, rate: 30000, requests: 60000}\n  profiling: {type: concurrency, concurrency: 1, requests: 1}", false, 2, "phase warmup: 30,000 requests"},
	} {
		text := strings.NewReplacer("%STREAMING", strconv.FormatBool(tt.streaming), "%OSL", tt.osl).Replace(head) + "  " + tt.phase + "\n"
		if strings.Contains(tt.phase, "dataset:") {
			text = strings.Replace(text, "  dataset: {type: synthetic, prompts: {isl: 10, osl: "+tt.osl+"}}\n", "", 1)
		}
		got := NeedsWorkers(compiledText(t, text), tt.cores)
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q …", name, got, tt.want)
		}
	}
}

// Whatever the rate, the sentence is there if and only if the cores that it names are more than there are.
func TestNeedsWorkersSaysTheTruth(t *testing.T) {
	numbers := regexp.MustCompile(`^phase p: ([\d,.]+) requests per second .* takes up to ([\d,.]+) cores, and this process may use (\d+)\.`)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		rate, cores := math.Exp(r.Float64()*16), 1+r.IntN(64)
		ph := spec.Phase{Name: "p", Arrivals: arrival.Constant(rate), Rate: rate, Duration: time.Minute}
		text := NeedsWorkers(&Plan{Measure: Measure{Phases: []spec.Phase{ph}}}, cores)
		need := rate * 2 / 21369
		if (text != "") != (need > float64(cores)) {
			t.Fatalf("%v per second with %d cores: %q", rate, cores, text)
		}
		if text == "" {
			continue
		}
		m := numbers.FindStringSubmatch(text)
		if m == nil {
			t.Fatal(text)
		}
		for i, want := range []float64{rate, need, float64(cores)} {
			got, err := strconv.ParseFloat(strings.ReplaceAll(m[i+1], ",", ""), 64)
			if err != nil || math.Abs(got-want) > max(0.5, want/100) {
				t.Fatalf("%v per second with %d cores: %q", rate, cores, text)
			}
		}
	}
	for _, rate := range []float64{math.Inf(1), math.NaN(), 0, -1} {
		ph := spec.Phase{Name: "p", Arrivals: arrival.Constant(1), Rate: rate, Duration: time.Minute}
		if text := NeedsWorkers(&Plan{Measure: Measure{Phases: []spec.Phase{ph}}}, 1); text != "" {
			t.Errorf("%v: %q", rate, text)
		}
	}
}
