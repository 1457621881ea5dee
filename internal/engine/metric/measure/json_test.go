package measure

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
)

// TestConfidenceJSON checks that what a sample supports survives being written.
func TestConfidenceJSON(t *testing.T) {
	set := observed(t, everything(), randomRecords(5, 40))
	in := set.Final(time.Second, bench.PhaseStats{Start: ms})
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out metric.Results
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out, cmp.AllowUnexported(metric.Result{}, metric.Confidence{}), cmpopts.IgnoreFields(metric.Confidence{}, "plausible")); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	c := metric.Confidence{Effective: 12.5, Unsupported: []metric.Stat{metric.P1, metric.P99}}
	c.SetInterval(metric.Avg, metric.Interval{Low: 1, High: 2})
	c.SetInterval(metric.P50, metric.Interval{Low: 1, High: math.Inf(1)})
	c.SetInterval(metric.P90, metric.Interval{Low: 0.5, High: 3})
	c.SetIndependent(metric.P90, 7.5)
	const want = `{"effective_sample_size":12.5,"intervals":{"avg":[1,2],"p90":[0.5,3]},"independent":{"p90":7.5},"unsupported":["p1","p99"]}`
	if got, err := json.Marshal(&c); err != nil || string(got) != want {
		t.Errorf("Marshal = %s, %v, want %s", got, err, want)
	}
	r := metric.Result{Def: in[0].Def, Bin: ms}
	r.Set(metric.Avg, 1)
	const binned = `{"tag":"time_to_first_token","unit":"ms","count":0,"bin_ns":1000000,"stats":{"avg":1}}`
	if got, err := json.Marshal(r); err != nil || string(got) != binned {
		t.Errorf("Marshal = %s, %v, want %s", got, err, binned)
	}
}
