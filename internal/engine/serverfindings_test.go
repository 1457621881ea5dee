package engine_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/mock/batch"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/run"
)

// firstLine returns the first line of the console that has a label, without it; empty = there is none.
func (b *bed) firstLine(r *run.Run, label string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.store.Dir(r.ID), "profile_export_console.txt"))
	if err != nil {
		b.t.Fatal(err)
	}
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		found, ok := strings.CutPrefix(string(line), label)
		if !ok {
			continue
		}
		out := strings.TrimSpace(found)
		for _, more := range lines[i+1:] { // a long text goes on with an indent
			if !bytes.HasPrefix(more, []byte("   ")) {
				break
			}
			out += " " + strings.TrimSpace(string(more))
		}
		return out
	}
	return ""
}

// TestFindingsOfServers: the first line of the console names the cause of each way to be slow, and a healthy server
// gives no reason.
func TestFindingsOfServers(t *testing.T) {
	const synthetic = `tokenizer: {name: builtin}, dataset: {isl: 200, osl: 60, entries: 4000}`
	for _, tt := range []struct {
		name, dataset, phases string
		server                func(*batch.Params)
		label                 string // of the line of the console
		code, says            string // of the first finding; empty = none that deserves notice
	}{
		{
			name: "queue-bound", dataset: synthetic, label: "Finding", code: "queue-growing", says: "the server's queue grew to the end",
			phases: `[{name: profiling, type: constant, rate: 60, duration: 20s, gracePeriod: 1s}]`,
			server: func(p *batch.Params) { p.Prefill, p.MaxBatched, p.MaxSequences = 0.2, 512, 64 },
		},
		{
			name: "KV-bound", dataset: synthetic, label: "Finding", code: "kv-full", says: "memory limits the batch, not compute",
			phases: `[{name: profiling, concurrency: 24, duration: 15s}]`,
			server: func(p *batch.Params) { p.MaxSequences, p.Blocks, p.BlockSize = 64, 200, 16 },
		},
		{
			name: "batch-limit", dataset: synthetic, label: "Finding", code: "batch-limit", says: "(8) is the limit, not memory",
			phases: `[{name: profiling, concurrency: 24, duration: 15s}]`,
		},
		{
			name: "prefix-warm", label: "Finding", code: "prefix-warm", says: "cannot be compared with a cold run",
			dataset: `tokenizer: {name: builtin}, dataset: {isl: 400, osl: 20, entries: 40}`,
			phases:  `[{name: profiling, concurrency: 4, requests: 40}]`,
			server:  func(p *batch.Params) { p.PrefixCache = true },
		},
		{
			name: "client-bound", dataset: synthetic, label: "Time", says: "client ",
			phases: `[{name: profiling, type: constant, rate: 40, concurrency: 4, duration: 15s}]`,
			server: func(p *batch.Params) { p.MaxSequences = 64 },
		},
		{
			name: "healthy", dataset: synthetic, label: "Server", says: "waiting 0",
			phases: `[{name: profiling, concurrency: 4, duration: 15s}]`,
			server: func(p *batch.Params) { p.MaxSequences = 64 },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, batching(tt.server), nil)
				gates := ""
				if tt.code != "" {
					gates = "gates: {failOnFinding: [" + tt.code + "]}, "
				}
				document := `{randomSeed: 7, benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, serverMetrics: true, ` + gates + tt.dataset + `, phases: ` + tt.phases + `}}`
				r := b.run(document)
				if tt.code == "prefix-warm" { // the same prompts again
					if p := profilingPhase(t, b.serverOf(r)); len(p.Findings) > 0 && p.Findings[0].Code == tt.code {
						t.Errorf("the first run was warm: %s", p.Findings[0].Message)
					}
					r = b.run(document)
				}
				if r.State != bench.StateCompleted {
					t.Fatalf("%v %+v", r.State, r.Error)
				}
				p := profilingPhase(t, b.serverOf(r))
				first := ""
				if len(p.Findings) > 0 && p.Findings[0].Level == diagnose.Notice {
					first = p.Findings[0].Code
				}
				if first != tt.code {
					t.Errorf("findings %+v, want %q first", p.Findings, tt.code)
				}
				if tt.code != "" {
					want, verdict := "no finding "+tt.code+": found in 1 phase, missed", r.ObjectivesVerdict()
					if line := b.firstLine(r, "SLO"); verdict == nil || *verdict != "fail" || line != want {
						t.Errorf("verdict %v, SLO %q, want fail, %q", verdict, line, want)
					}
				}
				line := b.firstLine(r, tt.label)
				if !strings.Contains(line, tt.says) {
					t.Errorf("%s %q, want %q", tt.label, line, tt.says)
				}
				if tt.name == "client-bound" {
					parts := p.Budget.Parts()
					if parts[0].Name != "client" || parts[0].MS < 0.5*p.Budget.TTFT {
						t.Errorf("parts %+v of %v ms", parts, p.Budget.TTFT)
					}
				}
			})
		})
	}
}

// TestBudgetsAgree: on twenty runs of servers and loads that differ, API, record of the run, console and report have the
// same time budget, and its parts add up to the time to the first token that the client measured.
func TestBudgetsAgree(t *testing.T) {
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := batching(func(p *batch.Params) {
					p.MaxSequences, p.Jitter, p.PrefixCache = 2+2*i, 0.05, i%4 > 1
					p.Frontend = time.Duration(i%5) * time.Millisecond
				})
				vocabularies := options.Choices("metrics")
				o.Metrics = vocabularies[i%len(vocabularies)]
				b := newBed(t, o, nil)
				load := fmt.Sprintf("concurrency: %d", 4+3*i)
				if i%2 == 1 {
					load = fmt.Sprintf("type: poisson, rate: %d", 10+4*i)
				}
				r := b.run(fmt.Sprintf(`{randomSeed: %d, benchmark: {model: m, endpoint: {url: "http://mem", streaming: true}, serverMetrics: true, `, i+1) +
					streamedLoad + `, phases: [{name: profiling, ` + load + `, requests: 120}]}}`)
				if r.State != bench.StateCompleted {
					t.Fatalf("%v %+v", r.State, r.Error)
				}
				stored := profilingPhase(t, b.serverOf(r))
				served, err := engine.NewHistory(b.engine).Servers(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				budget := profilingPhase(t, served).Budget
				if budget == nil || stored.Budget == nil || budget.Line() != stored.Budget.Line() {
					t.Fatalf("budget %+v, and stored %+v", budget, stored.Budget)
				}
				if line := b.firstLine(r, "Time"); line != budget.Line() {
					t.Errorf("console %q, want %q", line, budget.Line())
				}
				if text := b.markdown(r); !strings.Contains(text, "| Time | "+budget.Line()+" |") {
					t.Errorf("no %q in the report\n%s", budget.Line(), text)
				}
				sum := 0.0
				for _, part := range budget.Parts() {
					sum += part.MS
				}
				measured := "time_to_first_token" // from the due time, which a closed loop does not have
				if i%2 == 1 {
					measured = "corrected_time_to_first_token"
				}
				want := b.value(r.ID, measured, "avg")
				if math.Abs(sum-want) > 0.01*want || math.Abs(sum-budget.TTFT) > 1e-9*want {
					t.Errorf("the parts add up to %v ms, the budget says %v, the client measured %v", sum, budget.TTFT, want)
				}
			})
		})
	}
}
