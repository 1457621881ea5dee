package export

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// trial returns a run with a throughput and latencies.
func trial(n int, rate, p99 float64) cell.Trial {
	samples := []float64{p99 / 4, p99 / 2, p99}
	return cell.Trial{
		RunID: fmt.Sprintf("%032x", n), Label: fmt.Sprintf("run_%04d", n), Client: "ok",
		Metrics: []cell.Metric{
			{Tag: "request_throughput", Unit: "requests/sec", Stats: map[string]float64{"avg": rate}, Margins: map[string]float64{"avg": 1}},
			{Tag: "request_latency", Unit: "ms", Stats: map[string]float64{"avg": p99 / 2, "p99": p99}},
		},
		Samples: func(tag string) ([]float64, bool) { return samples, tag == "request_latency" },
	}
}

func report(s *sweep.Block, trials int) *Report {
	r := &Report{
		Run:   &run.Run{ID: "p", Models: []string{"m"}, Origin: run.Origin{Version: "v"}},
		Study: &config.Study{Sweep: s, MultiRun: sweep.MultiRun{NumRuns: trials, ConfidenceLevel: 0.95, CooldownSeconds: 2}, Seed: 42},
	}
	for i := range 3 {
		values := []vary.Assignment{{Path: "phases.profiling.concurrency", Value: json.Number(fmt.Sprint(1 << i))}}
		o := cell.Outcome{Variation: vary.Variation{Index: i, Label: sweep.Label(values), Folder: sweep.Folder(values), Values: values}}
		if s == nil {
			o.Variation = vary.Variation{Label: "base"}
		}
		for n := range trials {
			o.Trials = append(o.Trials, trial(10*i+n+1, float64(10*(i+1)+n), float64(20*(i+1)*(i+1)+n)))
		}
		if i == 1 {
			o.Trials = append(o.Trials, cell.Trial{RunID: "f", Label: "run_0009", Failure: "not one request succeeded"})
		}
		r.Outcomes = append(r.Outcomes, o)
		if s == nil {
			break
		}
	}
	return r
}

// The files of studies, as a whole.
func TestWrite(t *testing.T) {
	grid := func(order string) *sweep.Block {
		return &sweep.Block{Type: sweep.Grid, IterationOrder: order, SLAFilters: []sweep.Filter{{MetricTag: "request_latency", Stat: "p99", Op: "lt", Threshold: 100}}}
	}
	for name, r := range map[string]*Report{
		"repeats": report(nil, 3), "sweep": report(grid(sweep.Repeated), 1),
		"repeated": report(grid(sweep.Repeated), 2), "independent": report(grid(sweep.Independent), 2),
	} {
		dir := t.TempDir()
		if err := Write(dir, r); err != nil {
			t.Fatal(err)
		}
		if err := Write(dir, r); err != nil { // again, as a study that was interrupted while it wrote
			t.Fatal(err)
		}
		var got strings.Builder
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			short := strings.TrimPrefix(path, dir+"/")
			if d.Type()&fs.ModeSymlink != 0 {
				to, err := os.Readlink(path)
				fmt.Fprintf(&got, "== %s -> %s\n", short, to)
				return err
			}
			data, err := os.ReadFile(path)
			if strings.HasSuffix(path, ".json") && !json.Valid(data) {
				t.Errorf("%s: %s is no JSON", name, short)
			}
			fmt.Fprintf(&got, "== %s\n", short)
			if name == "repeats" || strings.Contains(short, "sweep_aggregate") && name == "sweep" || name == "repeated" && strings.HasSuffix(short, "aggregate.csv") {
				got.Write(data)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// The metrics of a sweep have one shape, however often a variation was performed.
func TestOneShape(t *testing.T) {
	shape := func(trials int) (out []string) {
		var file struct {
			Combinations []struct{ Metrics map[string]map[string]any } `json:"per_combination_metrics"`
		}
		data, err := sweepJSON(report(&sweep.Block{Type: sweep.Grid}, trials))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		for _, c := range file.Combinations {
			for tag, m := range c.Metrics {
				if _, ok := m["mean"]; ok && m["unit"] != "" {
					out = append(out, tag)
				}
			}
		}
		return out
	}
	if one, three := len(shape(1)), len(shape(3)); one != 9 || one != three {
		t.Errorf("%d statistics of one run each, %d of three", one, three)
	}
}

// TestAggregateMetadata: the aggregate of a variation names the order of the runs and the
// model, the varied one if the sweep varies it.
func TestAggregateMetadata(t *testing.T) {
	r := report(&sweep.Block{Type: sweep.Sobol}, 2)
	r.Outcomes[1].Values = append(r.Outcomes[1].Values, vary.Assignment{Path: "models.items.0.name", Value: "other"})
	for i, want := range []string{"m", "other", "m"} {
		data, err := aggregateJSON(r, &r.Cells()[i])
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Metadata struct {
				Mode  string `json:"sweep_mode"`
				Model string `json:"model"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		if file.Metadata.Mode != "repeated" || file.Metadata.Model != want {
			t.Errorf("variation %d: mode %q, model %q; want repeated, %q", i, file.Metadata.Mode, file.Metadata.Model, want)
		}
	}
}
