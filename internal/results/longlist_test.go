package results

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
)

// A line has at most export.MaxListed content events and says how many it lacks. What is computed
// from such a line again is right or absent.
func TestLongLists(t *testing.T) {
	long := func(n int) *bench.Record {
		r := streamed(7, n)
		r.OutputTokens = new(bench.Tokens(n))
		return r
	}
	values := func(r *bench.Record) (one map[string]float64, lists map[string]int) {
		one, lists = map[string]float64{}, map[string]int{}
		o := testOptions()
		m := measure.NewRecordMetrics(&o.Metrics)
		m.Load(r)
		m.Values(func(d *catalogue.Def, v float64) { one[d.Tag] = v })
		m.Lists(func(d *catalogue.Def, v []float64) { lists[d.Tag] = len(v) })
		return one, lists
	}
	for _, tt := range []struct {
		name    string
		events  int
		leftOut string
	}{
		{"as many as there may be", export.MaxListed, ""},
		{"more", export.MaxListed + 1000, `"left_out":{"inter_chunk_latency":132071,"inter_token_gap":132071,"tokens_per_chunk":132072,"chunks":1000}`},
		{"twice as many", 2 * export.MaxListed, `"chunks":131072}`},
	} {
		r := long(tt.events)
		line := written(t, testOptions(), r)
		if most := 8 << 20; len(line) > most {
			t.Errorf("%s: the line has %d bytes, want %d at most", tt.name, len(line), most)
		}
		if at := bytes.Index(line, []byte(`"left_out"`)); tt.leftOut == "" && at >= 0 || !bytes.Contains(line, []byte(tt.leftOut)) {
			t.Errorf("%s: left out %.200s, want %s", tt.name, line[max(0, at):], tt.leftOut)
		}
		log := measuredOf(t, t.TempDir(), line)
		for got, err := range log.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			cut := int64(max(0, tt.events-export.MaxListed))
			events := got.Answer.Chunks
			if got.Answer.LeftOut != cut || len(events) != min(tt.events, export.MaxListed) || events[len(events)-1] != r.Answer.Chunks[tt.events-1] {
				t.Errorf("%s: %d left out, %d events, the last %+v", tt.name, got.Answer.LeftOut, len(events), events[len(events)-1])
			}
			before, listsBefore := values(r)
			after, listsAfter := values(got)
			if cut > 0 {
				maps.DeleteFunc(before, func(tag string, _ float64) bool { _, ok := after[tag]; return !ok })
				listsBefore = map[string]int{}
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s: values (-want +got):\n%s", tt.name, diff)
			}
			if diff := cmp.Diff(listsBefore, listsAfter); diff != "" {
				t.Errorf("%s: lists (-want +got):\n%s", tt.name, diff)
			}
			for _, tag := range []string{"time_to_first_token", "request_latency", "output_sequence_length"} {
				if _, ok := after[tag]; !ok {
					t.Errorf("%s: no %s", tt.name, tag)
				}
			}
			if _, ok := after["inter_token_latency"]; ok != (cut == 0) {
				t.Errorf("%s: inter-token latency: %v", tt.name, ok)
			}
			if !got.OK() {
				t.Errorf("%s: the request counts as an error", tt.name)
			}
		}
		if want := min(1, max(0, tt.events-export.MaxListed)); log.LeftOut != want {
			t.Errorf("%s: %d records lack events, want %d", tt.name, log.LeftOut, want)
		}
	}
	short := string(written(t, testOptions(), long(export.MaxListed+1), long(3)))
	if _, second, _ := strings.Cut(short, "\n"); strings.Contains(second, "left_out") {
		t.Errorf("the line after a long one: %s", second)
	}
}
