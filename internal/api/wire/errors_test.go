package wire

import (
	"encoding/json"
	"testing"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/run"
)

func TestNewErrors(t *testing.T) {
	s := &run.Snapshot{
		Elapsed: 90500 * time.Millisecond,
		Phases:  []run.Phase{{Epoch: time.Date(2026, 5, 4, 12, 0, 0, 0, time.FixedZone("", 7200))}},
		Errors: []metric.ErrorGroup{
			{Class: bench.Overloaded, Status: 503, Code: "busy", Type: "server_error", Pattern: "worker <n>", Example: "worker 7", Count: 3, First: time.Second, Last: time.Minute},
			{Class: bench.ConnectionReset, Count: 2, First: 1, Last: 2},
		},
	}
	const rest = `{"class":"connection_reset","status":null,"code":null,"type":null,"message":"","sample":"","count":2,"first_at":`
	for _, test := range []struct {
		name string
		r    run.Run
		s    *run.Snapshot
		want string
	}{
		{"nothing measured", run.Run{State: bench.StateFailed}, nil, `{"total":0,"items":[],"final":true,"elapsed_sec":null}`},
		{"live", run.Run{State: bench.StateRunning}, s, `{"total":5,"items":[{"class":"overloaded","status":503,"code":"busy","type":"server_error","message":"worker \u003cn\u003e","sample":"worker 7","count":3,` +
			`"first_at":"2026-05-04T10:00:01Z","last_at":"2026-05-04T10:01:00Z"},` + rest + `"2026-05-04T10:00:00.000000001Z","last_at":"2026-05-04T10:00:00.000000002Z"}],"final":false,"elapsed_sec":90.5}`},
		{"no phase", run.Run{State: bench.StateCompleted}, &run.Snapshot{Errors: s.Errors[1:], Elapsed: s.Elapsed}, `{"total":2,"items":[` + rest + `null,"last_at":null}],"final":true,"elapsed_sec":null}`},
	} {
		got, err := json.Marshal(NewErrors(&test.r, test.s))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: errors = %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}
