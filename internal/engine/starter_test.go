package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
)

// TestStarters runs every document that `aiperfd config init` writes, with its load cut
// short, against the simulator; of a study, the last variation.
func TestStarters(t *testing.T) {
	t.Chdir("testdata/aiperf") // has a trace, and a copy of a public dataset
	for _, s := range config.Starters() {
		t.Run(s.Name, func(t *testing.T) {
			doc, warnings, err := config.Load([]byte(s.For("some-model", "http://localhost:8000")), config.LoadOptions{
				Choices: plan.Choices(), LookupEnv: func(string) (string, bool) { return "", false },
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range warnings {
				t.Errorf("warning: %v", w)
			}
			if name := doc.Benchmark.Models.Items[0].Name; s.Name != "env_var_production" && name != "some-model" {
				t.Errorf("the model is %s", name)
			}
			if s := doc.Study(); s != nil {
				if doc, _, err = s.Cell(&s.Variations[len(s.Variations)-1], 0); err != nil {
					t.Fatal(err)
				}
			}
			cutShort(&doc.Benchmark)
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, timing(t, time.Millisecond, time.Millisecond), nil)
				r, err := b.engine.Submit(t.Context(), doc, run.Submission{Via: "cli"})
				if err != nil {
					t.Fatal(err)
				}
				if r = b.wait(r.ID); r.State != bench.StateCompleted {
					t.Errorf("state %v, error %+v", r.State, r.Error)
				}
			})
		})
	}
}
