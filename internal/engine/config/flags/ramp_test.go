package flags

import (
	"os"
	"strings"
	"testing"
)

// TestRamps: ramps, prefill limits and series of rates of both kinds of phases, from the
// command line and over a file.
func TestRamps(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"series.json": `[{"time_s": 0, "qps": 1}, {"time_s": 1, "qps": 2}]`,
		"bad.json":    `[{"time_s": 0, "qps": 1}]`,
		"closed.yaml": "benchmark: {model: m, endpoint: {streaming: true}, phases: {concurrency: 9, requests: 200, concurrencyRamp: {duration: 3, strategy: exponential}}}",
		"rate.yaml":   "benchmark: {model: m, phases: {rate: 9, requests: 200, rateRamp: 4}}",
		"varied.yaml": "benchmark: {model: m, phases: {requests: 200, rateSeries: [{time_s: 0, qps: 4}, {time_s: 1, qps: 5}]}}",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const series = `rateSeries {"path":null,"points":[{"timeS":0,"qps":1},{"timeS":1,"qps":2}]}`
	const linear3, linear5 = `{"duration":3,"strategy":"linear"}`, `{"duration":5,"strategy":"linear"}`
	const closed = "kind profiling, type concurrency, concurrency 9, requests 200, gracePeriod inf, concurrencyRamp "
	tests := []struct{ argv, want string }{
		{"--concurrency 9 --concurrency-ramp-duration 3 --request-count 200", closed + linear3},
		{"--concurrency 9 --concurrency-ramp-duration 3 --request-count 200 --streaming --prefill-concurrency 2 --prefill-concurrency-ramp-duration 5",
			closed + linear3 + ", prefillConcurrency 2, prefillRamp " + linear5},
		{"--request-rate 4 --request-rate-ramp-duration 5", "kind profiling, type poisson, rate 4, requests 10, gracePeriod inf, rateRamp " + linear5},
		{"--request-rate-series series.json", "kind profiling, type poisson, requests 10, gracePeriod inf, " + series},
		{"--request-rate-series series.json --arrival-smoothness 3 --request-rate-ramp-duration 5",
			"kind profiling, type gamma, smoothness 3, requests 10, gracePeriod inf, rateRamp " + linear5 + ", " + series},
		{"--request-rate-series series.json --arrival-pattern constant", "kind profiling, type constant, requests 10, gracePeriod inf, " + series},

		// The warm-up takes over what it is not given.
		{"--concurrency 9 --concurrency-ramp-duration 3 --request-count 200 --warmup-request-count 7",
			"kind warmup, type concurrency, concurrency 9, requests 7, gracePeriod inf, concurrencyRamp " + linear3 + "; " + closed + linear3},
		{"--concurrency 9 --concurrency-ramp-duration 3 --request-count 200 --warmup-request-count 7 --warmup-concurrency-ramp-duration 5",
			"kind warmup, type concurrency, concurrency 9, requests 7, gracePeriod inf, concurrencyRamp " + linear5 + "; " + closed + linear3},
		{"--concurrency 9 --request-count 200 --streaming --warmup-request-count 7 --warmup-prefill-concurrency 2 --warmup-prefill-concurrency-ramp-duration 3",
			"kind warmup, type concurrency, concurrency 9, requests 7, gracePeriod inf, prefillConcurrency 2, prefillRamp " + linear3 +
				"; kind profiling, type concurrency, concurrency 9, requests 200, gracePeriod inf"},
		{"--request-rate-series series.json --warmup-duration 5 --warmup-request-rate 3 --warmup-request-rate-ramp-duration 5",
			"kind warmup, type poisson, rate 3, duration 5, gracePeriod inf, rateRamp " + linear5 + "; kind profiling, type poisson, requests 10, gracePeriod inf, " + series},
		{"--request-rate 4 --warmup-duration 5 --warmup-request-rate-ramp-duration 5",
			"kind warmup, type poisson, rate 4, duration 5, gracePeriod inf, rateRamp " + linear5 + "; kind profiling, type poisson, rate 4, requests 10, gracePeriod inf"},

		// Over a file, a duration keeps the strategy, and a rate and a series replace each other.
		{"--config closed.yaml --concurrency-ramp-duration 5", closed + `{"duration":5,"strategy":"exponential"}`},
		{"--config closed.yaml --prefill-concurrency 4", closed + `{"duration":3,"strategy":"exponential"}, prefillConcurrency 4`},
		{"--config rate.yaml --request-rate-series series.json", "kind profiling, type poisson, requests 200, gracePeriod inf, rateRamp " + `{"duration":4,"strategy":"linear"}, ` + series},
		{"--config varied.yaml --request-rate-series series.json", "kind profiling, type poisson, requests 200, gracePeriod inf, " + series},
		{"--config varied.yaml --request-rate 4", "kind profiling, type poisson, rate 4, requests 200, gracePeriod inf"},
		{"--config closed.yaml --warmup-request-count 3 --warmup-concurrency-ramp-duration 5",
			"kind warmup, type concurrency, concurrency 9, requests 3, gracePeriod inf, concurrencyRamp " + `{"duration":5,"strategy":"exponential"}; ` + closed + `{"duration":3,"strategy":"exponential"}`},

		{"--concurrency-ramp-duration 3", "--concurrency-ramp-duration: needs a concurrency"},
		{"--concurrency 3 --request-rate-ramp-duration 3", "--request-rate-ramp-duration: needs a rate or a series of rates"},
		{"--concurrency 3 --streaming --prefill-concurrency-ramp-duration 3", "--prefill-concurrency-ramp-duration: needs a prefill concurrency"},
		{"--concurrency 3 --prefill-concurrency 3", "--prefill-concurrency: needs streaming, since only streams show when the prefill of a request has ended"},
		{"--concurrency 3 --streaming --prefill-concurrency 4", "--prefill-concurrency 4: must be at most the concurrency, 3"},
		{"--concurrency 3 --concurrency-ramp-duration 0", "--concurrency-ramp-duration 0: must be greater than 0"},
		{"--request-rate 3 --request-rate-series series.json", "--request-rate-series: excludes a fixed rate"},
		{"--request-rate-series bad.json", "--request-rate-series bad.json: has 1 points: must have 2 to 100000"},
		{"--request-rate-series none.json", "--request-rate-series none.json: no such file"},
		{"--exclude-ramp", "--exclude-ramp: needs a ramp in a profiling phase"},
		{"--warmup-concurrency-ramp-duration 5", "--warmup-concurrency-ramp-duration: needs --warmup-request-count, --warmup-duration or --num-warmup-sessions"},
		{"--fixed-schedule --request-rate-series series.json --request-rate-ramp-duration 3",
			"--fixed-schedule: needs a dataset with timestamps; synthetic data has none\n" +
				"--request-rate-series: conflicts with --fixed-schedule, which takes the times from the dataset\n" +
				"--request-rate-ramp-duration: conflicts with --fixed-schedule, which takes the times from the dataset"},
	}
	for _, tt := range tests {
		argv := strings.Fields(tt.argv)
		if !strings.Contains(tt.argv, "--config") {
			argv = append([]string{"--model", "m"}, argv...)
		}
		f, _ := parseFlags(argv, nil)
		d, _, err := f.Document()
		var got []string
		if err != nil {
			got = []string{err.Error()}
		} else {
			for _, p := range d.Benchmark.Phases {
				got = append(got, phaseText(p))
			}
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.argv, text, tt.want)
		}
	}
}
