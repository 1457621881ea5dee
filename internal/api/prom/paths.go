package prom

import (
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/run"
)

// paths emits how the network behaved in the newest phase.
func (e *emitter) paths(r *run.Run, report *paths.Report) {
	if len(report.Phases) == 0 {
		return
	}
	labels := []string{"run_id", "phase", "target"}
	rtt := family("aiperf_path_min_rtt_seconds", "Shortest round trip to the server in the newest phase, as the kernel measured it.", labels...)
	lost := family("aiperf_path_retransmitted_ratio", "Share of the segments of the newest phase that were sent again "+
		"(to_server), or came after a gap (from_server).", append(labels, "direction")...)
	affected := family("aiperf_path_affected_ratio",
		"Share of the responses of the newest phase with a retransmission or a segment out of order, at least.", labels...)
	newest := &report.Phases[len(report.Phases)-1]
	for i := range newest.Targets {
		t := &newest.Targets[i]
		of := []string{r.ID, newest.Name, t.Target}
		if t.MinRTT != nil {
			const ms = 1e-3
			e.gauge(rtt, *t.MinRTT*ms, of...)
		}
		if v := t.ToServer.RetransmittedRatio; v != nil {
			e.gauge(lost, *v, append(of, "to_server")...)
		}
		if v := t.FromServer.OutOfOrderRatio; v != nil {
			e.gauge(lost, *v, append(of, "from_server")...)
		}
		if v := t.AffectedShare; v != nil {
			e.gauge(affected, *v, of...)
		}
	}
}
