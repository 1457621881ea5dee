package metric

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

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
