package engine

import (
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/certify"
	"aiperfd/internal/engine/collect"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/plan"
)

// sendsTurns returns the execution of a plan that sends conversations of one turn each.
func sendsTurns(t *testing.T, p *plan.Plan, turns ...bench.Turn) *execution {
	t.Helper()
	r, err := dataset.NewReader(t.Context(), dataset.ReaderOptions{Source: turnSource(turns), Sampling: "sequential", Ahead: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Ready(); err != nil {
		t.Fatal(err)
	}
	data := &datasets{}
	data.add(r, nil)
	env := &environment{history: collect.NewHistory(), opts: new(Options), cancel: newCancellation(), live: newLive(bench.StateQueued)}
	return &execution{env: env, prepared: &prepared{plan: p, data: data}}
}

// A certificate that cannot be made is a warning, and does not end the run.
func TestNoCertificate(t *testing.T) {
	p := &plan.Plan{Certify: "before", Measure: plan.Measure{Phases: []spec.Phase{{Kind: bench.Profiling, Concurrency: 1}}}}
	x := sendsTurns(t, p, bench.Turn{Texts: []string{"hello"}})
	p.Kind.Encode = encodeNothing
	x.certify(t.Context(), "after")
	if len(x.prepared.warnings) != 0 || x.certificate != nil {
		t.Errorf("not its time: warnings %v, certificate %v", x.prepared.warnings, x.certificate)
	}
	x.env.opts.Reference = func() (net.Listener, certify.Dial, error) { return nil, nil, errors.New("no address left") }
	x.certify(t.Context(), "before")
	want := warnings{{Code: "not-certified", Detail: "the client could not be certified: open reference server: no address left"}}
	if diff := cmp.Diff(want, x.prepared.warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestReference: the heaviest phase that enters the result is certified, with the
// transport of its target.
func TestReference(t *testing.T) {
	phase := func(kind bench.PhaseKind, streams int, rate float64, excluded bool) spec.Phase {
		p := spec.Phase{Kind: kind, Concurrency: streams, Rate: rate, Excluded: excluded}
		if rate > 0 {
			p.Arrivals = noArrivals
		}
		return p
	}
	tests := []struct {
		name    string
		scheme  string
		phases  []spec.Phase
		streams int
		rate    float64
		std     bool
	}{
		{"heaviest", "http", []spec.Phase{
			phase(bench.Warmup, 500, 0, false), phase(bench.Profiling, 8, 0, false), phase(bench.Profiling, 64, 0, false),
			phase(bench.Profiling, 900, 0, true),
		}, 64, 0, false},
		{"open loop", "http", []spec.Phase{phase(bench.Profiling, 0, 20, false), phase(bench.Profiling, 0, 30, false)}, 0, 30, false},
		{"https", "https", []spec.Phase{phase(bench.Profiling, 3, 0, false)}, 3, 0, true},
		{"warm-up only", "http", []spec.Phase{phase(bench.Warmup, 500, 0, false)}, 1, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &plan.Plan{Measure: plan.Measure{Phases: tt.phases}, Targets: []plan.Target{{URL: &url.URL{Scheme: tt.scheme}}}}
			p.Kind.Encode = encodeNothing
			o := sendsTurns(t, p, bench.Turn{Texts: []string{"hello"}}).reference()
			if o.Concurrency != tt.streams || o.Rate != tt.rate || (o.Transport.Dial != nil) != tt.std {
				t.Errorf("%d streams, %v/s, over net/http %t; want %d, %v, %t",
					o.Concurrency, o.Rate, o.Transport.Dial != nil, tt.streams, tt.rate, tt.std)
			}
			if o.RequestBytes != 7 || o.ChunkBytes != 0 {
				t.Errorf("requests of %d bytes, events of %d, want 7 and the default", o.RequestBytes, o.ChunkBytes)
			}
		})
	}
}

func encodeNothing([]byte, *endpoint.Request) ([]byte, error) { return []byte("seven b"), nil }

func noArrivals(func(time.Duration) bool) {}
