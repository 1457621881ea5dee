package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/dataset/trace"
)

func compileText(t *testing.T, text string) (*Plan, error) {
	t.Helper()
	d, _, err := config.Load([]byte(text), config.LoadOptions{Choices: Choices()})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return Compile(d)
}

// TestTraceConflicts: options of traces and datasets that do not have them.
func TestTraceConflicts(t *testing.T) {
	for _, tt := range []struct{ document, want string }{
		{`dataset: {path: leaf_test.go, format: single_turn, blockSize: 16}`,
			"#/benchmark/datasets/0/blockSize: only formats of traces with hash ids have blocks, and single_turn is none"},
		{`dataset: {path: leaf_test.go, format: burst_gpt_trace, blockSize: 16}, phases: {type: concurrency}`,
			"#/benchmark/datasets/0/blockSize: only formats of traces with hash ids have blocks, and burst_gpt_trace is none"},
		{`dataset: {path: leaf_test.go, format: single_turn, ignoreTraceDelays: true, synthesis: {maxOsl: 3}}`,
			"#/benchmark/datasets/0/ignoreTraceDelays: only traces have recorded delays, and single_turn is none; " +
				"#/benchmark/datasets/0/synthesis: only traces can be changed, and single_turn is none"},
		{`dataset: {path: leaf_test.go, format: bailian_trace, ignoreTraceDelays: true}, phases: {type: fixed_schedule}`,
			"#/benchmark/datasets/0/ignoreTraceDelays: a phase of type fixed_schedule sends the trace at its times; use --no-fixed-schedule, or another type"},
		{`endpoint: {extra: {min_tokens: 3, top_p: 1}}, dataset: {path: leaf_test.go, format: baseten_trace}, phases: {type: concurrency}`,
			"#/benchmark/endpoint/extra/min_tokens: baseten_trace sends a recorded value; omitKvHints (--omit-kv-hints) and forceMinTokens: false (--no-force-min-tokens) leave it out"},
	} {
		text := tt.document
		if !strings.Contains(text, "phases") {
			text += ", phases: {requests: 2}"
		}
		_, err := compileText(t, "benchmark: {model: m, "+text+"}")
		var got []string
		if invalid, ok := errors.AsType[*problem.Invalid](err); ok {
			for _, p := range invalid.Problems {
				got = append(got, p.Pointer+": "+p.Detail)
			}
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.document, text, tt.want)
		}
	}
}

// TestTrace: the options of a trace, and what its only replay leaves out.
func TestTrace(t *testing.T) {
	const synthesis = `synthesis: {speedupRatio: 4, prefixLenMultiplier: 2, prefixRootMultiplier: 3, promptLenMultiplier: 0.5, outputLenMultiplier: 0, maxIsl: 9, maxOsl: 8}`
	p, err := compileText(t, `benchmark: {model: m, dataset: {path: leaf_test.go, format: mooncake_trace, replaySpeedup: 2.5, `+synthesis+`},
		phases: {type: fixed_schedule, startOffset: 20, endOffset: 30}}`)
	if err != nil {
		t.Fatal(err)
	}
	o := p.Dataset.Options
	want := trace.Spec{Synthesis: trace.Synthesis{PrefixLen: new(2.0), PromptLen: new(0.5), OutputLen: new(0.0), Roots: 3, MaxISL: 9, MaxOSL: 8}}
	if diff := cmp.Diff(want, o.Trace); diff != "" {
		t.Error(diff)
	}
	if o.BlockSize != 512 || !o.Timed || *o.From != 20*time.Millisecond || *o.Until != 30*time.Millisecond || p.Sessions.Speedup != 10 || p.Tokens.Optional {
		t.Errorf("block size %d, timed %v, from %v until %v, speedup %v, tokenizer optional %v", o.BlockSize, o.Timed, o.From, o.Until, p.Sessions.Speedup, p.Tokens.Optional)
	}
	p, err = compileText(t, `benchmark: {model: m, dataset: {path: leaf_test.go, format: bailian_trace, blockSize: 32}, phases: [{type: fixed_schedule, startOffset: 20}, {name: q, kind: profiling, type: fixed_schedule}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if o := p.Dataset.Options; o.BlockSize != 32 || o.From != nil || o.Until != nil {
		t.Errorf("two replays: block size %d, from %v until %v; want 32 and no bounds", o.BlockSize, o.From, o.Until)
	}
}
