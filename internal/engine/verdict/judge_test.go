package verdict

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const msec = time.Millisecond

// lags returns a histogram of pairs of a lag and how often it was seen.
func lags(pairs ...time.Duration) Histogram {
	var h Histogram
	for i := 0; i < len(pairs); i += 2 {
		h.AddN(pairs[i], uint64(pairs[i+1]))
	}
	return h
}

func lagsOf(pairs ...time.Duration) *Histogram {
	h := lags(pairs...)
	return &h
}

// calm is a window of 10 s in which nothing was late.
func calm() *Observation {
	return &Observation{
		Phase: "profiling",
		Self: Self{
			Window: 10 * time.Second, Step: 5 * msec, Ticks: lags(msec/10, 2000), Scheduler: lagsOf(msec/100, 5000),
			Pauses: lagsOf(msec/10, 20), CPU: &CPU{Used: 2 * time.Second, Cores: 2}, RSS: 1 << 20,
			RunQueue: &RunQueue{Wait: 100 * msec, Slices: 10000}, Cgroup: &Cgroup{Quota: 2},
			Machine: &Machine{Cores: 2, Idle: 15 * time.Second, Others: 3 * time.Second},
		},
		Load: Load{
			Send: lags(msec/20, 1000), Schedule: lags(msec/10, 1000), Requests: 1000, Delivered: 100,
			Interval: time.Second, TTFT: 200 * msec, Kernel: 1000, StampLag: lagsOf(msec/10, 50000),
		},
	}
}

// open makes the load of an observation one that a schedule asks for.
func open(o *Observation) {
	o.Load.Open, o.Load.Offered, o.Load.Delivered, o.Load.Interval = true, 100, 100, 10*msec
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Observation)
		want   string // level, then code=level of each reason
	}{
		{"nothing was late", func(*Observation) {}, "ok"},
		{"one late tick is not a share of anything", func(o *Observation) { o.Self.Ticks = lags(0, 20, 50*msec, 1) }, "ok"},
		{"one percent of the ticks late", func(o *Observation) { o.Self.Ticks = lags(0, 1980, 5*msec, 20) }, "ok"},
		{"more than one percent of the ticks late", func(o *Observation) { o.Self.Ticks = lags(0, 1970, 5*msec, 30) }, "suspect tick-lag=suspect"},
		{"ticks five times as late", func(o *Observation) { o.Self.Ticks = lags(0, 1970, 11*msec, 30) }, "invalid tick-lag=invalid"},
		{"no ticks", func(o *Observation) { o.Self.Ticks = Histogram{} }, "unknown"},
		{"no ticks, but a late schedule", func(o *Observation) {
			o.Self.Ticks = Histogram{}
			o.Load.Schedule = lags(60*msec, 1000)
		}, "suspect schedule-lag=suspect"},
		{"goroutines wait", func(o *Observation) { o.Self.Scheduler = lagsOf(3*msec, 5000) }, "suspect scheduler-latency=suspect"},
		{"long pauses", func(o *Observation) { o.Self.Pauses = lagsOf(20*msec, 5) }, "invalid gc-pause=invalid"},
		{"closed loop: 5 % of a slot's interval", func(o *Observation) { o.Load.Schedule = lags(45*msec, 1000) }, "ok"},
		{"closed loop: more", func(o *Observation) { o.Load.Schedule = lags(60*msec, 1000) }, "suspect schedule-lag=suspect"},
		{"open loop: 1 ms at high rates", func(o *Observation) {
			open(o)
			o.Load.Schedule = lags(1200*time.Microsecond, 1000)
		}, "suspect schedule-lag=suspect"},
		{"open loop: 5 % of the interval at low rates", func(o *Observation) {
			open(o)
			o.Load.Interval, o.Load.Schedule = time.Second, lags(40*msec, 1000)
		}, "ok"},
		{"open loop: far too late", func(o *Observation) {
			open(o)
			o.Load.Schedule = lags(10*msec, 1000)
		}, "invalid schedule-lag=invalid"},
		{"stamps of late reads", func(o *Observation) {
			o.Load.Kernel, o.Load.Read = 0, 1000
			o.Load.StampLag = lagsOf(30*msec, 1000)
		}, "invalid receive-stamp-lag=invalid"},
		{"late reads with the kernel's stamps are a sign and no error", func(o *Observation) { o.Load.StampLag = lagsOf(30*msec, 1000) }, "suspect receive-stamp-lag=suspect"},
		{"1 % of TTFT is allowed", func(o *Observation) {
			o.Load.TTFT = 4 * time.Second
			o.Load.StampLag = lagsOf(30*msec, 1000)
		}, "ok"},
		{"rate not delivered", func(o *Observation) { open(o); o.Load.Delivered = 98 }, "suspect rate-not-delivered=suspect"},
		{"rate far from delivered", func(o *Observation) { open(o); o.Load.Delivered = 90 }, "invalid rate-not-delivered=invalid"},
		{"a concurrency limit held the rate back", func(o *Observation) { open(o); o.Load.Delivered, o.Load.Capped = 50, true }, "ok"},
		{"slots were empty", func(o *Observation) { o.Load.Lost = 0.02 }, "suspect concurrency-not-delivered=suspect"},
		{"slots were mostly empty", func(o *Observation) { o.Load.Lost = 0.2 }, "invalid concurrency-not-delivered=invalid"},
		{"busy for 6 % of the window", func(o *Observation) { o.Self.CPU.Busy = 600 * msec }, "suspect cpu-share=suspect"},
		{"busy for 26 % of the window", func(o *Observation) { o.Self.CPU.Busy = 2600 * msec }, "invalid cpu-share=invalid"},
		{"others keep the machine busy", func(o *Observation) { o.Self.Machine.Crowded = 9 * time.Second }, "suspect machine-busy=suspect"},
		{"the hypervisor steals", func(o *Observation) { o.Self.Machine.Steal = 2 * time.Second }, "suspect steal=suspect"},
		{"threads wait", func(o *Observation) { o.Self.RunQueue.Wait = 3 * time.Second }, "suspect run-queue-wait=suspect"},
		{"throttled", func(o *Observation) { o.Self.Cgroup.Throttled = 3 * time.Second }, "invalid cpu-throttled=invalid"},
		{"a system that tells nothing", func(o *Observation) {
			o.Self = Self{Window: o.Self.Window, Ticks: o.Self.Ticks}
			o.Load.StampLag = nil
		}, "ok"},
		{"several", func(o *Observation) {
			o.Self.Ticks = lags(3*msec, 2000)
			o.Self.CPU.Busy = 10 * time.Second
		}, "invalid tick-lag=suspect cpu-share=invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := calm()
			tt.change(o)
			r := Judge(o)
			got := string(r.Verdict)
			for _, reason := range r.Reasons {
				got += " " + reason.Code + "=" + string(reason.Level)
				if reason.Phase != "profiling" || reason.Message == "" || reason.Value <= reason.Limit || reason.Share <= 0 || reason.Share > 1 {
					t.Errorf("reason %+v", reason)
				}
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("encode: %v", err)
			}
		})
	}
}

func TestJudgeReason(t *testing.T) {
	o := calm()
	o.Self.Ticks = lags(0, 1900, 4*msec, 100)
	want := []Reason{{
		Code: "tick-lag", Level: Suspect, Phase: "profiling", Metric: "tick_lag_p99", Value: 4, Limit: 2, Unit: "ms", Share: 0.05,
		Message: "a goroutine that asked to be woken was woken late: the client did not get a processor in time",
	}}
	if d := cmp.Diff(want, Judge(o).Reasons); d != "" {
		t.Errorf("reasons (-want +got):\n%s", d)
	}
}

func TestBias(t *testing.T) {
	// Send lag: half 1 ms, 3 in 4 at most 2 ms, one percent 8 ms.
	send := lags(msec, 600, 2*msec, 390, 8*msec, 10)
	tests := []struct {
		name   string
		change func(*Observation)
		want   map[string][2]float64
	}{
		{"the kernel's stamps leave the sending", func(o *Observation) {}, map[string][2]float64{
			"time_to_first_token": {1, 2}, "request_latency": {1, 2}, "inter_chunk_latency": {0, 0},
		}},
		// Boole: the quantiles of each part at 75 % and 99.5 % bound those of the sum at 50 % and 99 %.
		{"stamps of reads add what wake-ups were late", func(o *Observation) {
			o.Load.Kernel, o.Load.Read = 0, 10
			o.Self.Ticks = lags(msec, 800, 4*msec, 200)
		}, map[string][2]float64{
			"time_to_first_token": {3, 12}, "request_latency": {3, 12}, "inter_chunk_latency": {1, 4},
		}},
		{"one stamp by a read is enough", func(o *Observation) {
			o.Load.Read = 1
			o.Self.Ticks, o.Self.Scheduler = lags(0, 1000), lagsOf(16*msec, 10)
		}, map[string][2]float64{
			"time_to_first_token": {18, 24}, "request_latency": {18, 24}, "inter_chunk_latency": {16, 16},
		}},
		{"events in one read have one stamp, even the kernel's", func(o *Observation) {
			o.Load.Merged = 1
			o.Self.Ticks = lags(msec, 800, 4*msec, 200)
		}, map[string][2]float64{
			"time_to_first_token": {3, 12}, "request_latency": {3, 12}, "inter_chunk_latency": {1, 4},
		}},
		{"an open loop also starts late", func(o *Observation) {
			open(o)
			o.Load.Schedule = lags(16*msec, 1000)
		}, map[string][2]float64{
			"time_to_first_token": {1, 2}, "request_latency": {1, 2}, "inter_chunk_latency": {0, 0},
			"corrected_time_to_first_token": {18, 24}, "corrected_request_latency": {18, 24},
		}},
		{"no streams", func(o *Observation) { o.Load.TTFT = 0 }, map[string][2]float64{"request_latency": {1, 2}}},
		{"no requests", func(o *Observation) { o.Load.Requests = 0 }, map[string][2]float64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := calm()
			o.Load.Send = send
			tt.change(o)
			got := map[string][2]float64{}
			for _, b := range Judge(o).Bias {
				// Quantiles of a histogram are up to a sixteenth too high.
				got[b.Metric] = [2]float64{float64(int(b.P50 + 0.01)), float64(int(b.P99 + 0.01))}
				if b.Basis == "" {
					t.Errorf("%s has no basis", b.Metric)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("bias (-want +got):\n%s", d)
			}
		})
	}
}

func TestOverall(t *testing.T) {
	if got := Overall(nil); got.Verdict != Unknown || got.Reasons == nil || got.Bias == nil {
		t.Errorf("of nothing: %+v", got)
	}
	a, b, c := calm(), calm(), calm()
	a.Phase, b.Phase, c.Phase = "a", "b", "c"
	b.Self.Ticks = lags(20*msec, 100)
	c.Self.CPU.Busy = time.Second
	b.Load.Send = lags(30*msec, 100)
	one := Overall([]Report{Judge(a)})
	if one.Verdict != OK || one.Phases != nil || one.Phase != "a" {
		t.Errorf("of one: %s, phase %s, %d phases", one.Verdict, one.Phase, len(one.Phases))
	}
	all := Overall([]Report{Judge(a), Judge(b), Judge(c)})
	if all.Verdict != Invalid || all.Phase != "b" || len(all.Phases) != 3 || len(all.Reasons) != 2 {
		t.Errorf("of three: %s, phase %s, %d phases, reasons %+v", all.Verdict, all.Phase, len(all.Phases), all.Reasons)
	}
	if all.Bias[0].Metric != "time_to_first_token" || all.Bias[0].P99 != 30 {
		t.Errorf("bias of three: %+v", all.Bias)
	}
}

func TestLine(t *testing.T) {
	o := calm()
	want := "ok: tick lag p99 0.1 ms, schedule lag p99 0.1 ms, send lag p99 0.05 ms, receive-stamp lag p99 0.1 ms, CPU 0.20 of 2 cores" +
		"; time_to_first_token off by at most 0.05 ms in 99 % of requests"
	r := Judge(o)
	if got := r.Line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	none := Overall(nil)
	if got := none.Line(); got != "unknown" {
		t.Errorf("line of nothing: %s", got)
	}
}

func TestText(t *testing.T) {
	tests := []struct {
		reason Reason
		want   string
	}{
		{Reason{Code: "tick-lag", Message: "late", Metric: "tick_lag_p99", Value: 159.4, Limit: 2, Unit: "ms"}, "tick-lag: late (tick_lag_p99 is 159 ms, the limit is 2.0)"},
		{Reason{Code: "cpu-share", Message: "busy", Metric: "cpu_busy_share", Value: 0.1234, Limit: 0.05, Unit: "ratio"}, "cpu-share: busy (cpu_busy_share is 0.12, the limit is 0.05)"},
	}
	for _, tt := range tests {
		if got := tt.reason.Text(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.00049: "0", 0.0123: "0.012", 9.94: "9.9", 12345: "12345"} {
		if got := figure(x); got != want {
			t.Errorf("figure(%v) = %s, want %s", x, got, want)
		}
	}
}

// What is not known is null, and never a zero that looks like a measurement.
func TestReportNulls(t *testing.T) {
	r := Judge(&Observation{Phase: "p", Self: Self{Window: time.Second, Ticks: lags(0, 10)}})
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"scheduler_latency":null`, `"gc_pause":null`, `"schedule_lag":null`, `"receive_stamp_lag":null`, `"cpu":null`,
		`"rates":null`, `"rss_bytes":null`, `"reasons":[]`, `"bias":[]`, `"tick_lag":{"count":10,`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
}
