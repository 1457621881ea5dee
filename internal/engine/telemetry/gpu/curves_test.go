package gpu

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/telemetry/window"
)

// curvePage is a page with three cards: one with reasons for lower clocks, one with counters of throttling, and one
// that is divided. Its values change with time in seconds.
func curvePage(at time.Duration) string {
	s := at.Seconds()
	const a, b = `{gpu="0",UUID="GPU-a",Hostname="n"}`, `{gpu="1",UUID="GPU-b",Hostname="n"}`
	const half, other = `{gpu="2",UUID="GPU-c",Hostname="n",GPU_I_ID="1"}`, `{gpu="2",UUID="GPU-c",Hostname="n",GPU_I_ID="2"}`
	capped := 0
	if s > 2 {
		capped = 4
	}
	var out strings.Builder
	for _, f := range []struct{ name, kind, values string }{
		{"DCGM_FI_DEV_POWER_USAGE", "gauge", fmt.Sprintf("%s %g\n%s 200\n%s 50\n%s 50\n", a, 100*s, b, half, other)},
		{"DCGM_FI_DEV_SM_CLOCK", "gauge", fmt.Sprintf("%s %g\n", a, 2000-100*s)},
		{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", fmt.Sprintf("%s %g\n", a, 7e6+1e5*s)},
		{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gauge", fmt.Sprintf("%s %d\n", a, capped|1)},
		{"DCGM_FI_DEV_POWER_VIOLATION", "counter", fmt.Sprintf("%s %g\n", b, 250e3*s)},
		{"DCGM_FI_DEV_THERMAL_VIOLATION", "counter", fmt.Sprintf("%s %g\n", b, 50e3*s*s)},
	} {
		fmt.Fprintf(&out, "# TYPE %s %s\n", f.name, f.kind)
		for line := range strings.Lines(f.values) {
			out.WriteString(f.name + line)
		}
	}
	return out.String()
}

// TestCurves: what was read, at the time when it was read, and what held the clocks down.
func TestCurves(t *testing.T) {
	pages := []Page{{URL: "http://n:9400/metrics", History: read(t, curvePage, every(second, 0, 4*second)...)}}
	w := window.Window{To: 4 * second}
	c := NewCurves(pages, w, time.Unix(0, 0).UTC(), Options{})
	got, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"start_time":"1970-01-01T00:00:00Z","time_sec":[1,2,3,4],"devices":[` +
		`{"label":"GPU 0 of n","uuid":"GPU-a","power_watts":[100,200,300,400],"sm_clock_mhz":[1900,1800,1700,1600],"throttled_share":[0,0,1,1]},` +
		`{"label":"GPU 1 of n","uuid":"GPU-b","power_watts":[200,200,200,200],"throttled_share":[0.25,0.25,0.25,0.35]},` +
		`{"label":"GPU 2 instance 1 of n","uuid":"GPU-c","power_watts":[50,50,50,50]}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("curves (-want +got):\n%s", diff)
	}
	if c := NewCurves(pages, window.Window{To: 2 * second}, time.Unix(0, 0), Options{}); c != nil {
		t.Errorf("two readings give a curve: %+v", c)
	}
	if c := NewCurves(pages, w, time.Unix(0, 0), Options{Select: []string{"GPU-b"}}); c == nil || len(c.Devices) != 1 || c.Devices[0].UUID != "GPU-b" {
		t.Errorf("selected: %+v", c)
	}
}

// TestLatest: the last power, and the energy since the first reading: by the counter, or else by the power.
func TestLatest(t *testing.T) {
	pages := []Page{{URL: "http://n:9400/metrics", History: read(t, curvePage, every(second, second, 4*second)...)}}
	var got []string
	for _, l := range NewLatest(pages, Options{}) {
		got = append(got, fmt.Sprintf("%s: %g W, %g J", l.Label(), *l.Power, *l.Energy))
	}
	want := []string{"GPU 0 of n: 400 W, 300 J", "GPU 1 of n: 200 W, 600 J", "GPU 2 instance 1 of n: 50 W, 150 J"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("latest (-want +got):\n%s", diff)
	}
	if got := NewLatest(nil, Options{}); got != nil {
		t.Errorf("without a page: %+v", got)
	}
}
