// Package paths says how the network between the client and the servers behaved, from what the kernel counted of the
// connections of the load.
package paths

import (
	"fmt"
	"strings"

	"aiperfd/internal/view"
)

// Report is how the network behaved in a run.
type Report struct {
	Targets []Target `json:"targets"` // of the profiling phases together
	Phases  []Phase  `json:"phases"`  // in order
	// ToProxy means that the connections lead to a proxy: nothing is known of the path behind it.
	ToProxy bool `json:"to_proxy,omitempty"`
}

// Phase is how the network behaved in a phase.
type Phase struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Targets []Target `json:"targets"` // empty = nothing was counted
}

// Target is the path to one server. A ratio is absent if nothing was sent or received.
type Target struct {
	Target   string   `json:"target" example:"localhost:8000"`
	Readings int64    `json:"readings"` // of its connections
	MinRTT   *float64 `json:"min_rtt_ms,omitempty"`
	// SmoothedRTT is the mean of the kernel's smoothed round trips. It contains the server's delayed
	// acknowledgements, up to 40 ms.
	SmoothedRTT *float64 `json:"smoothed_rtt_ms,omitempty"`

	ToServer   ToServer   `json:"to_server"`
	FromServer FromServer `json:"from_server"`

	// Busy is how long data waited to be sent or acknowledged, over all connections. RwndLimited is the share of it
	// in which the server's receive window was full, and SndbufLimited that in which this host's send buffer was.
	Busy          float64  `json:"busy_ms"`
	RwndLimited   *float64 `json:"rwnd_limited_share,omitempty"`
	SndbufLimited *float64 `json:"sndbuf_limited_share,omitempty"`

	// Responses are those that had a connection of their own. Affected of them, at least, had a retransmission or
	// a segment out of order.
	Responses     int64    `json:"responses"`
	Affected      int64    `json:"affected"`
	AffectedShare *float64 `json:"affected_share,omitempty"`
}

// ToServer is what was sent.
type ToServer struct {
	Segments           int64    `json:"segments"`
	Retransmitted      int64    `json:"retransmitted"`
	RetransmittedRatio *float64 `json:"retransmitted_ratio,omitempty"`
	BytesRetransmitted int64    `json:"bytes_retransmitted"`
	Timeouts           int64    `json:"timeouts"` // of retransmission, each 200 ms at least
}

// FromServer is what was received. A segment that was lost on the way here makes those after it come out of order.
type FromServer struct {
	Segments        int64    `json:"segments"` // with data
	OutOfOrder      int64    `json:"out_of_order"`
	OutOfOrderRatio *float64 `json:"out_of_order_ratio,omitempty"`
	// Duplicates are acknowledgements of what the server had already: the first ones were lost.
	Duplicates int64 `json:"duplicate_acks"`
}

// Line is the paths in one line, such as "min RTT 0.21 ms; 0.1 % of segments sent again, 0 % received out of order".
func (r *Report) Line() string {
	var rtt *float64
	var sum Target
	for i := range r.Targets {
		t := &r.Targets[i]
		if t.MinRTT != nil && (rtt == nil || *t.MinRTT < *rtt) {
			rtt = t.MinRTT
		}
		sum.ToServer.Segments += t.ToServer.Segments
		sum.ToServer.Retransmitted += t.ToServer.Retransmitted
		sum.FromServer.Segments += t.FromServer.Segments
		sum.FromServer.OutOfOrder += t.FromServer.OutOfOrder
	}
	var parts []string
	if rtt != nil {
		what := "min RTT "
		if r.ToProxy {
			what = "min RTT to the proxy "
		}
		parts = append(parts, what+view.Figure(*rtt)+" ms")
	}
	if to, from := &sum.ToServer, &sum.FromServer; to.Segments > 0 && from.Segments > 0 {
		parts = append(parts, fmt.Sprintf("%s of segments sent again, %s received out of order",
			view.Percent(float64(to.Retransmitted)/float64(to.Segments)), view.Percent(float64(from.OutOfOrder)/float64(from.Segments))))
	}
	return strings.Join(parts, "; ")
}
