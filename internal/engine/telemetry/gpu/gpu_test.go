package gpu

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/window"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const second = time.Second

// read returns the history of a page that is read at some times.
func read(t testing.TB, page func(at time.Duration) string, times ...time.Duration) *window.History {
	t.Helper()
	h := window.NewHistory(func(s string) string { return s })
	for _, at := range times {
		if h.Add(window.Scrape{Sent: at, FirstByte: at, End: at}, []byte(page(at))) == 0 {
			t.Fatalf("the page of %v has no values", at)
		}
	}
	return h
}

// every returns times in steps.
func every(step, from, to time.Duration) (out []time.Duration) {
	for at := from; at <= to; at += step {
		out = append(out, at)
	}
	return out
}

// grow adds to the first value of a family on a page: what it grows by per second.
func grow(page, family string, by float64) string {
	var out strings.Builder
	for line := range strings.Lines(page) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "} "); ok && strings.HasPrefix(line, family+"{") {
			var v float64
			if _, err := fmt.Sscan(value, &v); err == nil {
				line = fmt.Sprintf("%s} %.6f\n", name, v+by)
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// TestPages compares what is found on the pages of real exporters with what is known of them.
func TestPages(t *testing.T) {
	for _, tt := range []struct {
		name, energy string
		perSecond    float64
	}{
		{"dcgm", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 500e3},
		{"dcgm46", "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", 500},
		{"dcgm_mig", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 500e3},
		{"amd", "gpu_energy_consumed", 600e6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", tt.name+".prom"))
			if err != nil {
				t.Fatal(err)
			}
			h := read(t, func(at time.Duration) string {
				page := grow(string(data), tt.energy, tt.perSecond*at.Seconds())
				return grow(page, "DCGM_FI_DEV_POWER_VIOLATION", 100e3*at.Seconds())
			}, every(second/2, 0, 12*second)...)
			got := Examine([]Page{{URL: "http://node1:9400/metrics", History: h}}, window.Window{From: second, To: 11 * second}, Options{})
			text, err := json.MarshalIndent(got, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", tt.name+".json")
			if *update {
				if err := os.WriteFile(golden, append(text, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(text)+"\n"); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// card is a card whose power is known at every time, and an exporter that shows it late.
type card struct {
	power   func(at time.Duration) float64
	energy  []float64 // J at each tick
	refresh time.Duration
	lag     time.Duration // after a refresh until it is shown
	late    time.Duration // of the first refresh
	without string        // a family that the page lacks
}

const tick = 10 * time.Millisecond

// prepare computes the energy up to an end.
func (c *card) prepare(end time.Duration) {
	sum := 0.0
	for at := time.Duration(0); at <= end; at += tick {
		c.energy = append(c.energy, sum)
		sum += c.power(at) * tick.Seconds()
	}
}

// page is what the exporter shows: the state at the last refresh.
func (c *card) page(at time.Duration) string {
	state := max(0, (at-c.lag-c.late)/c.refresh*c.refresh+c.late)
	if at-c.lag < c.late {
		state = 0
	}
	const labels = `{gpu="0",UUID="GPU-1",Hostname="node1",modelName="H100"}`
	text := ""
	for _, f := range []struct {
		name, kind string
		value      float64
	}{
		{"DCGM_FI_DEV_POWER_USAGE", "gauge", c.power(state)},
		{"DCGM_FI_DEV_POWER_MGMT_LIMIT", "gauge", 700},
		{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", 1e9 + 1e3*c.energy[state/tick]},
	} {
		if f.name != c.without {
			text += fmt.Sprintf("# TYPE %s %s\n%s%s %.6f\n", f.name, f.kind, f.name, labels, f.value)
		}
	}
	return text
}

// TestEnergy: whatever the exporter's refresh, the truth is within the stated bound.
func TestEnergy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, refresh := range []time.Duration{100 * time.Millisecond, second, 30 * second} {
		for _, length := range []time.Duration{6 * second, 60 * second} {
			for _, without := range []string{"", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_POWER_USAGE"} {
				worst, errors := 0.0, 0.0
				for range 40 {
					from := 2*second + time.Duration(rng.IntN(100))*tick
					w := window.Window{From: from, To: from + length}
					level, noise := 100+500*rng.Float64(), rng.Float64()
					c := card{refresh: refresh, late: time.Duration(rng.IntN(100)) * refresh / 100 / tick * tick, without: without,
						lag: min(refresh/4, 200*time.Millisecond)}
					c.power = func(at time.Duration) float64 {
						if at < w.From || at > w.To {
							return 70
						}
						return level + 90*noise*math.Sin(2*math.Pi*at.Seconds()/7)
					}
					c.prepare(w.To + 4*second)
					times := append(every(second/3, time.Duration(rng.IntN(33))*tick, w.To+second), w.From-tick, w.To+tick)
					slices.Sort(times)
					h := read(t, c.page, slices.Compact(times)...)
					got := Examine([]Page{{URL: "http://node1:9400/metrics", History: h}}, w, Options{})
					if len(got.Devices) != 1 {
						t.Fatalf("devices %+v", got.Devices)
					}
					e := got.Devices[0].Energy
					if e == nil && without == "DCGM_FI_DEV_POWER_USAGE" && refresh > length {
						continue // the counter did not change
					}
					truth := c.energy[w.To/tick] - c.energy[w.From/tick]
					if off := math.Abs(e.Joules - truth); off > e.Bound*(1+1e-9) {
						t.Errorf("refresh %v, %v, without %q: %.1f J ± %.1f by %s, but it is %.1f", refresh, length, without, e.Joules, e.Bound, e.Source, truth)
					}
					worst, errors = max(worst, e.Bound/truth), max(errors, math.Abs(e.Joules-truth)/truth)
					coarse := slices.ContainsFunc(got.Findings, func(f diagnose.Finding) bool { return f.Code == "energy-coarse" })
					if coarse != (e.Bound > 0.1*e.Joules) {
						t.Errorf("refresh %v, %v: bound %v of %v, coarse: %t", refresh, length, e.Bound, e.Joules, coarse)
					}
				}
				t.Logf("refresh %v, %v, without %q: bound ≤ %.3f, error ≤ %.4f", refresh, length, without, worst, errors)
			}
		}
	}
}

// TestMean: the mean power is weighted by time, and constant power is exact.
func TestMean(t *testing.T) {
	c := card{refresh: second / 10, power: func(time.Duration) float64 { return 412.5 }}
	c.prepare(20 * second)
	h := read(t, c.page, every(second/3, 0, 12*second)...)
	got := Examine([]Page{{URL: "http://node1:9400/metrics", History: h}}, window.Window{From: 2 * second, To: 8 * second}, Options{})
	d := &got.Devices[0]
	if p := d.Metric("power"); *p.Avg != 412.5 || *p.Max != 412.5 || *p.Std != 0 || p.Count != 18 {
		t.Errorf("power %+v", p)
	}
	if e := d.Energy; math.Abs(*e.Integrated-6*412.5) > 1e-6 || math.Abs(e.Joules-6*412.5) > 0.05*6*412.5 {
		t.Errorf("energy %v, integrated %v", e.Joules, *e.Integrated)
	}
}

// two is a page of a card; the labels say which one.
func two(labels string, watts, joules float64) string {
	return fmt.Sprintf("DCGM_FI_DEV_POWER_USAGE{%s} %v\nDCGM_FI_DEV_GPU_UTIL{%s} 90\n", labels, watts, labels) +
		fmt.Sprintf("# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{%s} %v\n", labels, 1000*joules)
}

// TestIdentity: cards of two hosts that have the same index are two, one that two pages have is one.
func TestIdentity(t *testing.T) {
	w := window.Window{From: second, To: 9 * second}
	page := func(host, id string, watts float64) *window.History {
		return read(t, func(at time.Duration) string {
			return two(fmt.Sprintf(`gpu="0",UUID=%q,Hostname=%q`, id, host), watts, watts*at.Seconds())
		}, every(second/3, 0, 10*second)...)
	}
	one := page("a", "GPU-1", 100)
	pages := []Page{{URL: "http://a:9400/metrics", History: one}, {URL: "http://b:9400/metrics", History: page("b", "GPU-2", 300)},
		{URL: "http://a:9401/metrics", History: one}}
	got := Examine(pages, w, Options{})
	if len(got.Devices) != 2 || got.Vendors[0].Cards != 2 || math.Abs(*got.Vendors[0].Energy-3200) > 1 || *got.Vendors[0].Mean != 400 {
		t.Errorf("devices %+v, vendors %+v", got.Devices, got.Vendors)
	}
	for _, s := range []string{"GPU-2", "0"} {
		if n := len(Examine(pages, w, Options{Select: []string{s}}).Devices); n != map[string]int{"GPU-2": 1, "0": 2}[s] {
			t.Errorf("%s selects %d devices", s, n)
		}
	}
}

// TestLateCard: a card that appears later did not use the energy since it was started.
func TestLateCard(t *testing.T) {
	h := read(t, func(at time.Duration) string {
		if at < 4*second {
			return two(`gpu="0",UUID="A"`, 100, 1e6)
		}
		return two(`gpu="0",UUID="A"`, 100, 1e6) + two(`gpu="1",UUID="B"`, 100, 5e6+100*at.Seconds())
	}, every(second/3, 0, 10*second)...)
	got := Examine([]Page{{URL: "http://a:9400/metrics", History: h}}, window.Window{From: second, To: 9 * second}, Options{})
	if e := got.Devices[1].Energy; e.Joules > 600 || !e.Partial {
		t.Errorf("energy %+v", e)
	}
}

// TestReset: a counter that begins again is a lower bound.
func TestReset(t *testing.T) {
	h := read(t, func(at time.Duration) string {
		joules := 1e6 + 100*at.Seconds()
		if at > 5*second {
			joules = 100 * (at - 5*second).Seconds()
		}
		return two(`gpu="0",UUID="A"`, 100, joules)
	}, every(second/3, 0, 10*second)...)
	got := Examine([]Page{{URL: "http://a:9400/metrics", History: h}}, window.Window{From: second, To: 9 * second}, Options{})
	if e := got.Devices[0].Energy; e.Joules > 801 || e.Joules < 760 || !e.Partial {
		t.Errorf("energy %+v", e)
	}
}

// TestViolations: the description says the unit of the time of throttling, unless that cannot be.
func TestViolations(t *testing.T) {
	for _, tt := range []struct {
		help  string
		value float64 // per second
	}{
		{"Throttling duration due to power constraints (in us).", 0.3e6},
		{"Throttling duration due to power constraints (in ns).", 0.3e9},
		{"Throttling duration due to power constraints (in us).", 0.3e9},
		{"", 0.3e6},
	} {
		h := read(t, func(at time.Duration) string {
			return fmt.Sprintf("# HELP DCGM_FI_DEV_POWER_VIOLATION %s\n# TYPE DCGM_FI_DEV_POWER_VIOLATION counter\n"+
				"DCGM_FI_DEV_POWER_VIOLATION{gpu=\"0\",UUID=\"A\"} %v\n", tt.help, tt.value*at.Seconds())
		}, every(second, 0, 10*second)...)
		got := Examine([]Page{{URL: "http://a:9400/metrics", History: h}}, window.Window{From: second, To: 9 * second}, Options{})
		if v := *got.Devices[0].Metric("throttle_power").Total; math.Abs(v-2.4) > 1e-9 {
			t.Errorf("%q, %v per second: %v s, want 2.4", tt.help, tt.value, v)
		}
		if f := got.Findings; len(f) != 1 || f[0].Code != "power-capped" || f[0].Message != "the limit of power held down the clocks of GPU 0 of a:9400 for 30 % of the time" {
			t.Errorf("findings %+v", f)
		}
	}
}

// TestForeign: pages of other exporters have no devices.
func TestForeign(t *testing.T) {
	h := read(t, func(time.Duration) string {
		return "vllm:num_requests_running{engine=\"0\"} 3\nDCGM_FI_DEV_NVSWITCH_LINK{gpu=\"0\",UUID=\"A\"} 1\ngpu_power_usage 3\nDCGM_FI_DEV_POWER_USAGE 4\n"
	}, every(second, 0, 3*second)...)
	if got := Examine([]Page{{URL: "http://a/metrics", History: h}}, window.Window{To: 2 * second}, Options{}); len(got.Devices) != 0 || len(got.Findings) != 0 {
		t.Errorf("%+v", got)
	}
}
