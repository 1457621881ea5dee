package report

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// measured returns a phase with so many successful and failed requests.
func measured(t *testing.T, p spec.Phase, success, failed int) Measured {
	t.Helper()
	m, err := newMeasured(&p, measure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.Stats.End, m.Stats.Start = bench.PhaseCompleted, 1
	for i := range success + failed {
		at := time.Duration(i+1) * time.Second
		rec := &bench.Record{Stamps: bench.Stamps{Due: at, Permit: at, Start: at, Wrote: at + 1, End: at + 1000}}
		if i < success {
			rec.Answer.Chunks = []bench.Chunk{{At: at + 500}}
		} else {
			rec.Answer.Failure = &bench.Failure{Class: bench.Auth, Status: 401, Message: "who are you"}
		}
		m.add(rec)
	}
	return m
}

// input returns a run with these phases.
func input(phases ...Measured) *Input {
	return &Input{
		Run: &run.Run{}, Plan: &plan.Plan{Measure: plan.Measure{Document: &config.Document{}}}, Clock: bench.NewClock(), Phases: phases,
	}
}

// TestEnd: a run fails if too many requests failed, or if none succeeded, unless it was
// cancelled before it could reach that.
func TestEnd(t *testing.T) {
	limit := 0.2
	profiling, limited := spec.Phase{Name: "profiling", Kind: bench.Profiling}, spec.Phase{Name: "limited", Kind: bench.Profiling, FailThreshold: &limit}
	ended := func(m Measured, end bench.PhaseEnd, expected int64) Measured {
		m.Stats.End, m.Stats.ExpectedRequests = end, expected
		return m
	}
	refused := measured(t, profiling, 2, 0)
	refused.add(&bench.Record{Stamps: bench.Stamps{Start: 1, End: 2}, Answer: bench.Answer{Failure: &bench.Failure{Class: bench.TargetNotAllowed, Message: "gw is not an allowed target"}}})
	const quote = "auth, HTTP 401, 3 times: who are you; no API key was sent: use --api-key-file or AIPERFD_API_KEY"
	tests := []struct {
		name      string
		phases    []Measured
		cancelled bool
		state     bench.State
		code      run.ErrorCode
		phase     string
		reason    string
	}{
		{"completed", []Measured{measured(t, profiling, 2, 0)}, false, bench.StateCompleted, "", "", ""},
		{"some failed", []Measured{measured(t, profiling, 2, 3)}, false, bench.StateCompleted, "", "", ""},
		{"cancelled", []Measured{measured(t, profiling, 0, 3)}, true, bench.StateCancelled, "", "", "enough"},
		{"no phase", nil, false, bench.StateFailed, run.NoSuccess, "", "no request succeeded"},
		{"all failed", []Measured{measured(t, profiling, 0, 3)}, false, bench.StateFailed, run.NoSuccess, "", "no request succeeded: " + quote},
		{"only the warm-up succeeded", []Measured{measured(t, spec.Phase{Kind: bench.Warmup}, 2, 0)}, false, bench.StateFailed, run.NoSuccess, "", "no request succeeded"},
		{"over the threshold", []Measured{measured(t, limited, 2, 3), measured(t, profiling, 1, 0)}, false, bench.StateFailed, run.ErrorThreshold, "limited",
			"3 of 5 requests failed, more than the 20 % that failedRequestThreshold allows: " + quote},
		{"stopped by the threshold", []Measured{ended(measured(t, limited, 2, 3), bench.PhaseFailed, 9)}, false, bench.StateFailed, run.ErrorThreshold, "limited",
			"stopped after 5 of 9 requests: 3 failed, more than the 20 % that failedRequestThreshold allows: " + quote},
		{"stopped by the threshold, without an end", []Measured{ended(measured(t, limited, 2, 3), bench.PhaseFailed, 0)}, true, bench.StateFailed, run.ErrorThreshold, "limited",
			"stopped after 5 requests: 3 failed, more than the 20 % that failedRequestThreshold allows: " + quote},
		{"a server that is not allowed", []Measured{ended(refused, bench.PhaseFailed, 9)}, false, bench.StateFailed, run.TargetNotAllowed, "profiling", "gw is not an allowed target"},
		{"over the threshold when it was cancelled", []Measured{measured(t, limited, 2, 3)}, true, bench.StateCancelled, "", "", "enough"},
	}
	for _, tt := range tests {
		in := input(tt.phases...)
		in.Cancelled, in.Run.StateReason = tt.cancelled, "enough"
		o := in.end()
		var fault run.Error
		if o.Err != nil {
			fault = *o.Err
		}
		if want := (run.Error{Code: tt.code, Phase: tt.phase}); o.State != tt.state || o.Reason != tt.reason || fault.Code != want.Code || fault.Phase != want.Phase {
			t.Errorf("%s: %s, %q, %+v\nwant %s, %q, %+v", tt.name, o.State, o.Reason, fault, tt.state, tt.reason, want)
		}
	}
}

// TestFault: a dataset that could not be read fails the run, whatever it has measured.
func TestFault(t *testing.T) {
	phase := measured(t, spec.Phase{Name: "profiling", Kind: bench.Profiling}, 2, 1)
	phase.Stats.End = bench.PhaseFailed
	in := input(phase)
	in.Fault = &run.Error{Code: run.DatasetFailed, Message: "read the dataset: line 3"}
	o := Conclude(in)
	if o.State != bench.StateFailed || o.Reason != "read the dataset: line 3" || o.Err != in.Fault || o.Report.Results.Find("request_latency") == nil {
		t.Errorf("%s, %q, %+v", o.State, o.Reason, o.Err)
	}
}

// TestReplayDegraded: a replay that is late is a warning.
func TestReplayDegraded(t *testing.T) {
	for _, late := range []time.Duration{400 * time.Millisecond, 600 * time.Millisecond} {
		m, err := newMeasured(&spec.Phase{Name: "profiling", Kind: bench.Profiling}, measure.Options{Replay: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			at := time.Duration(i+1) * time.Second
			rec := &bench.Record{Stamps: bench.Stamps{Scheduled: at, Due: at, Permit: at, Start: at + late*min(1, time.Duration(i)), End: at + time.Minute}}
			rec.Answer.Chunks = []bench.Chunk{{At: at + 2*time.Second}}
			m.add(rec)
		}
		rep := Build(&run.Run{}, &plan.Measure{Document: &config.Document{}, Metrics: measure.Options{Replay: true}}, bench.NewClock(), []Measured{m})
		var want []bench.Warning
		if late.Milliseconds() > catalogue.DegradedAfter {
			want = warn("replay-degraded", "the timestamps of the dataset were not kept: 1 %% of the requests were sent 600 ms or more after their time, compared with the request that was least late")
		}
		if diff := cmp.Diff(want, replayDegraded(rep)); diff != "" {
			t.Errorf("late by %v (-want +got):\n%s", late, diff)
		}
	}
}

// TestWarnings: warnings appear in the order of the tables, and a run without trouble
// has none. Warnings about lengths, rates and streams are tested with a whole engine.
func TestWarnings(t *testing.T) {
	profiling := spec.Phase{Name: "profiling", Kind: bench.Profiling}
	codes := func(o Outcome) []string {
		var out []string
		for _, w := range slices.DeleteFunc(slices.Clone(o.Warnings), func(w bench.Warning) bool { return w.Code == "inconsistent-result" }) {
			out = append(out, w.Code+": "+w.Detail)
		}
		return out
	}
	if got := codes(Conclude(input(measured(t, profiling, 2, 0)))); got != nil {
		t.Errorf("warnings of a run without trouble: %q", got)
	}

	warmup, load := measured(t, spec.Phase{Name: "warm", Kind: bench.Warmup}, 1, 2), measured(t, profiling, 4, 1)
	warmup.Silence, warmup.Stats.Pauses = "the server sent nothing", 1
	load.Stats.Pauses, load.Stats.End, load.Stats.Cancelled, load.Stats.Sent = 2, bench.PhaseGraceTimeout, 3, 8
	load.Client = &verdict.Report{
		Verdict: verdict.Suspect, Reasons: []verdict.Reason{{Level: verdict.Suspect, Message: "late"}},
		Evidence: []verdict.Sign{{Message: "busy"}, {Message: "throttled"}},
	}
	in := input(warmup, load)
	in.Warnings = []bench.Warning{{Code: "prepared", Detail: "first"}}
	in.Tokens = Tokens{Warning: &bench.Warning{Code: "tokenizer-builtin", Detail: "counts"}, Refused: 2, Refusal: errors.New("no system message")}
	in.Responses = Responses{Mismatched: 3, Malformed: 4, Example: "{", Impossible: 5, Crashes: 6}
	in.Sharing = transport.SharedCount{Connections: 2, Limit: 100, Fallbacks: 1}
	in.SameHost = "localhost:8000"
	want := []string{
		"prepared: first",
		"no-answer: the server sent nothing",
		"paused: 1 request of phase warm was delayed because requests before had failed",
		"warmup-errors: 2 of 3 warm-up requests failed: auth, HTTP 401, 2 times: who are you; no API key was sent: use --api-key-file or AIPERFD_API_KEY",
		"paused: 2 requests of phase profiling were delayed because requests before had failed",
		"cut-by-grace: 3 of 8 requests were still running when the grace period of phase profiling ended; the slowest are missing, so percentiles are lower bounds",
		"tokenizer-builtin: counts",
		"chat-template: the chat template cannot render 2 conversations; their prompt lengths exclude it: no system message",
		"count-mismatch: 3 responses did not contain one vector or score per input",
		`malformed-events: 4 responses had malformed events, which were skipped, for example "{"`,
		"impossible-token-counts: 5 responses had token counts that no response can have; these counts were dropped",
		"processing-crashed: aiperfd crashed 6 times when it processed responses; these requests count as errors or lack a line in the record files; the log of the run has the reason",
		"request-errors: 1 of 5 requests failed; latencies cover successful requests only",
		"http2: requests shared connections of HTTP/2: 2 were opened in all, with 100 requests at a time on each at most, as the server allows",
		"http2-not-offered: the server offers no HTTP/2; requests went over HTTP/1.1",
		"client-suspect: late",
		"client-evidence: busy; throttled",
		"same-host: localhost:8000 is this machine: a server on it shares the CPU",
	}
	o := Conclude(in)
	if diff := cmp.Diff(want, codes(o)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(o.Warnings, o.Report.Warnings); diff != "" {
		t.Errorf("outcome and report differ:\n%s", diff)
	}

	// Saturation comes first, and replaces the warning about the grace period.
	in.Phases[1].Saturation = &verdict.Saturation{Saturated: true, Message: "the server is saturated"}
	want = slices.Concat([]string{"saturated: the server is saturated"}, want[:5], want[6:])
	if diff := cmp.Diff(want, codes(Conclude(in))); diff != "" {
		t.Errorf("warnings of a saturated run (-want +got):\n%s", diff)
	}
}

// TestSaturation: the first phase with which the servers did not keep up is shown, or
// else the last open loop.
func TestSaturation(t *testing.T) {
	kept := func(phase string, saturated bool) Measured {
		return Measured{Saturation: &verdict.Saturation{Phase: phase, Saturated: saturated}}
	}
	closed := Measured{}
	for _, tt := range []struct {
		name   string
		phases []Measured
		want   string // phase
	}{
		{"none", nil, ""},
		{"closed loops", []Measured{closed, closed}, ""},
		{"the last open loop", []Measured{kept("a", false), kept("b", false), closed}, "b"},
		{"the first saturated one", []Measured{kept("a", false), kept("b", true), kept("c", true), kept("d", false)}, "b"},
	} {
		got := ""
		if s := Saturation(tt.phases); s != nil {
			got = s.Phase
		}
		if got != tt.want {
			t.Errorf("%s: saturation of phase %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestSlices: slices are those of the profiling phases, and a note states when they
// became wider than the user asked for.
func TestSlices(t *testing.T) {
	o := measure.Options{Slice: 50 * time.Millisecond}
	at := func(p *spec.Phase, times ...time.Duration) Measured {
		m, err := newMeasured(p, o)
		if err != nil {
			t.Fatal(err)
		}
		m.Stats.End, m.Stats.Start = bench.PhaseCompleted, times[0]
		m.Set.SliceFrom(times[0])
		for _, at := range times {
			m.add(&bench.Record{Stamps: bench.Stamps{Due: at, Start: at, End: at + time.Second}, Answer: bench.Answer{Chunks: []bench.Chunk{{At: at + time.Second}}}})
		}
		return m
	}
	in := input(
		at(&spec.Phase{Name: "warm", Kind: bench.Warmup}, 1),
		at(&spec.Phase{Name: "load", Kind: bench.Profiling}, time.Second, 2*time.Second),
		at(&spec.Phase{Name: "more", Kind: bench.Profiling, Index: 2}, time.Minute, time.Hour),
	)
	in.Plan.Metrics = o
	done := Conclude(in)
	got := done.Report.Slices()
	if len(got) != 40+8853 || got[39].Phase != "load" || got[40].Phase != "more" || !got[39].Complete || got[len(got)-1].Complete {
		t.Errorf("%d slices", len(got))
	}
	note := "time slices of phase more last 400ms, not 50ms: there would have been too many, or they would have taken too much memory"
	if !slices.ContainsFunc(done.Warnings, func(w bench.Warning) bool { return w == bench.Warning{Code: "slices-joined", Detail: note} }) {
		t.Errorf("warnings %v, want %q", done.Warnings, note)
	}
}
