package verdict

import (
	"fmt"
	"math"
	"time"

	"aiperfd/internal/view"
)

// Certificate bounds what this client adds to the latencies that it reports, measured
// with a reference server of its own, on one machine at one time. Times are in
// milliseconds. Both bounds hold together for 95 of 100 runs like the one that was
// measured.
type Certificate struct {
	At   time.Time `json:"measured_at"`
	When string    `json:"when,omitempty"` // before or after its run; empty = made without a run

	TTFTAdded       float64 `json:"ttft_p99_added_ms_max"`
	InterChunkAdded float64 `json:"inter_chunk_p99_added_ms_max"`

	Concurrency *int     `json:"concurrency"`                 // streams of a closed loop; null in an open one
	Asked       *int     `json:"asked_concurrency,omitempty"` // if more than could be measured
	Rate        *float64 `json:"request_rate"`                // requests per second of an open loop; null in a closed one
	Requests    int      `json:"requests"`                    // requests compared
	Events      int      `json:"events"`
	Window      float64  `json:"window_sec"`

	RequestBytes  int      `json:"request_bytes"`
	ChunkBytes    int      `json:"chunk_bytes"`
	ReferenceTTFT float64  `json:"reference_ttft_ms"` // nominal, as set on the reference server
	ReferenceITL  float64  `json:"reference_itl_ms"`
	StampSource   string   `json:"stamp_source"` // kernel, read, mixed
	Transport     string   `json:"transport"`    // event-loop or net/http
	UsedCores     *float64 `json:"used_cores"`   // client and server together; null = not exposed by the platform

	TTFT       Certified `json:"time_to_first_token"`
	InterChunk Certified `json:"inter_chunk_latency"`
	Send       *Lag      `json:"send_lag"`     // from the start of a request to its arrival at the server
	Receive    *Lag      `json:"receive_lag"`  // from the write of an event to its stamp
	Schedule   *Lag      `json:"schedule_lag"` // null in a closed loop
}

// Certified compares one metric with the truth.
type Certified struct {
	Count       int     `json:"count"`
	Effective   int     `json:"effective_sample_size"`
	TrueP99     float64 `json:"true_p99_ms"`
	ReportedP99 float64 `json:"reported_p99_ms"`
	ErrorP50    float64 `json:"error_p50_ms"` // of single values, upper bounds
	ErrorP99    float64 `json:"error_p99_ms"`
	ErrorMax    float64 `json:"error_max_ms"`
	Confidence  float64 `json:"confidence"` // of the bound, for any distribution of errors
	// Extrapolated is true if the confidence was too low, so that the bound was
	// enlarged by an assumption about the tail of the errors.
	Extrapolated bool `json:"extrapolated"`
}

// Line returns a summary in one line.
func (c *Certificate) Line() string {
	load := "no load"
	switch {
	case c.Rate != nil:
		load = fmt.Sprintf("%.4g requests/s", *c.Rate)
	case c.Concurrency != nil:
		load = fmt.Sprintf("%d streams", *c.Concurrency)
		if *c.Concurrency == 1 {
			load = "1 stream"
		}
		if c.Asked != nil {
			load += fmt.Sprintf(" (of %d)", *c.Asked)
		}
	}
	text := fmt.Sprintf("this client added at most %s ms to TTFT p99 and %s ms to inter-chunk p99 at %s, here and now",
		atMost(c.TTFTAdded), atMost(c.InterChunkAdded), load)
	if c.TTFT.Extrapolated || c.InterChunk.Extrapolated {
		text += " (extrapolated: few independent observations)"
	}
	return text
}

// atMost formats a bound, rounded up.
func atMost(x float64) string {
	switch {
	case x >= 10:
		return view.Bound(ceilTo(x, 1))
	case x >= 1:
		return view.Bound(ceilTo(x, 10))
	}
	return fmt.Sprintf("%.3g", ceilTo(x, 1000))
}

func ceilTo(x, parts float64) float64 { return max(0, math.Ceil(x*parts-1e-6)) / parts }
