package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/view"
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
			Send: lags(msec/20, 1000), Schedule: lags(msec/10, 1000), Requests: 1000, Delivered: 100, Turnaround: msec / 10,
			TTFT: 200 * msec, Latency: time.Second, Gap: 20 * msec, Kernel: 1000, Gaps: 40000, Streams: 1000,
			StampLag: lagsOf(msec/10, 50000),
		},
	}
}

// open makes the load of an observation that of an open loop.
func open(o *Observation) { o.Load.Open, o.Load.Offered, o.Load.Delivered = true, 100, 100 }

// read makes the stamps of an observation those of reads.
func read(o *Observation) { o.Load.Kernel, o.Load.Read = 0, o.Load.Requests }

// few makes an observation one of so many requests without streams.
func few(o *Observation, n int64) {
	o.Load.Requests, o.Load.Kernel, o.Load.Gaps, o.Load.Streams, o.Load.TTFT = n, n, 0, 0, 0
	o.Load.Send, o.Load.Schedule = lags(msec/20, time.Duration(n)), lags(msec/10, time.Duration(n))
}

func TestJudge(t *testing.T) {
	const ttft, gap, latency = "time_to_first_token", "inter_chunk_latency", "request_latency"
	const later, sooner = "corrected_request_latency", "corrected_time_to_first_token"
	tests := []struct {
		name   string
		change func(*Observation)
		want   string // level, then code=level(number) of each reason; ? = it does not decide the level
	}{
		{"nothing was late", func(*Observation) {}, "ok"},
		// Observations of the client alone are evidence, not reasons.
		{"late wake-ups, the kernel stamps", func(o *Observation) { o.Self.Ticks = lags(30*msec, 2000) }, "ok"},
		{"goroutines wait, the kernel stamps", func(o *Observation) { o.Self.Scheduler = lagsOf(30*msec, 5000) }, "ok"},
		{"long pauses", func(o *Observation) { o.Self.Pauses = lagsOf(20*msec, 5) }, "ok"},
		{"late reads, the kernel stamps", func(o *Observation) { o.Load.StampLag = lagsOf(30*msec, 1000) }, "ok"},
		{"busy all the time", func(o *Observation) { o.Self.CPU.Busy = 10 * time.Second }, "ok"},
		{"a server on the same machine keeps it busy", func(o *Observation) { o.Self.Machine.Crowded = 9 * time.Second }, "ok"},
		{"steal, throttling, waiting threads", func(o *Observation) {
			o.Self.Machine.Steal, o.Self.Cgroup.Throttled, o.Self.RunQueue.Wait = 2*time.Second, 3*time.Second, 30*time.Second
		}, "ok"},
		{"a system that reports nothing", func(o *Observation) {
			o.Self = Self{Window: o.Self.Window, Ticks: o.Self.Ticks}
			o.Load.StampLag = nil
		}, "ok"},
		{"no ticks, the kernel stamps", func(o *Observation) { o.Self.Ticks, o.Self.Scheduler = Histogram{}, nil }, "ok"},
		{"no ticks, reads are stamped", func(o *Observation) { read(o); o.Self.Ticks, o.Self.Scheduler = Histogram{}, nil }, "unknown"},
		{"no ticks yet", func(o *Observation) {
			read(o)
			o.Self = Self{Window: 3 * msec, Step: 5 * msec}
		}, "ok"},

		// The network loses segments.
		{"nothing is lost", func(o *Observation) { o.Path = &Path{Responses: 1000} }, "ok"},
		{"one response lost something", func(o *Observation) { o.Path = &Path{Responses: 50, Affected: 1, Sent: 200, Retransmitted: 1} }, "ok"},
		{"1 % of responses", func(o *Observation) { o.Path = &Path{Responses: 1000, Affected: 10, Sent: 4000, Retransmitted: 10} }, "ok"},
		{"1.1 % of responses", func(o *Observation) { o.Path = &Path{Responses: 1000, Affected: 11, Sent: 4000, Retransmitted: 11} },
			"suspect path-loss=suspect(" + ttft + ") path-loss=suspect(" + latency + ") path-loss=suspect(" + gap + ")?"},
		{"5.1 % of responses", func(o *Observation) { o.Path = &Path{Responses: 1000, Affected: 51, Received: 9000, OutOfOrder: 200} },
			"invalid path-loss=invalid(" + ttft + ") path-loss=invalid(" + latency + ") path-loss=invalid(" + gap + ")?"},

		// The machine is short of network.
		{"an interface is busy now and then", func(o *Observation) { o.Self.Network = &Network{Busy: 500 * msec, PortsShort: 500 * msec} }, "ok"},
		{"an interface is busy", func(o *Observation) { o.Self.Network = &Network{Busy: 600 * msec} },
			"suspect nic-busy=suspect(" + ttft + ") nic-busy=suspect(" + latency + ") nic-busy=suspect(" + gap + ")?"},
		{"short of ports all the time", func(o *Observation) { o.Self.Network = &Network{PortsShort: 10 * time.Second} },
			"suspect ports-short=suspect(" + ttft + ") ports-short=suspect(" + latency + ") ports-short=suspect(" + gap + ")?"},
		{"drops and a full table", func(o *Observation) {
			o.Self.Network = &Network{ReceiveDrops: new(int64(5)), Softnet: new(int64(6)), Conntrack: new(0.99)}
			o.Self.Governor = "powersave"
		}, "ok"},

		// Stamps of reads are as late as wake-ups.
		{"stamps of reads", read, "ok"},
		{"1.5 ms of a gap of 20 ms", func(o *Observation) { read(o); o.Self.Ticks = lags(0, 1900, 1500*time.Microsecond, 100) }, "ok tick-lag=suspect(" + gap + ")?"},
		{"12 ms of 200 ms", func(o *Observation) { read(o); o.Self.Ticks = lags(0, 1900, 12*msec, 100) }, "suspect tick-lag=suspect(" + ttft + ") tick-lag=invalid(" + gap + ")?"},
		{"12 ms of 10 s", func(o *Observation) {
			read(o)
			o.Load.TTFT, o.Load.Latency, o.Load.Gap = 10*time.Second, 60*time.Second, time.Second
			o.Self.Ticks = lags(0, 1900, 12*msec, 100)
		}, "ok"},
		{"80 ms of everything", func(o *Observation) { read(o); o.Self.Scheduler = lagsOf(80*msec, 5000) }, "invalid scheduler-latency=invalid(" + ttft + ") scheduler-latency=suspect(" + latency + ") scheduler-latency=invalid(" + gap + ")?"},
		{"one late tick is not a percentile", func(o *Observation) { read(o); o.Self.Ticks = lags(0, 2000, 50*msec, 1) }, "ok"},

		// Events that the kernel joined because they were not read.
		{"late reads joined events", func(o *Observation) {
			o.Self.Ticks = lags(0, 1900, 30*msec, 100)
			o.Load.Merged = 2000
		}, "ok tick-lag=invalid(" + gap + ")?"},
		{"late reads joined first events, too", func(o *Observation) {
			o.Self.Ticks = lags(0, 1900, 30*msec, 100)
			o.Load.Merged, o.Load.MergedFirst = 2000, 50
		}, "suspect tick-lag=suspect(" + ttft + ") tick-lag=invalid(" + gap + ")?"},
		{"too few for a percentile", func(o *Observation) {
			o.Self.Ticks = lags(0, 1900, 30*msec, 100)
			o.Load.Merged = 20
		}, "ok"},
		{"reads are late, but not by a gap: possibly the server joined them", func(o *Observation) {
			o.Self.Ticks = lags(0, 1900, 8*msec, 100)
			o.Load.Merged = 2000
		}, "ok tick-lag=suspect(" + gap + ")?"},
		{"the server sends three events at a time", func(o *Observation) {
			o.Self.Ticks = lags(0, 1900, 8*msec, 100)
			o.Load.Merged, o.Load.MergedFirst = 26000, 1000
		}, "ok"},
		{"an instant server in an open loop: two waits of the client enter corrected latencies", func(o *Observation) {
			open(o)
			o.Load.TTFT, o.Load.Latency, o.Load.Gap = 0, 200*time.Microsecond, 0
			o.Load.Schedule, o.Load.Send = lags(700*time.Microsecond, 1000), lags(700*time.Microsecond, 1000)
		}, "ok"},
		{"and these are longer", func(o *Observation) {
			open(o)
			o.Load.TTFT, o.Load.Latency, o.Load.Gap = 0, 200*time.Microsecond, 0
			o.Load.Schedule, o.Load.Send = lags(1500*time.Microsecond, 1000), lags(700*time.Microsecond, 1000)
		}, "suspect schedule-lag=suspect(corrected_" + latency + ")"},
		{"25 ms of seconds in a queue", func(o *Observation) {
			open(o)
			o.Load.TTFT, o.Load.Latency = 40*msec, 60*msec
			o.Load.CorrectedTTFT, o.Load.CorrectedLatency = 4413*msec, 4433*msec
			o.Load.Schedule = lags(0, 900, 25*msec, 100)
		}, "ok"},
		{"25 ms of 40 ms without a queue", func(o *Observation) {
			open(o)
			o.Load.TTFT, o.Load.Latency = 40*msec, 60*msec
			o.Load.CorrectedTTFT, o.Load.CorrectedLatency = 41*msec, 61*msec
			o.Load.Schedule = lags(0, 900, 25*msec, 100)
		}, "invalid schedule-lag=invalid(" + sooner + ") schedule-lag=invalid(" + later + ")"},
		{"the server sends all events at once", func(o *Observation) {
			o.Self.Ticks = lags(0, 1900, 8*msec, 100)
			o.Load.TTFT, o.Load.Latency, o.Load.Gap = 100*time.Microsecond, 200*time.Microsecond, time.Microsecond
			o.Load.Merged, o.Load.MergedFirst = 39000, 990
		}, "ok"},

		// Sending.
		{"written late", func(o *Observation) { o.Load.Send = lags(12*msec, 1000) }, "suspect send-lag=suspect(" + ttft + ")"},
		{"written very late: possibly the network", func(o *Observation) { o.Load.Send = lags(800*msec, 1000) }, "suspect send-lag=suspect(" + ttft + ") send-lag=suspect(" + latency + ")"},
		{"a request in a thousand", func(o *Observation) { o.Load.Send = lags(0, 999, 800*msec, 1) }, "ok"},

		// Due times.
		{"open loop, on time", open, "ok"},
		{"open loop, 30 ms late", func(o *Observation) { open(o); o.Load.Schedule = lags(30*msec, 1000) }, "suspect schedule-lag=suspect(" + sooner + ")"},
		{"open loop, 300 ms late", func(o *Observation) { open(o); o.Load.Schedule = lags(300*msec, 1000) }, "invalid schedule-lag=invalid(" + sooner + ") schedule-lag=invalid(" + later + ")"},
		{"open loop, 5 ms late to a server without service time", func(o *Observation) {
			few(o, 1000)
			open(o)
			o.Load.Latency, o.Load.Schedule = 0, lags(4*msec, 1000)
		}, "suspect schedule-lag=suspect(" + later + ")"},
		{"closed loop: late starts are a matter of throughput", func(o *Observation) { o.Load.Schedule = lags(60*msec, 1000) }, "ok"},

		// Load.
		{"rate not delivered", func(o *Observation) { open(o); o.Load.Delivered, o.Load.Late = 98, 200*msec }, "suspect rate-not-delivered=suspect(throughput)"},
		{"rate far from delivered", func(o *Observation) { open(o); o.Load.Delivered, o.Load.Late = 90, time.Second }, "invalid rate-not-delivered=invalid(throughput)"},
		{"two requests, 1 ms late", func(o *Observation) { few(o, 2); open(o); o.Load.Delivered, o.Load.Late = 90, msec }, "ok"},
		{"a concurrency limit held the rate back", func(o *Observation) { open(o); o.Load.Delivered, o.Load.Late, o.Load.Capped = 50, time.Minute, true }, "ok"},
		{"slots were empty", func(o *Observation) { o.Load.Lost, o.Load.Turnaround = 0.02, 20*msec }, "suspect concurrency-not-delivered=suspect(throughput)"},
		{"slots were mostly empty", func(o *Observation) { o.Load.Lost, o.Load.Turnaround = 0.71, 800*msec }, "invalid concurrency-not-delivered=invalid(throughput)"},
		{"a server without service time", func(o *Observation) { o.Load.Lost = 0.4 }, "ok"},

		// Few requests.
		{"one", func(o *Observation) { few(o, 1) }, "ok"},
		{"one, written late", func(o *Observation) { few(o, 1); o.Load.Send = lags(80*msec, 1) }, "suspect send-lag=suspect(" + latency + ")"},
		{"ten, the first 20 ms late", func(o *Observation) { few(o, 10); o.Load.Send = lags(0, 9, 20*msec, 1) }, "ok"},
		{"none", func(o *Observation) { o.Load = Load{} }, "ok"},
		{"several", func(o *Observation) {
			o.Load.Send = lags(12*msec, 1000)
			o.Load.Lost, o.Load.Turnaround = 0.1, 100*msec
		}, "invalid concurrency-not-delivered=invalid(throughput) send-lag=suspect(" + ttft + ")"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := calm()
			tt.change(o)
			r := Judge(o)
			got := string(r.Verdict)
			for _, reason := range r.Reasons {
				got += fmt.Sprintf(" %s=%s(%s)", reason.Code, reason.Level, strings.Join(reason.Concerns, ","))
				if reason.Unreported {
					got += "?"
				}
				if reason.Phase != "profiling" || reason.Message == "" || reason.Value <= reason.Limit || reason.Metric == "" {
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

func TestMessages(t *testing.T) {
	const late = "the load generator was short of CPU: its timers fired late, and responses are timestamped when they are read"
	tests := map[string]struct {
		change       func(*Observation)
		want, remedy string
	}{
		"stamps": {func(o *Observation) { read(o); o.Self.Ticks = lags(0, 1900, 80*msec, 100) },
			"time_to_first_token off by at most 80 ms for 99 % of requests (limit 10 ms), inter_chunk_latency off by at most 80 ms for 99 % of gaps (limit 1.0 ms): " + late + " (and 1 more)",
			"more CPU for the client, a lower load, or several clients"},
		"of thirty requests, p83 is judged": {func(o *Observation) { few(o, 30); o.Load.Send = lags(12*msec, 30); o.Load.Latency = 20 * msec },
			"request_latency possibly off, by at most 12 ms for 83 % of requests (limit 1.0 ms): requests were slow to send (socket writes)",
			"move the client closer to the server, or send shorter prompts"},
		"slots": {func(o *Observation) { o.Load.Lost, o.Load.Turnaround = 0.011, 80*msec },
			"throughput up to 1.1 % low: concurrency was below target 1.1 % of the time because the load generator fell behind",
			"more CPU for the client, a lower load, or several clients"},
		"rate": {func(o *Observation) { open(o); o.Load.Delivered, o.Load.Late = 90, time.Second },
			"throughput up to 10 % low: requests were sent late: 100/s were due and 90/s were sent",
			"more CPU for the client, a lower load, or several clients"},
		"other processes": {func(o *Observation) {
			o.Load.Lost, o.Load.Turnaround = 0.011, 80*msec
			o.Self.Machine.Crowded, o.Self.Machine.Others = 9*time.Second, 18*time.Second
		}, "throughput up to 1.1 % low: concurrency was below target 1.1 % of the time because the load generator fell behind; other processes used 1.80 of the 2 cores",
			"stop the other processes, or give the client a machine or cores of its own (taskset)"},
		"a quota": {func(o *Observation) {
			o.Load.Lost, o.Load.Turnaround, o.Self.Cgroup.Throttled = 0.011, 80*msec, 3*time.Second
		}, "throughput up to 1.1 % low: concurrency was below target 1.1 % of the time because the load generator fell behind; the control group throttled the client for 30 % of the time (quota 2 cores)",
			"raise the CPU limit of the container"},
		"the client itself": {func(o *Observation) {
			o.Load.Lost, o.Load.Turnaround, o.Self.CPU.Busy, o.Self.CPU.Used = 0.011, 80*msec, 9*time.Second, 19*time.Second
		}, "throughput up to 1.1 % low: concurrency was below target 1.1 % of the time because the load generator fell behind; the client itself used more than 80 % of its 2 cores for 90 % of the time",
			"a lower load, several clients, or a machine with more cores"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := calm()
			tt.change(o)
			r := Judge(o)
			if got := Why(r.Reasons); got != tt.want || r.Reasons[0].Remedy != tt.remedy {
				t.Errorf("got  %s; %s\nwant %s; %s", got, r.Reasons[0].Remedy, tt.want, tt.remedy)
			}
		})
	}
}

// Numbers with the same cause are in one sentence, and each has its own error.
func TestSentences(t *testing.T) {
	o := calm()
	few(o, 30)
	o.Load.TTFT, o.Load.Latency, o.Load.Gaps, o.Load.Gap = 20*msec, 100*msec, 1000, 5*msec
	read(o)
	o.Self.Ticks = lags(0, 1500, 8*msec, 500)
	o.Load.Lost, o.Load.Turnaround = 0.02, 20*msec
	r := Judge(o)
	const late = ": the load generator was short of CPU: its timers fired late, and responses are timestamped when they are read"
	const low = "throughput up to 2.0 % low: concurrency was below target 2.0 % of the time because the load generator fell behind"
	if diff := cmp.Diff([]string{
		"time_to_first_token off by at most 8.1 ms for 83 % of requests (limit 1.0 ms), inter_chunk_latency off by at most 8.0 ms for 99 % of gaps (limit 1.0 ms)" + late,
		"request_latency possibly off, by at most 8.1 ms for 83 % of requests (limit 5.0 ms)" + late, low,
	}, Sentences(r.Reasons)); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"TTFT off by at most 8.1 ms (short of CPU)", "latency possibly off, by at most 8.1 ms (short of CPU)",
		"throughput up to 2.0 % low (client fell behind)", "inter_chunk_latency off by at most 8.0 ms (short of CPU)",
	}, Brief(r.Reasons)); diff != "" {
		t.Errorf("brief (-want +got):\n%s", diff)
	}
	for tag, want := range map[string]Level{
		"time_to_first_token": Invalid, "adj_time_to_first_token": Invalid, "slo_attainment.time_to_first_token": Invalid,
		"prefill_throughput_per_user": Invalid, "request_latency": Suspect, "inter_token_latency": OK, "time_to_second_token": Invalid,
		"output_token_throughput": Suspect, "output_token_throughput_per_user": OK, "goodput": Invalid, "corrected_time_to_first_token": OK,
		"effective_decode_throughput": Suspect, "output_sequence_length": OK, "benchmark_duration": Suspect,
	} {
		if got := Of(r.Reasons, tag); got != want {
			t.Errorf("%s is %s, want %s", tag, got, want)
		}
	}
	for tag, want := range map[string]int{
		"time_to_first_token": 1, "request_throughput": -1, "prefill_throughput_per_user": -1, "inter_chunk_latency": 0, "time_to_second_token": 0, "unheard_of": 0,
	} {
		if got := Side(tag); got != want {
			t.Errorf("side of %s = %d, want %d", tag, got, want)
		}
	}
	earlier := []Reason{{Code: "tick-lag", Level: Invalid, Concerns: []string{"inter_chunk_latency"}, Message: "as it was"}}
	if got := Sentences(earlier); len(got) != 1 || got[0] != "as it was" {
		t.Errorf("of an earlier version: %q", got)
	}
}

// An objective makes a number one that the run reports.
func TestObjectiveDecides(t *testing.T) {
	for _, tt := range []struct {
		objectives []string
		want       Level
	}{{nil, OK}, {[]string{"request_latency"}, OK}, {[]string{"inter_chunk_latency"}, Suspect}, {[]string{"time_to_second_token"}, Suspect}} {
		o := calm()
		read(o)
		o.Self.Ticks = lags(0, 1900, 1500*time.Microsecond, 100)
		o.Objectives = tt.objectives
		if r := Judge(o); r.Verdict != tt.want || len(r.Reasons) != 1 {
			t.Errorf("objectives %v: %s with %d reasons, want %s", tt.objectives, r.Verdict, len(r.Reasons), tt.want)
		}
	}
}

func TestEvidence(t *testing.T) {
	tests := map[string]struct {
		change func(*Observation)
		want   string
	}{
		"tick-lag": {func(o *Observation) { o.Self.Ticks = lags(0, 1900, 8*msec, 100) },
			"the load generator was short of CPU: its timers fired up to 8.0 ms late (p99, limit 2.0 ms)"},
		"scheduler-latency": {func(o *Observation) { o.Self.Scheduler = lagsOf(3*msec, 5000) },
			"the load generator was short of CPU: goroutines waited up to 3.0 ms for a processor (p99, limit 2.0 ms)"},
		"gc-pause": {func(o *Observation) { o.Self.Pauses = lagsOf(20*msec, 5) },
			"garbage collection paused the load generator for up to 20 ms (p99, limit 2.0 ms)"},
		"receive-stamp-lag": {func(o *Observation) { o.Load.StampLag = lagsOf(30*msec, 1000) },
			"responses were processed up to 30 ms late (p99, limit 2.0 ms); latencies are unaffected (kernel timestamps), but the load generator is near its limit"},
		"cpu-share": {func(o *Observation) { o.Self.CPU.Busy = 600 * msec },
			"the load generator used more than 80 % of its 2 cores for 6 % of the time"},
		"machine-busy": {func(o *Observation) { o.Self.Machine.Crowded = 9 * time.Second },
			"the machine was less than 20 % idle for 90 % of the time; other processes used 0.30 of its 2 cores"},
		"steal": {func(o *Observation) { o.Self.Machine.Steal = 2 * time.Second },
			"the hypervisor gave 10 % of the processors to other machines"},
		"run-queue-wait": {func(o *Observation) { o.Self.RunQueue.Wait = 3 * time.Second },
			"threads of the load generator waited 0.3 ms for a processor on average (limit 0.2 ms)"},
		"cpu-throttled": {func(o *Observation) { o.Self.Cgroup.Throttled = 3 * time.Second },
			"the control group throttled the load generator for 30 % of the time (quota 2 cores)"},
	}
	for code, tt := range tests {
		t.Run(code, func(t *testing.T) {
			o := calm()
			tt.change(o)
			r := Judge(o)
			if len(r.Evidence) != 1 || r.Verdict != OK {
				t.Fatalf("%s, evidence %+v", r.Verdict, r.Evidence)
			}
			if s := r.Evidence[0]; s.Code != code || s.Message != tt.want || s.Phase != "profiling" || s.Value <= s.Limit || s.Share <= 0 || s.Share > 1 {
				t.Errorf("got  %+v\nwant %s", s, tt.want)
			}
		})
	}
	if r := Judge(calm()); len(r.Evidence) != 0 {
		t.Errorf("of a calm client: %+v", r.Evidence)
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
		{"events in one read have one stamp, even the kernel's: 5 to 10 in 100 values", func(o *Observation) {
			o.Load.Merged, o.Load.MergedFirst = 2000, 50
			o.Self.Ticks = lags(msec, 800, 4*msec, 200)
		}, map[string][2]float64{
			"time_to_first_token": {1, 12}, "request_latency": {1, 2}, "inter_chunk_latency": {0, 4},
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
	b.Load.Lost, b.Load.Turnaround = 0.5, time.Second
	c.Self.CPU.Busy = time.Second
	b.Load.Send = lags(30*msec, 100)
	one := Overall([]Report{Judge(a)})
	if one.Verdict != OK || one.Phases != nil || one.Phase != "a" {
		t.Errorf("of one: %s, phase %s, %d phases", one.Verdict, one.Phase, len(one.Phases))
	}
	all := Overall([]Report{Judge(a), Judge(b), Judge(c)})
	if all.Verdict != Invalid || all.Phase != "b" || len(all.Phases) != 3 || len(all.Reasons) != 2 || len(all.Evidence) != 1 {
		t.Errorf("of three: %s, phase %s, %d phases, reasons %+v", all.Verdict, all.Phase, len(all.Phases), all.Reasons)
	}
	if all.Bias[0].Metric != "time_to_first_token" || all.Bias[0].P99 != 30 {
		t.Errorf("bias of three: %+v", all.Bias)
	}
}

func TestLine(t *testing.T) {
	o := calm()
	want := "ok: TTFT off by at most 0.05 ms for 99 % of requests; CPU 0.20 of 2 cores"
	r := Judge(o)
	if got := r.Line(); got != want || Why(r.Reasons) != "" {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	few(o, 10)
	o.Load.Send = lags(80*msec, 10)
	o.Load.Lost, o.Load.Turnaround = 0.1, 100*msec
	want = "invalid: throughput up to 10 % low: concurrency was below target 10 % of the time because the load generator fell behind (and 1 more)" +
		"; CPU 0.20 of 2 cores"
	r = Judge(o)
	if got := r.Line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	none := Overall(nil)
	if got := none.Line(); got != "unknown" {
		t.Errorf("line of nothing: %s", got)
	}
	for x, want := range map[float64]string{0: "0", 0.00049: "0", 0.0123: "0.012", 9.94: "9.9", 12345: "12345"} {
		if got := view.Bound(x); got != want {
			t.Errorf("view.Bound(%v) = %s, want %s", x, got, want)
		}
	}
}

// An unknown value is null, and never a zero that looks like a measurement.
func TestReportNulls(t *testing.T) {
	r := Judge(&Observation{Phase: "p", Self: Self{Window: time.Second, Ticks: lags(0, 10)}})
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"scheduler_latency":null`, `"gc_pause":null`, `"schedule_lag":null`, `"receive_stamp_lag":null`, `"cpu":null`,
		`"rates":null`, `"rss_bytes":null`, `"reasons":[]`, `"evidence":[]`, `"bias":[]`, `"tick_lag":{"count":10,`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
}

// What happened to the network of the machine is evidence, figures of the report, and a reason in words.
func TestHostNetwork(t *testing.T) {
	o := calm()
	o.Self.Network = &Network{
		ReceiveDrops: new(int64(5)), Softnet: new(int64(0)), Busy: 2 * time.Second, Conntrack: new(0.91), Ports: 0.6,
		Interfaces: []Interface{{Name: "eth0", Speed: 125e6, Received: 0.83, Sent: 0.1}},
	}
	o.Self.Governor, o.Self.MHz = "powersave", 1200
	r := Judge(o)
	var got []string
	for _, s := range r.Evidence {
		got = append(got, s.Code+": "+s.Message)
	}
	want := []string{
		"receive-queue-drops: this machine dropped 5 segments because the programs that they were for did not read in time",
		"conntrack-full: 91 % of the kernel's table of tracked connections are in use (limit 80 %); if it is full, connections fail",
		"cpu-powersave: the processors of this machine save power (governor powersave): a client that is not busy runs slowly; " +
			"cpupower frequency-set -g performance",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	use := &Use{
		ReceiveDrops: new(int64(5)), Softnet: new(int64(0)), BusyShare: 0.2, PortsShare: new(0.6), Conntrack: new(0.91),
		Interfaces: []NICUse{{"eth0", 1000, 0.83, 0.1}},
	}
	if diff := cmp.Diff(use, r.Network); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if r.CPU.Governor != "powersave" || *r.CPU.MHz != 1200 {
		t.Errorf("processors %+v", r.CPU)
	}
	const line = "suspect: TTFT and latency possibly delayed (network interface busy); a faster network interface, or several clients"
	if got := r.Advice(); got != line {
		t.Errorf("advice %q, want %q", got, line)
	}
}
