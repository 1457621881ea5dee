package study_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/mock"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/results"
)

// designed is [pairedDocument] of another design, with blocks and a budget that suit it.
func designed(design string, seed int64, other string) string {
	text := strings.Replace(pairedDocument(seed, other), "type: ab", "type: ab\n  design: "+design, 1)
	switch design {
	case "crossover":
		text = strings.Replace(text, "blockSeconds: 1", "blockSeconds: 2", 1)
		text = strings.Replace(text, "maxLoadSeconds: 120", "maxLoadSeconds: 420", 1)
	case "split":
		text = strings.Replace(text, "maxLoadSeconds: 120", "maxLoadSeconds: 200", 1)
	}
	return text
}

// TestSimulateDesigns: servers that drift, as in [TestSimulatePairedRuns], but take turns, or get half of the load
// each. Servers that take turns are never busy at the same time.
func TestSimulateDesigns(t *testing.T) {
	seeds := int64(1)
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		seeds = 40
	}
	for _, design := range []string{"crossover", "split"} {
		t.Run(design, func(t *testing.T) {
			alarms, missed := int64(0), int64(0)
			for seed := range seeds {
				for _, slower := range []float64{0, 0.03} {
					if raceEnabled && slower == 0 {
						continue // it takes longer, and differs in its data alone
					}
					synctest.Test(t, func(t *testing.T) {
						d := newDuel(t, seed, slower)
						ended, a := d.wait(d.submitDocument(designed(design, seed, "http://b")))
						if ended.State != bench.StateCompleted || !a.Final || a.Paired == nil || a.Paired.Design != design {
							t.Fatalf("seed %d: %s (%s), answer %+v", seed, ended.State, ended.StateReason, a)
						}
						if a.Verdict == "invalid" || len(a.Doubts) > 0 {
							t.Errorf("seed %d: %s, doubts %v", seed, a.Verdict, a.Doubts)
						}
						switch different := a.Verdict == "better" || a.Verdict == "worse"; {
						case slower == 0 && different:
							alarms++
						case slower > 0 && a.Verdict != "worse":
							missed++
						}
						t.Logf("seed %d, B slower by %v: %s after %d blocks, %d pairs, %.0f s: %s", seed, slower, a.Verdict,
							len(a.Paired.Blocks), a.Paired.Pairs, a.Stop.Load, a.Sentences[0])
						d.checkMeters(design)
					})
				}
			}
			if alarms*20 > seeds || missed*10 > seeds {
				t.Errorf("of %d: %d false alarms, %d slower servers missed", seeds, alarms, missed)
			}
		})
	}
}

// checkMeters compares what the servers have seen with what a design sends them.
func (d *duel) checkMeters(design string) {
	d.t.Helper()
	const warmup = 7 // of each side, at the same time
	a, b := d.meters.sent[0].Load(), d.meters.sent[1].Load()
	apart, together := max(a, b)-min(a, b), d.meters.together.Load()
	switch design {
	case "crossover":
		if together > 2*warmup || apart > 100 { // a turn has 50 requests on average
			d.t.Errorf("%d requests to A, %d to B, %d of them while the other one was busy", a, b, together)
		}
	case "split":
		if apart > 2 {
			d.t.Errorf("%d requests to A and %d to B", a, b)
		}
	}
}

// TestCrossoverCache: the server that has the second turn finds the prompts of the first one in a cache that both
// share. The answer says so, unless each side has its own prompts.
func TestCrossoverCache(t *testing.T) {
	for name, bust := range map[string]string{
		"without salt": "", "with salt": ", cacheBust: {target: first_turn_prefix}",
	} {
		if raceEnabled && bust != "" {
			continue // it differs in its data alone
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := options.Preset("tiny")
				if err != nil {
					t.Fatal(err)
				}
				server, err := mock.New(mock.Options{Accelerator: p, Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { server.Close() })
				d := newArena(t, t.TempDir(), map[string]http.Handler{"a": server.Handler()})
				text := strings.Replace(designed("crossover", 1, "http://a"), "{isl: 16, osl: 4, entries: 50}",
					"{isl: 200, osl: 4, entries: 5000"+bust+"}", 1)
				ended, a := d.wait(d.submitDocument(text))
				if ended.State != bench.StateCompleted || a.Verdict == "better" || a.Verdict == "worse" || a.Verdict == "invalid" {
					t.Errorf("%s (%s): %s", ended.State, ended.StateReason, a.Sentences[0])
				}
				doubted := slices.ContainsFunc(a.Doubts, func(x results.AnswerDoubt) bool { return x.Code == "carry-over" })
				if doubted != (bust == "") {
					t.Errorf("doubts: %v", a.Doubts)
				}
				t.Logf("%s after %d blocks: %s", a.Verdict, len(a.Paired.Blocks), a.Sentences[0])
			})
		})
	}
}

// TestCrossoverCanary: before each turn, a short request shows whether the server is idle. One that is not is waited for,
// and the answer says which turns began all the same.
func TestCrossoverCanary(t *testing.T) {
	const usual = 20 // of them are answered at once
	synctest.Test(t, func(t *testing.T) {
		p, err := options.Preset("tiny")
		if err != nil {
			t.Fatal(err)
		}
		server, err := mock.New(mock.Options{Accelerator: p, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		var canaries atomic.Int64
		d := newArena(t, t.TempDir(), map[string]http.Handler{"a": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if strings.Contains(string(body), `"Hello"`) && canaries.Add(1) > usual {
				time.Sleep(time.Second)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			server.Handler().ServeHTTP(w, r)
		})})
		began := time.Now()
		ended, a := d.wait(d.submitDocument(designed("crossover", 1, "http://a")))
		doubted := slices.ContainsFunc(a.Doubts, func(x results.AnswerDoubt) bool {
			return x.Code == "not-idle" && strings.Contains(x.Message, "more slowly than when it was idle")
		})
		if ended.State != bench.StateCompleted || !doubted || canaries.Load() < usual+100 || time.Since(began) < 4*time.Minute {
			t.Errorf("%s (%s) after %v and %d canaries, doubts %v", ended.State, ended.StateReason, time.Since(began), canaries.Load(), a.Doubts)
		}
	})
}
