package report

import (
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/view"
)

// network returns how the network to each server behaved in the profiling phases. r may be nil.
func network(r *paths.Report) table {
	if r == nil {
		return table{}
	}
	title := "Network"
	if r.ToProxy {
		title = "Network, as far as the proxy"
	}
	t := newTable(title, []string{"Server"},
		"min RTT ms", "sent again", "received out of order", "timeouts", "responses affected")
	share := func(v *float64) string {
		if v == nil {
			return view.Absent
		}
		return view.Percent(*v)
	}
	for i := range r.Targets {
		p := &r.Targets[i]
		t.Rows = append(t.Rows, []string{
			p.Target, view.FigureOr(p.MinRTT, view.Absent), share(p.ToServer.RetransmittedRatio),
			share(p.FromServer.OutOfOrderRatio), view.Whole(p.ToServer.Timeouts), share(p.AffectedShare),
		})
	}
	return t
}
