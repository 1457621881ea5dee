package flags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchedule: replays of traces, and traces that are not replayed.
func TestSchedule(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("timed", `{"timestamp": 7, "input_length": 3}`)
	write("untimed", `{"input_length": 3}`)
	write("loop.yaml", "benchmark: {model: m, dataset: {type: file, format: mooncake_trace, path: "+filepath.Join(dir, "timed")+"}, phases: {type: poisson, rate: 3, requests: 300}}")
	write("plan.yaml", "benchmark: {model: m, dataset: {type: file, format: mooncake_trace, path: "+filepath.Join(dir, "timed")+"}, phases: {type: fixed_schedule, startOffset: 3}}")
	const timed, untimed, prompts = "--custom-dataset-type mooncake_trace --input-file timed ", "--custom-dataset-type mooncake_trace --input-file untimed ", "--custom-dataset-type single_turn --input-file timed "
	const replay = "kind profiling, type fixed_schedule, gracePeriod inf"
	tests := []struct{ argv, want string }{
		{timed, replay},
		{timed + "--fixed-schedule", replay},
		{timed + "--fixed-schedule --fixed-schedule-auto-offset", replay},
		{timed + "--concurrency 4 --request-count 200", "kind profiling, type fixed_schedule, concurrency 4, requests 200, gracePeriod inf"},
		{timed + "--warmup-request-count 3 --fixed-schedule", "kind warmup, type concurrency, concurrency 1, requests 3, gracePeriod inf; " + replay},
		{timed + "--warmup-request-count 3", "kind warmup, type concurrency, concurrency 1, requests 3, gracePeriod inf; " + replay},
		{timed + "--no-fixed-schedule", "kind profiling, type concurrency, concurrency 1, gracePeriod inf"},
		{timed + "--no-fixed-schedule --concurrency 2", "kind profiling, type concurrency, concurrency 2, gracePeriod inf"},
		{timed + "--no-fixed-schedule --request-rate 5 --request-count 30", "kind profiling, type poisson, rate 5, requests 30, gracePeriod inf"},
		{timed + "--no-fixed-schedule --dataset-sampling-strategy random", "kind profiling, type concurrency, concurrency 1, requests 10, gracePeriod inf"},
		{untimed, "kind profiling, type concurrency, concurrency 1, gracePeriod inf"},
		{prompts + "--fixed-schedule", replay},
		{prompts, "kind profiling, type concurrency, concurrency 1, requests 10, gracePeriod inf"},
		{"--config loop.yaml --fixed-schedule", "kind profiling, type fixed_schedule, requests 300, gracePeriod inf"},
		{"--config loop.yaml --fixed-schedule --fixed-schedule-start-offset 4", "kind profiling, type fixed_schedule, requests 300, gracePeriod inf"},

		{timed + "--request-rate 5", "--request-rate: the dataset is a trace with timestamps, which are replayed; remove it, or add --no-fixed-schedule"},
		{timed + "--request-rate 5 --arrival-pattern constant",
			"--request-rate: the dataset is a trace with timestamps, which are replayed; remove it, or add --no-fixed-schedule\n" +
				"--arrival-pattern: the dataset is a trace with timestamps, which are replayed; remove it, or add --no-fixed-schedule"},
		{timed + "--fixed-schedule --request-rate 5", "--request-rate: conflicts with --fixed-schedule, which takes the times from the dataset"},
		{timed + "--fixed-schedule --no-fixed-schedule", "--no-fixed-schedule: conflicts with --fixed-schedule"},
		{timed + "--fixed-schedule-auto-offset --fixed-schedule-start-offset 3", "--fixed-schedule-start-offset: excludes an automatic offset, which starts with the first timestamp"},
		{timed + "--fixed-schedule-start-offset 3 --fixed-schedule-end-offset 2", "--fixed-schedule-end-offset 2: must not be less than the start offset 3"},
		{timed + "--no-fixed-schedule --fixed-schedule-end-offset 2", "--fixed-schedule-end-offset: only valid for the type fixed_schedule"},
		{timed + "--dataset-sampling-strategy random", "--dataset-sampling-strategy: a phase of type fixed_schedule reads the dataset in its order; use sequential"},
		{timed + "--replay-speedup 0", "--replay-speedup 0: must be greater than 0"},
		{timed + "--on-turn-error never", "--on-turn-error never: must be end_session, continue or retry_turn"},
		{"--fixed-schedule", "--fixed-schedule: needs a dataset with timestamps; synthetic data has none"},
		{"--replay-speedup 2", "--replay-speedup: only valid for datasets of type file"},
		{"--config plan.yaml --no-fixed-schedule", "--no-fixed-schedule: needs a command line without --config; give the phase of the file a type"},
		{"--config plan.yaml --request-rate 4", "--request-rate: the dataset is a trace with timestamps, which are replayed; remove it, or give the phase another type than fixed_schedule"},
	}
	for _, tt := range tests {
		t.Run(tt.argv, func(t *testing.T) {
			argv := []string{"--model", "m"}
			if strings.Contains(tt.argv, "--config") {
				argv = nil
			}
			for arg := range strings.FieldsSeq(tt.argv) {
				if _, err := os.Stat(filepath.Join(dir, arg)); err == nil {
					arg = filepath.Join(dir, arg)
				}
				argv = append(argv, arg)
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
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
		})
	}
}

// TestFailFastVariable: AIPerf has only a variable for it.
func TestFailFastVariable(t *testing.T) {
	d, _, err := flagsDocument(t, map[string]string{"AIPERF_DAG_FAIL_FAST": "1"})
	if err != nil || !d.Benchmark.Datasets[0].DAGFailFast {
		t.Errorf("document %+v, error %v", d, err)
	}
}
