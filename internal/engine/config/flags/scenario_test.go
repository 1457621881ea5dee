package flags

import (
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/scenario"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/plan"
)

// agentX is the command of the field.
const agentX = "--model m --scenario inferencex-agentx-mvp --public-dataset semianalysis_cc_traces_weka_062126 --concurrency 4 "

// violations are the options that the rules of AIPerf 0.13 refuse, each with the beginning of its message.
var violations = []struct{ option, want string }{
	{"--request-rate 5", "--request-rate: got 5, required none ("},
	{"--streaming=false", "--streaming: got false, required true ("},
	{"--extra-inputs ignore_eos:false", "--extra-inputs: got false, required true ("},
	{"--cache-bust none", "--cache-bust: got none, required first_turn_prefix ("},
	{"--benchmark-duration 899", "--benchmark-duration: got 899, required at least 900 ("},
	{"--ignore-trace-delays", "--ignore-trace-delays: got true, required none ("},
	{"--trace-idle-gap-cap-seconds 300", "--trace-idle-gap-cap-seconds: got 300, required none ("},
	{"--inter-turn-delay-cap-seconds 5", "--inter-turn-delay-cap-seconds: got 5, required none ("},
	{"--synthesis-max-isl 5000", "--synthesis-max-isl: got 5000, required none ("},
	{"--system-idle-gap-cap-seconds 11", "--system-idle-gap-cap-seconds: got 11, required 10 ("},
	{"--gap-rule critical", "--gap-rule: got critical, required aiperf ("},
}

// TestScenario: a scenario fills in what the command line does not give.
func TestScenario(t *testing.T) {
	d := mustFlags(t, strings.Fields(agentX)...)
	p, data := &d.Benchmark.Phases[len(d.Benchmark.Phases)-1], &d.Benchmark.Datasets[0]
	if p.Type != config.AgenticReplay || *p.Duration != 1800 || *p.TrajectoryStartMinRatio != 0 || *p.TrajectoryStartMaxRatio != 1 ||
		*p.SystemIdleGapCap != 10 || p.LaneStart != "spread" || p.Requests != nil {
		t.Errorf("phase %s: %+v", phaseText(*p), p)
	}
	if data.CacheBust.Target != "first_turn_prefix" || data.GapRule != "aiperf" || !d.Benchmark.Endpoint.Streaming {
		t.Errorf("dataset %+v, streaming %v", data, d.Benchmark.Endpoint.Streaming)
	}
	if s := d.Scenario(); s == nil || s.ID() != "inferencex-agentx-mvp@0.13" || len(s.Overridden)+len(s.Deviations) > 0 {
		t.Errorf("scenario %+v", s)
	}
	for _, s := range scenario.All() {
		for _, name := range []string{s.Name, s.ID()} {
			if names := strings.Fields(schema.FieldAt("benchmark.scenario").Choices); !slices.Contains(names, name) {
				t.Errorf("documents do not accept the scenario %s: %q", name, names)
			}
		}
	}
	for _, tt := range []struct{ option, want string }{
		{"--trajectory-start-min-ratio 0.25", "--trajectory-start-min-ratio: got 0.25, expected 0 ("},
		{"--num-dataset-entries 16", "--num-dataset-entries: got 16, expected none ("},
		{"--max-context-length 8192", "--max-context-length: got 8192, expected none ("},
		{"--burst-phase-starts", "--burst-phase-starts: got true, expected false ("},
	} {
		s := mustFlags(t, strings.Fields(agentX+tt.option)...).Scenario()
		if len(s.Overridden) > 0 || len(s.Deviations) != 1 || !strings.HasPrefix(s.Deviations[0].Text, tt.want) {
			t.Errorf("%s: %q, overridden %q; want %s", tt.option, s.Deviations, s.Overridden, tt.want)
		}
	}
}

// TestScenarioConflicts: each broken rule alone, and all of them at once.
func TestScenarioConflicts(t *testing.T) {
	var all, want []string
	for _, v := range violations {
		all, want = append(all, v.option), append(want, v.want)
		if got := problems(t, agentX+v.option); len(got) != 1 || !strings.HasPrefix(got[0], v.want) {
			t.Errorf("%s: %q, want %s", v.option, got, v.want)
		}
	}
	got := problems(t, agentX+strings.Join(all, " "))
	for _, w := range want {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, w) }) {
			t.Errorf("all at once: no %q in\n%s", w, strings.Join(got, "\n"))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d problems, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
}

// TestScenarioOverride: broken rules are warnings, but without sessions nothing can run.
func TestScenarioOverride(t *testing.T) {
	for _, v := range violations {
		if strings.HasPrefix(v.option, "--request-rate") {
			continue // lanes are not played then
		}
		d, warnings, err := flagsDocument(t, nil, strings.Fields(agentX+"--unsafe-override "+v.option)...)
		if err != nil {
			t.Errorf("%s: %v", v.option, err)
			continue
		}
		s := d.Scenario()
		if len(s.Overridden) != 1 || !strings.HasPrefix(s.Overridden[0], v.want) {
			t.Errorf("%s: overridden %q, want %s", v.option, s.Overridden, v.want)
		}
		if !slices.ContainsFunc(warnings, func(w problem.Problem) bool { return w.Code == "scenario" && strings.HasPrefix(w.Detail, v.want) }) {
			t.Errorf("%s: warnings %v", v.option, warnings)
		}
	}
	for argv, want := range map[string]string{
		"--model m --scenario inferencex-agentx-mvp --unsafe-override":                               "--scenario inferencex-agentx-mvp: needs recorded sessions, for example --public-dataset semianalysis_cc_traces_weka_062126",
		"--model m --scenario inferencex-agentx-mvp --public-dataset semianalysis_cc_traces_weka":    "--public-dataset: got semianalysis_cc_traces_weka, required one of the corpora",
		"--model m --scenario inferencex-agentx-mvp --input-file . --custom-dataset-type weka_trace": "--input-file: got ., required --public-dataset semianalysis_cc_traces_weka_062126",
	} {
		if got := problems(t, argv); want != "" && !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("%s: %q, want %s", argv, got, want)
		}
	}
}

// problems returns the problems of a command line.
func problems(t *testing.T, argv string) []string {
	t.Helper()
	_, _, err := flagsDocument(t, nil, strings.Fields(argv)...)
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

// TestScenarioStored: the document that a run stores keeps the rules, and breaks them, as the command line does.
func TestScenarioStored(t *testing.T) {
	for _, option := range []string{
		"", "--streaming=false", "--cache-bust none", "--benchmark-duration 5", "--ignore-trace-delays", "--gap-rule critical",
		"--system-idle-gap-cap-seconds 11", "--trajectory-start-min-ratio 0.25", "--trajectory-start-max-ratio 0.5", "--num-dataset-entries 16",
		"--max-context-length 8192", "--burst-phase-starts", "--start burst", "--extra-inputs ignore_eos:false",
	} {
		want := mustFlags(t, strings.Fields(agentX+"--unsafe-override "+option)...)
		text, err := plainjson.Marshal(config.Resolved(want))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := config.Load([]byte(`{"benchmark": `+string(text)+`}`), config.LoadOptions{Stored: true, Resolved: true, Choices: plan.Choices()})
		if err != nil {
			t.Errorf("%s: %v", option, err)
			continue
		}
		g, w := got.Scenario(), want.Scenario()
		if len(g.Overridden) != len(w.Overridden) || len(g.Deviations) != len(w.Deviations) {
			t.Errorf("%s: stored %q %q, given %q %q", option, g.Overridden, g.Deviations, w.Overridden, w.Deviations)
		}
	}
}

// TestCorpora: a repository with recorded sessions, by AIPerf's option and by its field in documents.
func TestCorpora(t *testing.T) {
	const repository = "semianalysisai/cc-traces-weka-062126"
	d := mustFlags(t, "--model", "m", "--scenario", "inferencex-agentx-mvp", "--hf-weka-dataset", repository)
	if set := &d.Benchmark.Datasets[0]; set.Dataset != "weka:"+repository || set.Type != "public" {
		t.Errorf("dataset %+v", set)
	}
	const document = `{"benchmark": {"model": "m", "dataset": {"hf_weka_dataset": "a/b"}, "phases": {"requests": 200}}}`
	d, _, err := config.Load([]byte(document), config.LoadOptions{Choices: plan.Choices()})
	if err != nil || d.Benchmark.Datasets[0].Dataset != "weka:a/b" {
		t.Errorf("document: %+v, %v", d, err)
	}
	const lanes = "--model m --input-file /dev/null --custom-dataset-type weka_trace --timing agentic --benchmark-duration 9 --cache-bust "
	for argv, want := range map[string]string{
		"--model m --hf-weka-dataset a/b --public-dataset sharegpt": "--public-dataset: --hf-weka-dataset sets the same value; use only one of them",
		lanes + "warmup_isolation_first_turn":                       "--cache-bust: warmup_isolation_first_turn gives the warm-up prompts of its own, so that the primers of the type agentic_replay",
		lanes + "warmup_isolation_system":                           "--cache-bust: warmup_isolation_system gives the warm-up prompts of its own",
		"--model m --omit-kv-hints=false":                           "--omit-kv-hints",
		"--model m --trace-session-sample-ratio 0":                  "--trace-session-sample-ratio 0: must be greater than 0",
	} {
		if got := problems(t, argv); !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("%s: %q, want %s", argv, got, want)
		}
	}
}
