package diagnose

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"aiperfd/internal/engine/telemetry/servermap"
	"aiperfd/internal/engine/telemetry/window"
)

func plain(values []*float64) []float64 {
	var out []float64
	for _, v := range values {
		if v == nil {
			out = append(out, -1)
		} else {
			out = append(out, *v)
		}
	}
	return out
}

// TestCurves: a level is what each reading said, and a counter what it grew since the reading before; what was read
// outside the window does not count.
func TestCurves(t *testing.T) {
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	sources := run(func(i int) state {
		return state{running: float64(i), waiting: float64(i % 2), kv: 0.123456, preemptions: float64(i / 2), queries: float64(100 * i), hits: float64(30 * i)}
	})
	c := NewCurves(sources, window.Window{From: 1500 * time.Millisecond, To: 5 * time.Second}, start)
	for _, tt := range []struct {
		name      string
		got, want []float64
	}{
		{"time", c.Time, []float64{0.5, 1.5, 2.5, 3.5}},
		{"running", plain(c.Levels["running"]), []float64{2, 3, 4, 5}},
		{"waiting", plain(c.Levels["waiting"]), []float64{0, 1, 0, 1}},
		{"kv_usage", plain(c.Levels["kv_usage"]), []float64{0.1235, 0.1235, 0.1235, 0.1235}},
		{"preemptions", plain(c.Increases["preemptions"]), []float64{0.5, 0, 1, 0}},
		{"prefix_queries", plain(c.Increases["prefix_queries"]), []float64{50, 100, 100, 100}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s = %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if !c.Start.Equal(start) {
		t.Errorf("start %v", c.Start)
	}
	if c := NewCurves(sources, window.Window{From: 0, To: time.Second}, start); c != nil {
		t.Errorf("curves of two readings: %+v", c)
	}
	if c := NewCurves([]Source{{History: sources[0].History}}, whole(), start); c != nil {
		t.Errorf("curves of a server that is not known: %+v", c)
	}
}

// TestCurvesOfReplicas: levels of two servers add up, also when they are read at different times.
func TestCurvesOfReplicas(t *testing.T) {
	one := run(func(int) state { return state{running: 3, kv: 0.2} })[0]
	late := window.NewHistory(func(s string) string { return s })
	for i := range 22 {
		at := time.Duration(i)*time.Second + 500*time.Millisecond
		late.Add(window.Scrape{Sent: at, FirstByte: at, End: at}, []byte(state{running: 4, kv: 0.4, requests: float64(10 * i)}.page()))
	}
	two := Source{History: late, Servers: servermap.Detect(late)}
	c := NewCurves([]Source{one, two}, window.Window{From: time.Second, To: 3 * time.Second}, time.Time{})
	if got := plain(c.Levels["running"]); !slices.Equal(got, []float64{7, 7, 7, 7}) {
		t.Errorf("running = %v", got)
	}
	if got := plain(c.Levels["kv_usage"]); !slices.Equal(got, []float64{0.3, 0.3, 0.3, 0.3}) {
		t.Errorf("kv_usage = %v", got)
	}
}

// TestCurvesAreBounded: a day of readings becomes a bounded number of points, whose totals are those of the readings.
func TestCurvesAreBounded(t *testing.T) {
	h := window.NewHistory(func(s string) string { return s })
	const readings = 5000
	for i := range readings {
		at := time.Duration(i) * time.Second
		h.Add(window.Scrape{Sent: at, FirstByte: at, End: at}, []byte(state{running: float64(i % 2), queries: float64(7 * i)}.page()))
	}
	w := window.Window{From: -1, To: readings * time.Second}
	c := NewCurves([]Source{{History: h, Servers: servermap.Detect(h)}}, w, time.Time{})
	if len(c.Time) > window.MostPoints || len(c.Time) < window.MostPoints/2 {
		t.Errorf("%d points", len(c.Time))
	}
	if got := window.Sum(plain(c.Increases["prefix_queries"])); got != 7*(readings-1) {
		t.Errorf("the increases add up to %v, want %v", got, 7*(readings-1))
	}
	if last := c.Time[len(c.Time)-1]; last != readings-1 {
		t.Errorf("the last point is at %v s", last)
	}
	data, err := json.Marshal(c)
	if err != nil || len(data) > 64<<10 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
