//go:build linux

package main

import (
	"math"
	"time"
)

// scenario is one load with its limits.
type scenario struct {
	name  string
	about string

	reference reference
	streams   int // connections, or the cap of an open loop; 0 = no cap
	tokens    int // of an answer
	requests  int // measured ones
	warmup    int // requests of aiperfd before them; 0 = none
	plain     bool
	ttft      time.Duration
	itl       time.Duration

	mock   []string // further flags of the simulated server
	https  bool
	hosts  int  // addresses of the server, each with ports of its own; 0 = one
	rate   int  // requests per second of an open loop; 0 = closed
	chunks bool // record the truth of every event
	growth bool // measure memory beside that of a run of ten requests, and no truths
	rounds int  // 0 = by the command line
	checks []check
}

// reference is what aiperfd is measured beside.
type reference int

const (
	noReference   reference = iota
	rawReference            // the raw client of benchmarks/epoll
	httpReference           // aiperfd itself, by http instead of https
)

// check is a line of the table: a measure, and perhaps a limit of it.
type check struct {
	what    string
	measure string  // name of the measure
	ratio   bool    // limits the ratio to the measure of the reference; else the measure itself
	atLeast bool    // the limit is the least value; else the largest
	limit   float64 // NaN = none
	unit    string  // of the limit
}

// responseExtras is how many events a streamed answer has besides its tokens:
// finish, usage and [DONE].
const responseExtras = 3

// shown has no limit.
func shown(what, measure string) check { return check{what: what, measure: measure, limit: math.NaN()} }

func atMost(what, measure string, limit float64, unit string) check {
	return check{what: what, measure: measure, limit: limit, unit: unit}
}

// ratioAtMost limits a multiple of the measure of the reference.
func ratioAtMost(what, measure string, limit float64) check {
	return check{what: what, measure: measure, ratio: true, limit: limit, unit: "×"}
}

// cpuAtMost limits the CPU time per event.
func cpuAtMost(limit float64) check { return ratioAtMost("CPU per event (µs)", cpuPerEvent, limit) }

// rateAtLeast requires a share of the requests per second of the reference.
func rateAtLeast(limit float64) check {
	return check{what: "requests/s", measure: requestRate, ratio: true, atLeast: true, limit: limit, unit: "×"}
}

// memoryAtMost limits the peak of the resident memory.
func memoryAtMost(limit float64) check { return atMost("memory (MB)", memory, limit, "MB") }

// p99ErrorAtMost limits the difference between the p99 of TTFT and the server's.
func p99ErrorAtMost(limit float64) check {
	return atMost("error of TTFT p99 (ms)", ttftP99Error, limit, "ms")
}

// fast has no delays; bursts writes each answer at once.
func fast() []string   { return []string{"--fast"} }
func bursts() []string { return append(fast(), "--coalesce", "100000") }

// scenarios lists all loads in the order in which they run. Loads of rates last so long
// that the start and the end of a run have little weight. If a thousand or more answers
// end at once, the time to the first token is so long that all following requests have
// arrived before: two cores that accept requests and stream at the same time are late with
// both, and the measurement would be that of the server's queue.
func scenarios() []scenario {
	return []scenario{
		{name: "start-10", about: "start of the program: ten requests, one after the other",
			reference: rawReference, plain: true,
			streams: 1, tokens: 4, requests: 10, mock: fast(), rounds: 7,
			checks: []check{
				atMost("first request after (ms)", firstRequest, 15, "ms"),
				atMost("CPU (ms)", cpuOfRun, 30, "ms"),
			}},
		{name: "stream-64", about: "64 streams, an event each 2 ms in its own segment", reference: rawReference,
			streams: 64, tokens: 100, requests: 6400, warmup: 64,
			ttft: 5 * time.Millisecond, itl: 2 * time.Millisecond,
			checks: []check{cpuAtMost(1.5)}},
		{name: "streams-1000", about: "1,000 streams at 50 events/s each, the first wave included, TTFT 200 ms",
			reference: rawReference,
			streams:   1000, tokens: 50, requests: 20_000,
			ttft: 200 * time.Millisecond, itl: 20 * time.Millisecond,
			checks: []check{cpuAtMost(1.4), rateAtLeast(0.99), p99ErrorAtMost(0.05)}},
		{name: "streams-5000", about: "5,000 streams at 10 events/s each, TTFT 2 s", reference: rawReference,
			streams: 5000, tokens: 100, requests: 10_000, warmup: 5000,
			ttft: 2 * time.Second, itl: 100 * time.Millisecond,
			checks: []check{shown("CPU per event (µs)", cpuPerEvent), p99ErrorAtMost(0.05), memoryAtMost(100)}},
		{name: "burst-64", about: "64 streams, a whole answer of 200 events in one write", reference: rawReference,
			streams: 64, tokens: 200 - responseExtras, requests: 40_000, warmup: 64, mock: bursts(),
			checks: []check{cpuAtMost(4)}},
		{name: "plain-64", about: "closed loop of 64, not streamed, a server without delays",
			reference: rawReference, plain: true, streams: 64, tokens: 16, requests: 60_000, warmup: 64, mock: fast(),
			checks: []check{rateAtLeast(0.45), shown("CPU per request (µs)", cpuPerRequest)}},
		{name: "open-2000", about: "open loop, Poisson, 2,000 req/s for 30 s, streams of 4 tokens",
			reference: rawReference, rate: 2000, tokens: 4, requests: 60_000, warmup: 100,
			ttft: time.Millisecond, itl: time.Millisecond,
			checks: []check{
				ratioAtMost("CPU per request (µs)", cpuPerRequest, 2.2),
				atMost("schedule lag p50 (ms)", lagP50, 0.02, "ms"),
				atMost("schedule lag p99 (ms)", lagP99, 1, "ms"),
				atMost("rate achieved against asked (%)", rateError, 0.5, "%"),
			}},
		{name: "requests-100k", about: "100,000 requests, streams of 16 tokens in one write, 64 at a time",
			reference: rawReference,
			streams:   64, tokens: 16, requests: 100_000, mock: bursts(),
			checks: []check{rateAtLeast(0.5), shown("memory (MB)", memory)}},
		{name: "requests-1M", about: "1,000,000 requests, not streamed, 64 at a time; memory beside ten requests",
			plain: true, growth: true,
			streams: 64, tokens: 4, requests: 1_000_000, mock: fast(), rounds: 1,
			checks: []check{shown("requests/s", requestRate), shown("memory (MB)", memory),
				atMost("memory above ten requests (MB)", memoryGrowth, 64, "MB")}},
		{name: "https-300", about: "300 streams at 50 events/s each by https, beside http, the first wave included",
			reference: httpReference, https: true,
			streams: 300, tokens: 50, requests: 6000,
			ttft: 200 * time.Millisecond, itl: 20 * time.Millisecond,
			checks: []check{cpuAtMost(1.3), shown("TTFT p50 (ms)", ttftP50), shown("TTFT p99 (ms)", ttftP99),
				p99ErrorAtMost(0.3)}},
		{name: "https-1000", about: "1,000 streams at 20 events/s each by https, beside http, connections open",
			reference: httpReference, https: true,
			streams: 1000, tokens: 50, requests: 8000, warmup: 1000,
			ttft: 500 * time.Millisecond, itl: 50 * time.Millisecond,
			checks: []check{cpuAtMost(1.3), shown("TTFT p50 (ms)", ttftP50), shown("TTFT p99 (ms)", ttftP99),
				p99ErrorAtMost(0.05)}},
		{name: "users-200", about: "200 users at 50 tokens/s", chunks: true,
			streams: 200, tokens: 50, requests: 6000, warmup: 200,
			ttft: 100 * time.Millisecond, itl: 20 * time.Millisecond,
			checks: []check{
				atMost("error of TTFT avg (%)", ttftAvgErrorShare, 1, "%"),
				atMost("error of TTFT p99 (%)", ttftP99ErrorShare, 3, "%"),
				atMost("inter-chunk p99 / truth", icP99Ratio, 1.15, "×"),
				atMost("throughput against c/latency (%)", throughputError, 0.5, "%"),
				atMost("CPU (cores)", cores, 0.25, "cores"),
			}},
		{name: "streams-50000", about: "50,000 streams at 1 event/s each for 60 s to two addresses, TTFT 10 s",
			reference: rawReference,
			streams:   50_000, hosts: 2, tokens: 50, requests: 50_000,
			ttft: 10 * time.Second, itl: time.Second, rounds: 1,
			checks: []check{shown("CPU per event (µs)", cpuPerEvent), atMost("requests that failed", failures, 0, ""),
				p99ErrorAtMost(0.1), memoryAtMost(700)}},
	}
}

// Names of measures in the rows.
const (
	cpuPerEvent       = "cpu_us_per_event"
	cpuPerRequest     = "cpu_us_per_request"
	cpuOfRun          = "cpu_ms"
	cores             = "cpu_cores"
	requestRate       = "requests_per_s"
	eventRate         = "events_per_s"
	firstRequest      = "first_request_ms" // from the start of the program to its first request at the server
	memory            = "memory_mb"
	memoryGrowth      = "memory_growth_mb"
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
	lagP50            = "schedule_lag_p50_ms"
	lagP99            = "schedule_lag_p99_ms"
	mockCPUPerEvent   = "mock_cpu_us_per_event"
	mockLateP99       = "mock_late_p99_ms"
	loadBefore        = "load_before" // load average of the last minute
	wakeP99           = "wake_p99_ms" // how late the idle machine wakes a thread
)

// isCost reports whether a measure says what a load costs, so that two versions can be
// compared by their ratio. Errors are no costs: that of the better of two that are both
// far below their limit is chance.
func isCost(measure string) bool {
	switch measure {
	case cpuPerEvent, cpuPerRequest, cpuOfRun, cores, requestRate, firstRequest, memory, memoryGrowth:
		return true
	}
	return false
}
