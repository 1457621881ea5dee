package load

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// 199 arrivals are due in two seconds, and one slot serves 25 per second. AIPerf 0.13
// sends 50 of them and says nothing about the others.
func TestSaturation(t *testing.T) {
	tests := []struct {
		name  string
		phase func(*spec.Phase)
		want  string
	}{
		{"all are sent", func(*spec.Phase) {}, "199 due, 199 sent, 0 dropped, 0 left; 198 waited, 2.985s on average, at most 5.94s; backlog 149; completed"},
		{
			"as many as the grace period allows", func(p *spec.Phase) { p.Grace = time.Second },
			"199 due, 75 sent, 0 dropped, 124 left; 74 waited, 1.125s on average, at most 2.22s; backlog 149; grace_timeout",
		},
		{
			"none after the duration", func(p *spec.Phase) { p.Grace = 0 },
			"199 due, 50 sent, 0 dropped, 149 left; 49 waited, 750ms on average, at most 1.47s; backlog 149; grace_timeout",
		},
		{
			"none after a warm-up", func(p *spec.Phase) { p.Kind = bench.Warmup },
			"199 due, 50 sent, 0 dropped, 149 left; 49 waited, 750ms on average, at most 1.47s; backlog 149; completed",
		},
		{
			"those that find no free slot are dropped", func(p *spec.Phase) { p.Backlog.Saturation = spec.DropArrivals },
			"199 due, 50 sent, 149 dropped, 0 left; 0 waited, 0s on average, at most 0s; backlog 0; completed",
		},
		{
			"too many end the phase", func(p *spec.Phase) { p.Backlog = spec.Backlog{Saturation: spec.AbortArrivals, Limit: 30} },
			"42 due, 11 sent, 0 dropped, 31 left; 10 waited, 165ms on average, at most 300ms; backlog 31; saturated",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sc := &scenario{phase: spec.Phase{
					Kind: bench.Profiling, Arrivals: arrival.Constant(100), Rate: 100, Concurrency: 1, Duration: 1995 * time.Millisecond, Grace: -1,
				}}
				for range 250 {
					sc.data = append(sc.data, talk("c", said("x")))
				}
				sc.replies = map[string][]reply{"x": {{takes: 40*time.Millisecond - time.Microsecond}}} // before the arrival that is due then
				tt.phase(&sc.phase)
				requests := sc.run(t.Context())
				st := sc.loaded.Stats(0)
				a := st.Arrivals
				mean := time.Duration(0)
				if a.Waited > 0 {
					mean = a.WaitSum / time.Duration(a.Waited)
				}
				got := fmt.Sprintf("%d due, %d sent, %d dropped, %d left; %d waited, %v on average, at most %v; backlog %d; %s",
					a.Used, len(requests), a.Dropped, st.Backlog, a.Waited, mean.Round(time.Millisecond), a.WaitMax.Round(time.Millisecond), st.BacklogMax, sc.loaded.End())
				if got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				if a.Used != st.Sent+a.Dropped+st.Backlog {
					t.Errorf("%d due, %d sent, %d dropped, %d left: they do not add up", a.Used, st.Sent, a.Dropped, st.Backlog)
				}
			})
		})
	}
}

// With a rate of sessions, later turns are sent after their think time; with one of
// requests, they take the next arrival.
func TestSessionRate(t *testing.T) {
	for perSession, want := range map[bool]string{
		true: `500ms a/0 [u:a0]
1s b/0 [u:b0]
1.5s c/0 [u:c0]
2.25s a/1 [u:a0 a:A0 u:a1]
2.75s b/1 [u:b0 a:B0 u:b1]
3.25s c/1 [u:c0 a:C0 u:c1]
`,
		false: `500ms a/0 [u:a0]
1s b/0 [u:b0]
1.5s c/0 [u:c0]
2.5s a/1 [u:a0 a:A0 u:a1]
3s b/1 [u:b0 a:B0 u:b1]
3.5s c/1 [u:c0 a:C0 u:c1]
`,
	} {
		synctest.Test(t, func(t *testing.T) {
			sc := &scenario{phase: spec.Phase{
				Kind: bench.Profiling, Arrivals: arrival.Constant(2), Starts: spec.Starts{PerSession: perSession}, Sessions: 3, Grace: -1,
			}, data: talks(9, 2)}
			for _, c := range sc.data {
				c.Turns[1].Delay = 750 * time.Millisecond
			}
			if got := sc.transcript(t); got != want {
				t.Errorf("per session %v:\n%s\nwant\n%s", perSession, got, want)
			}
		})
	}
}
