//go:build linux

package main

import "time"

// scenario is one load with its limits.
type scenario struct {
	name  string
	about string

	streams  int // connections, or the cap of an open loop; 0 = no cap
	tokens   int // of an answer
	requests int // measured ones
	warmup   int // requests of aiperfd before them; 0 = none
	plain    bool
	ttft     time.Duration
	itl      time.Duration

	mock   []string // further flags of the simulated server
	raw    bool     // the raw client runs as well
	rate   int      // requests per second of an open loop; 0 = closed
	chunks bool     // record the truth of every event
	rounds int      // 0 = by the command line
	checks []check
}

// check compares one measure with its limit.
type check struct {
	what    string
	measure string // name of the measure
	ratio   bool   // limits the ratio to the raw client's measure; else the measure itself
	atLeast bool   // the limit is the least value; else the largest
	limit   float64
	unit    string
}

// responseExtras is how many events a streamed answer has besides its tokens:
// finish, usage and [DONE].
const responseExtras = 3

func atMost(what, measure string, limit float64, unit string) check {
	return check{what: what, measure: measure, limit: limit, unit: unit}
}

// cpuAtMost limits the CPU time per event, as a multiple of the raw client's.
func cpuAtMost(limit float64) check {
	return check{what: "CPU per event", measure: cpuPerEvent, ratio: true, limit: limit, unit: "×"}
}

// rateAtLeast requires a share of the raw client's requests per second.
func rateAtLeast(limit float64) check {
	return check{what: "requests/s", measure: requestRate, ratio: true, atLeast: true, limit: limit, unit: "×"}
}

// scenarios lists all loads in the order in which they run. They last so long that the
// start and the end of a run have little weight. If a thousand or more answers end at
// once, the time to the first token is so long that all following requests have arrived
// before: two cores that accept requests and stream at the same time are late with both,
// and the measurement would be that of the server's queue.
func scenarios() []scenario {
	fast := []string{"--fast"}
	bursts := []string{"--fast", "--coalesce", "100000"}
	return []scenario{
		{name: "stream-64", about: "64 streams, an event each 2 ms in its own segment", raw: true,
			streams: 64, tokens: 100, requests: 12_800, warmup: 64, ttft: 5 * time.Millisecond, itl: 2 * time.Millisecond,
			checks: []check{cpuAtMost(1.5)}},
		{name: "stream-256", about: "256 streams, an event each 5 ms in its own segment", raw: true,
			streams: 256, tokens: 100, requests: 12_800, warmup: 256, ttft: 5 * time.Millisecond, itl: 5 * time.Millisecond,
			checks: []check{cpuAtMost(1.5)}},
		{name: "burst-64", about: "64 streams, a whole answer of 100 events in one write", raw: true,
			streams: 64, tokens: 100, requests: 60_000, warmup: 64, mock: bursts,
			checks: []check{cpuAtMost(5)}},
		{name: "streams-1000", about: "1,000 streams at 50 events/s each, TTFT 200 ms", raw: true,
			streams: 1000, tokens: 50, requests: 20_000, warmup: 1000, ttft: 200 * time.Millisecond, itl: 20 * time.Millisecond,
			checks: []check{
				rateAtLeast(0.99),
				cpuAtMost(1.4),
				atMost("error of TTFT p99", ttftP99Error, 0.05, "ms"),
			}},
		{name: "wave-1000", about: "the first request of 1,000 new streams, TTFT 200 ms", rounds: 5,
			streams: 1000, tokens: 20, requests: 1000, ttft: 200 * time.Millisecond, itl: 20 * time.Millisecond,
			checks: []check{atMost("error of TTFT p99", ttftP99Error, 0.5, "ms")}},
		{name: "plain-64", about: "closed loop of 64, not streamed, a server without delays", raw: true, plain: true,
			streams: 64, tokens: 16, requests: 60_000, warmup: 64, mock: fast,
			checks: []check{rateAtLeast(0.4)}},
		{name: "users-200", about: "200 users at 50 tokens/s", chunks: true,
			streams: 200, tokens: 50, requests: 6000, warmup: 200, ttft: 100 * time.Millisecond, itl: 20 * time.Millisecond,
			checks: []check{
				atMost("error of TTFT avg", ttftAvgErrorShare, 1, "%"),
				atMost("error of TTFT p99", ttftP99ErrorShare, 3, "%"),
				atMost("inter-chunk p99 / truth", icP99Ratio, 1.15, "×"),
				atMost("throughput against c/latency", throughputError, 0.5, "%"),
				atMost("CPU", cores, 0.25, "cores"),
			}},
		{name: "open-2000", about: "open loop, Poisson, 2,000 req/s for 30 s, short answers", raw: true, plain: true, rate: 2000,
			tokens: 4, requests: 60_000, warmup: 100, ttft: time.Millisecond,
			checks: []check{
				atMost("rate achieved against asked", rateError, 0.5, "%"),
				atMost("schedule lag p99", lagP99, 1, "ms"),
			}},
		{name: "streams-10000", about: "10,000 streams at 10 events/s each for 60 s, TTFT 2 s", raw: true, rounds: 1,
			streams: 10_000, tokens: 300, requests: 20_000, warmup: 10_000, ttft: 2 * time.Second, itl: 100 * time.Millisecond,
			checks: []check{
				rateAtLeast(0.99),
				atMost("requests that failed", failures, 0, ""),
				atMost("error of TTFT p99", ttftP99Error, 0.1, "ms"),
				atMost("resident memory", rss, 400, "MiB"),
			}},
	}
}

// Names of measures in the rows.
const (
	cpuPerEvent       = "cpu_us_per_event"
	cores             = "cpu_cores"
	requestRate       = "requests_per_s"
	eventRate         = "events_per_s"
	rss               = "rss_mib"
	failures          = "failed"
	ttftAvg           = "ttft_avg_ms"
	ttftP50           = "ttft_p50_ms"
	ttftP99           = "ttft_p99_ms"
	truthTTFTAvg      = "truth_ttft_avg_ms"
	truthTTFTP50      = "truth_ttft_p50_ms"
	truthTTFTP99      = "truth_ttft_p99_ms"
	ttftP99Error      = "ttft_p99_error_ms"
	ttftAvgErrorShare = "ttft_avg_error_percent"
	ttftP99ErrorShare = "ttft_p99_error_percent"
	ttftEachP99       = "ttft_each_error_p99_ms"
	icP99             = "inter_chunk_p99_ms"
	truthICP99        = "truth_inter_chunk_p99_ms"
	icP99Ratio        = "inter_chunk_p99_ratio"
	throughputError   = "throughput_error_percent"
	rateError         = "rate_error_percent"
	lagP99            = "schedule_lag_p99_ms"
	mockCPUPerEvent   = "mock_cpu_us_per_event"
	mockLateP99       = "mock_late_p99_ms"
	loadBefore        = "load_before" // load average of the last minute
	wakeP99           = "wake_p99_ms" // how late the idle machine wakes a thread
)
