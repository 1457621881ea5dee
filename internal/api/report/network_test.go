package report

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/telemetry/paths"
)

// TestNetwork compares the section about the network with what it should be; a value that is not known is absent.
func TestNetwork(t *testing.T) {
	r := &paths.Report{ToProxy: true, Targets: []paths.Target{
		{
			Target: "a:8000", MinRTT: new(0.21), ToServer: paths.ToServer{Timeouts: 1200, RetransmittedRatio: new(0.021)},
			FromServer: paths.FromServer{OutOfOrderRatio: new(0.0)}, AffectedShare: new(0.125),
		},
		{Target: "b:8000"},
	}}
	got := (&text{Tables: []table{network(r)}}).markdown()
	for _, want := range []string{
		"**Network, as far as the proxy**", "| Server | min RTT ms | sent again | received out of order | timeouts | responses affected |",
		"| a:8000 | 0.21 | 2.1 % | 0 % | 1,200 | 12.5 % |", "| b:8000 | – | – | – | 0 | – |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if got := network(nil); len(got.Rows) > 0 {
		t.Errorf("without a path: %v", got)
	}
}
