package metric

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
)

func TestResultJSON(t *testing.T) {
	def, ok := catalogue.Lookup("adj_request_latency")
	if !ok {
		t.Fatal("Lookup(adj_request_latency) found nothing")
	}
	in := Result{Def: def, Count: 3, RelError: 0.003}
	in.Set(Avg, math.Inf(1))
	in.Set(Min, -1.5)
	in.Set(P50, 0.1)
	in.Set(P999, 1e-7)
	in.Set(Std, math.NaN())
	const want = `{"tag":"adj_request_latency","unit":"ms","count":3,"rel_error":0.003,` +
		`"stats":{"avg":"inf","min":-1.5,"p50":0.1,"p99_9":1e-07}}`
	got, err := json.Marshal(Results{in})
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "["+want+"]" {
		t.Errorf("Marshal = %s, want [%s]", got, want)
	}
	var out Results
	if err := json.Unmarshal(got, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Results{in}, out, cmp.AllowUnexported(Result{})); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if out[0].Def != def {
		t.Error("the definition read back is a copy")
	}
}

func TestResultJSONTags(t *testing.T) {
	for _, d := range catalogue.Defs() {
		in := Result{Def: &d, Count: 1}
		in.Set(Avg, 1)
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out Result
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		if *out.Def != d {
			t.Errorf("%s came back as %+v", d.Tag, *out.Def)
		}
	}
	var out Result
	if err := json.Unmarshal([]byte(`{"tag":"slo_attainment.request_latency","stats":{"avg":0.5}}`), &out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.Def.Header, "Request Latency (SLO attainment)"; got != want {
		t.Errorf("header of an objective = %q, want %q", got, want)
	}
	if err := json.Unmarshal([]byte(`{"tag":"from_the_future","unit":"ms","stats":{}}`), &out); err != nil {
		t.Fatal(err)
	}
	if got, want := *out.Def, (catalogue.Def{Tag: "from_the_future", Header: "from_the_future", Unit: "ms", Kind: catalogue.Derived, Origin: catalogue.Ours}); got != want {
		t.Errorf("unknown metric = %+v, want %+v", got, want)
	}
	for _, bad := range []string{`{}`, `[]`, `{"tag":"request_latency","stats":{"avg":"nan"}}`} {
		if err := json.Unmarshal([]byte(bad), &out); err == nil {
			t.Errorf("Unmarshal(%s) succeeded", bad)
		}
	}
	if _, err := json.Marshal(Result{}); err == nil {
		t.Error("a result without definition was encoded")
	}
}

// TestConfidenceJSON checks that what a sample supports survives being written.
func TestConfidenceJSON(t *testing.T) {
	set := observed(t, everything(), randomRecords(5, 40))
	in := set.Final(time.Second, bench.PhaseStats{Start: ms})
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out Results
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out, cmp.AllowUnexported(Result{}, Confidence{}), cmpopts.IgnoreFields(Confidence{}, "plausible")); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	c := Confidence{Effective: 12.5, Unsupported: []Stat{P1, P99}}
	c.set(0, Interval{1, 2})
	c.set(1, Interval{1, math.Inf(1)})
	c.set(2, Interval{0.5, 3})
	c.independent[2] = 7.5
	const want = `{"effective_sample_size":12.5,"intervals":{"avg":[1,2],"p90":[0.5,3]},"independent":{"p90":7.5},"unsupported":["p1","p99"]}`
	if got, err := json.Marshal(&c); err != nil || string(got) != want {
		t.Errorf("Marshal = %s, %v, want %s", got, err, want)
	}
	r := Result{Def: in[0].Def, Bin: ms}
	r.Set(Avg, 1)
	const binned = `{"tag":"time_to_first_token","unit":"ms","count":0,"bin_ns":1000000,"stats":{"avg":1}}`
	if got, err := json.Marshal(r); err != nil || string(got) != binned {
		t.Errorf("Marshal = %s, %v, want %s", got, err, binned)
	}
}
