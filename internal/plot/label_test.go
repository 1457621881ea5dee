package plot

import "testing"

func TestShortLabel(t *testing.T) {
	for _, tt := range [][2]string{
		{"phases.profiling.concurrency=16", "concurrency 16"},
		{"datasets.main.prompts.isl.mean=512, phases.profiling.rate=2.5", "isl 512, rate 2.5"},
		{"datasets.main.prompts.isl.stddev=5", "isl stddev 5"},
		{"isl_512__concurrency_4", "isl 512, concurrency 4"}, // AIPerf's
		{"scenario_1", "scenario 1"},
	} {
		if got := shortLabel(tt[0]); got != tt[1] {
			t.Errorf("shortLabel(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
}
