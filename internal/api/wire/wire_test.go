package wire

import (
	"encoding/json"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

func TestOmitNulls(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{}`, `{}`},
		{`{"a":null}`, `{}`},
		{`{"a":null,"b":1}`, `{"b":1}`},
		{`{"a":1,"b":null}`, `{"a":1}`},
		{`{"a":null,"b":null,"c":{"d":null,"e":2,"f":null}}`, `{"c":{"e":2}}`},
		{`{"a":[null,{"b":null},1],"c":null}`, `{"a":[null,{},1]}`},
		{`{"a":"x\":null,","b":"null"}`, `{"a":"x\":null,","b":"null"}`},
		{`{"a\\":null,"b":"\\"}`, `{"b":"\\"}`},
		{`{"a":nullable}`, `{able}`}, // not JSON: garbage in, garbage out, no panic
		{`"open`, `"open`},
		{`null`, `null`},
	}
	for _, tt := range tests {
		if got := string(OmitNulls([]byte(tt.in))); got != tt.want {
			t.Errorf("OmitNulls(%s) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// Removing nulls from the text is the same as removing them from the value.
func TestOmitNullsProperty(t *testing.T) {
	var value *rapid.Generator[any]
	value = rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(
			rapid.Just[any](nil), rapid.String().AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.Bool().AsAny(),
			rapid.SliceOfN(value, 0, 3).AsAny(), rapid.MapOfN(rapid.String(), value, 0, 3).AsAny(),
		)
	})
	rapid.Check(t, func(t *rapid.T) {
		v := value.Draw(t, "value")
		text, err := plainjson.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := plainjson.Marshal(without(v))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(OmitNulls(text)); got != string(want) {
			t.Fatalf("OmitNulls(%s) = %s, want %s", text, got, want)
		}
	})
}

// without drops null members, by hand.
func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			if member != nil {
				out[name] = without(member)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, element := range v {
			out = append(out, without(element))
		}
		return out
	}
	return v
}

// Values that JSON cannot represent are absent or null.
func TestInfinities(t *testing.T) {
	r := metric.Result{Def: &catalogue.Def{Tag: "adj", Unit: "ms"}, Count: 3}
	r.Set(metric.P50, 1)
	r.Set(metric.P99, math.Inf(1))
	r.Set(metric.Avg, math.NaN())
	m := NewMetrics("1", nil, &run.Snapshot{Metrics: metric.Results{r}})
	if diff := cmp.Diff(map[string]Stats{"adj": {Unit: "ms", P50: new(1.0), Count: new(int64(3))}}, m.Metrics); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	if _, err := json.Marshal(NewRecords(metric.Results{r})); err != nil {
		t.Error(err)
	}
}

func TestPhaseDerived(t *testing.T) {
	epoch := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		name    string
		stats   bench.PhaseStats
		at      time.Duration
		percent *float64
		eta     *float64
		rate    *float64
		state   string
	}{
		{"not started", bench.PhaseStats{ExpectedRequests: 10}, time.Second, new(0.0), nil, nil, "running"},
		{"requests", bench.PhaseStats{Start: time.Second, ExpectedRequests: 100, Sent: 30, Completed: 20, Cancelled: 5}, 6 * time.Second, new(25.0), new(15.0), new(4.0), "running"},
		{"duration", bench.PhaseStats{Start: time.Second, ExpectedDuration: 60 * time.Second}, 16 * time.Second, new(25.0), new(45.0), nil, "running"},
		{"both bounds", bench.PhaseStats{Start: time.Second, ExpectedDuration: 60 * time.Second, ExpectedRequests: 100, Completed: 50}, 11 * time.Second, new(50.0), new(10.0), new(5.0), "running"},
		{"sessions", bench.PhaseStats{Start: time.Second, ExpectedSessions: 4, CompletedSessions: 1}, 3 * time.Second, new(25.0), new(6.0), nil, "running"},
		{"unbounded", bench.PhaseStats{Start: time.Second, Completed: 5}, 2 * time.Second, nil, nil, new(5.0), "running"},
		{"draining over time", bench.PhaseStats{Start: time.Second, SentEnd: 2 * time.Second, ExpectedDuration: time.Second}, 4 * time.Second, new(100.0), new(0.0), nil, "draining"},
		{"complete", bench.PhaseStats{Start: time.Second, RequestsEnd: 3 * time.Second, SentEnd: 2 * time.Second, Completed: 8, ExpectedRequests: 9, End: bench.PhaseGraceTimeout}, 9 * time.Second, new(100.0), nil, new(4.0), "complete"},
		{"cancelled", bench.PhaseStats{Start: time.Second, RequestsEnd: 3 * time.Second, Completed: 4, ExpectedRequests: 8, End: bench.PhaseCancelled}, 9 * time.Second, new(50.0), nil, new(2.0), "cancelled"},
		{"failed", bench.PhaseStats{Start: time.Second, RequestsEnd: 3 * time.Second, End: bench.PhaseFailed}, 9 * time.Second, nil, nil, nil, "failed"},
	}
	for _, tt := range tests {
		got := NewPhase(&run.Phase{Stats: tt.stats, Epoch: epoch}, epoch.Add(tt.at))
		type derived struct {
			Percent, ETA, Rate *float64
			State              string
		}
		if diff := cmp.Diff(derived{tt.percent, tt.eta, tt.rate, tt.state}, derived{got.Percent, got.RequestsETA, got.RequestRate, got.State}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if (got.FinalSent != nil) != (tt.stats.End != "") {
			t.Errorf("%s: final_requests_sent = %v", tt.name, got.FinalSent)
		}
	}
}

func TestWorkerStatus(t *testing.T) {
	wall := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	busy := bench.PhaseStats{Sent: 3, Completed: 1}
	tests := []struct {
		name   string
		state  bench.State
		stats  bench.PhaseStats
		recent Recent
		cpu    float64
		age    time.Duration
		want   WorkerStatus
	}{
		{"working", bench.StateRunning, busy, Recent{100, 49}, 50, time.Second, Healthy},
		{"failing", bench.StateRunning, busy, Recent{100, 50}, 50, time.Second, InError},
		{"nothing returned", bench.StateRunning, busy, Recent{}, 50, time.Second, Healthy},
		{"saturated", bench.StateRunning, busy, Recent{100, 3}, 86 * float64(runtime.GOMAXPROCS(0)), time.Second, HighLoad},
		{"waiting", bench.StateRunning, bench.PhaseStats{Sent: 1, Completed: 1}, Recent{}, 1, time.Second, Idle},
		{"hanging", bench.StateRunning, busy, Recent{}, 1, 11 * time.Second, Stale},
		{"finished long ago", bench.StateCompleted, bench.PhaseStats{}, Recent{}, 1, time.Hour, Idle},
	}
	for _, tt := range tests {
		s := &run.Snapshot{Wall: wall, Phases: []run.Phase{{Stats: tt.stats}}, Process: run.Process{PID: 1, CPUPercent: tt.cpu}}
		got := NewWorkers(&run.Run{State: tt.state}, s, tt.recent, wall.Add(tt.age))
		if got.Workers[workerID].Status != tt.want || got.Groups[groupID].Status != tt.want {
			t.Errorf("%s: status = %s, want %s", tt.name, got.Workers[workerID].Status, tt.want)
		}
	}
}

// Runs of earlier versions lack lists; to a reader they are empty.
func TestListsOfEarlierVersions(t *testing.T) {
	old := &run.Run{
		State: bench.StateCompleted, Summary: &run.Summary{},
		Client: &run.ClientVerdict{Verdict: verdict.Suspect, Reasons: []verdict.Reason{{Code: "tick-lag"}}, Bias: []verdict.Bias{}},
	}
	snap := &run.Snapshot{Client: &verdict.Report{
		Verdict: verdict.Suspect, Reasons: []verdict.Reason{{Code: "tick-lag"}}, Bias: []verdict.Bias{},
		Phases: []verdict.Report{{Reasons: []verdict.Reason{{Code: "tick-lag"}}, Bias: []verdict.Bias{}}},
	}}
	run := NewRun(old, nil, 0, Artifacts{})
	results := NewResults(old, snap)
	if run.Summary.Unsupported == nil || run.Client.Evidence == nil || run.Client.Reasons[0].Concerns == nil {
		t.Errorf("the run has a null: %+v, %+v", run.Summary, run.Client)
	}
	c := results.Client
	if c.Evidence == nil || c.Reasons[0].Concerns == nil || c.Phases[0].Evidence == nil || c.Phases[0].Reasons[0].Concerns == nil {
		t.Errorf("the results have a null: %+v", c)
	}
	if old.Client.Evidence != nil || snap.Client.Phases[0].Reasons[0].Concerns != nil {
		t.Error("the originals have changed")
	}
}

// A column keeps its gaps on the way through JSON.
func TestColumnJSON(t *testing.T) {
	data, err := json.Marshal(Column{1, math.NaN(), 2.5})
	if err != nil {
		t.Fatal(err)
	}
	var got Column
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0] != 1 || !math.IsNaN(got[1]) || got[2] != 2.5 {
		t.Errorf("%s became %v", data, got)
	}
}
