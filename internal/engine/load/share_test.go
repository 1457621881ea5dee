package load

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/cluster/lane"
	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load/spec"
)

// drawing is a Source of conversations and models that are drawn at random, as the engine draws them.
type drawing struct {
	data   []*bench.Conversation
	rand   *rand.Rand
	once   bool // each conversation is drawn once, in order
	served int
}

func (d *drawing) Next(session int64, _ <-chan struct{}) (c *bench.Conversation, model string, err error) {
	d.served++
	if d.once {
		if d.served > len(d.data) {
			return nil, "", io.EOF
		}
		return d.data[d.served-1], "m", nil
	}
	return d.data[bench.Below(d.rand, len(d.data))], fmt.Sprint("m", bench.Below(d.rand, 3)), nil
}

func (d *drawing) Restart(once bool) error {
	d.once, d.served = once, 0
	return nil
}

// ledger keeps what a load generator has sent: session, turn, time due, conversation, model, target and body.
type ledger struct {
	phase *Phase
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (l *ledger) Finished(f Finished) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := f.Record
	l.lines = append(l.lines, fmt.Sprintf("%6d/%d due %12v %s %s %d %s",
		r.SessionNum, r.Turn, r.Stamps.Due-l.phase.Start(), r.ConversationID, r.Model, r.Target, strings.Join(contents(f.Body), "|")))
}

// performShare performs a share of phases, one after the other, and returns what it has sent in each. Nothing is
// sent in a phase of which it has no part.
func performShare(t *testing.T, phases []spec.Phase, share spec.Share, data []*bench.Conversation) [][]string {
	t.Helper()
	clock := bench.NewClock()
	o := loadOptions(clock, slow{clock, 350 * time.Millisecond}, &drawing{
		data: data, rand: rand.New(rand.NewPCG(1, 2)), once: phases[0].Once,
	})
	encoder := newChatEncoder()
	encoder.hosts = []string{"a", "b", "c"}
	o.Encoder, o.Targets, o.Spread = encoder, 3, spec.Spread{Targets: 3, Seed: 5, Random: true}
	work := NewWork(o)
	var out [][]string
	first := int64(0)
	for i := range phases {
		part, ok := share.Of(&phases[i], first)
		first += max(0, phases[i].SessionBound())
		if !ok {
			out = append(out, nil)
			continue
		}
		sent := &ledger{}
		sent.phase = NewPhase(work, part, sent)
		sent.phase.Begin()
		sent.phase.Run(t.Context())
		out = append(out, sent.lines)
	}
	return out
}

// shares divides a load with so many slots among load generators.
func shares(seed bench.Seed, weights []float64, slots int) (out []spec.Share) {
	lanes, owners := lane.New(seed), lane.Deal(slots, weights)
	for i, set := range lane.Divide(weights) {
		out = append(out, lanes.Share(set, func(slot int) bool { return owners[slot] == i }))
	}
	return out
}

// arrivals returns an arrival process of the table.
func arrivals(t *testing.T, name string, o arrival.Options) spec.Phase {
	t.Helper()
	kinds := arrival.Kinds()
	kind := &kinds[slices.IndexFunc(kinds, func(k arrival.Kind) bool { return k.Name == name })]
	seq, err := kind.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return spec.Phase{Kind: bench.Profiling, Grace: -1, Arrivals: seq, Rate: o.Rate}
}

// Several load generators together send what one sends: every request once, at the same time, of the same session,
// with the same conversation, model, target and body.
func TestSharesAddUp(t *testing.T) {
	bounded := func(p spec.Phase, requests int64) spec.Phase {
		p.Requests = requests
		return p
	}
	perSession := bounded(arrivals(t, "gamma", arrival.Options{Rate: 20, Smoothness: 0.5, Seed: 4}), 0)
	perSession.PerSession, perSession.Sessions = true, 80
	singles := []*bench.Conversation{}
	for i := range 20 {
		singles = append(singles, talk(fmt.Sprint("c", i), said(fmt.Sprint("t", i))))
	}
	timedTalks := []*bench.Conversation{}
	for i := range 60 {
		name := fmt.Sprint("r", i)
		timedTalks = append(timedTalks, talk(name, timed(name, time.Duration(i)*130*time.Millisecond)))
	}
	users := starting(12, 6)
	users.Duration = 30 * time.Second
	tests := []struct {
		name   string
		phases []spec.Phase
		data   []*bench.Conversation
	}{
		{"constant", []spec.Phase{bounded(arrivals(t, "constant", arrival.Options{Rate: 50}), 200)}, singles},
		{"poisson, two phases", []spec.Phase{
			bounded(arrivals(t, "poisson", arrival.Options{Rate: 100, Seed: 3}), 150),
			bounded(arrivals(t, "poisson", arrival.Options{Rate: 30, Seed: 8}), 100),
		}, singles},
		{"rate series", []spec.Phase{bounded(arrivals(t, "poisson", arrival.Options{
			Rate: 40, Seed: 3, Series: []arrival.Point{{At: 0, Rate: 40}, {At: 3 * time.Second, Rate: 5}},
		}), 120)}, singles},
		{"session rate", []spec.Phase{perSession}, talks(5, 3)},
		{"replay", []spec.Phase{{
			Kind: bench.Profiling, Grace: -1, Once: true, Starts: spec.Starts{Replay: &spec.Replay{Auto: true, End: -1}},
		}}, timedTalks},
		{"users", []spec.Phase{users}, talks(5, 4)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := performShare(t, tt.phases, spec.Share{}, tt.data)
				for _, division := range divisions() {
					got := make([][]string, len(tt.phases))
					for _, share := range shares(division.seed, division.weights, 0) {
						for i, lines := range performShare(t, tt.phases, share, tt.data) {
							got[i] = append(got[i], lines...)
						}
					}
					for i := range want {
						slices.Sort(want[i])
						slices.Sort(got[i])
						if len(want[i]) < 20 {
							t.Fatalf("phase %d: only %d requests", i, len(want[i]))
						}
						if diff := cmp.Diff(want[i], got[i]); diff != "" {
							t.Fatalf("seed %d, %d load generators, phase %d (-alone +together):\n%s",
								division.seed, len(division.weights), i, diff)
						}
					}
				}
			})
		})
	}
}

// division is how a load is divided among load generators.
type division struct {
	seed    bench.Seed
	weights []float64
}

// divisions returns how the loads of a test are divided: with AIPERFD_SIMULATE=full by 100 seeds, among as many as 1,000
// load generators.
func divisions() (out []division) {
	seeds, numbers := 1, []int{1, 2, 3, 4, 16, 40}
	if os.Getenv("AIPERFD_SIMULATE") == "full" {
		seeds = 100
		out = append(out, division{1000, slices.Repeat([]float64{1}, 1000)})
	}
	random := rand.New(rand.NewPCG(11, 13))
	for seed := range seeds {
		for _, n := range numbers {
			weights := make([]float64, n)
			for i := range weights {
				weights[i] = float64(1+i%3) + 5*random.Float64()
			}
			out = append(out, division{bench.Seed(seed + 7), weights})
		}
	}
	return out
}

// Slots of a closed loop are divided: together they open at the times of the ramp of the whole, and exactly as many
// requests are sent.
func TestSlotsAddUp(t *testing.T) {
	const slots = 10
	phase := spec.Phase{
		Kind: bench.Profiling, Grace: -1, Concurrency: slots, Requests: 400,
		Shape: spec.Shape{Concurrency: arrival.Ramp{Duration: 9 * time.Second}},
	}
	data := []*bench.Conversation{talk("c", said("t"))}
	for _, weights := range [][]float64{{1}, {1, 1}, {3, 2, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, slices.Repeat([]float64{1}, 25)} {
		synctest.Test(t, func(t *testing.T) {
			sessions, firsts := map[string]bool{}, map[string]int{}
			total, idle := 0, 0
			for _, share := range shares(7, weights, slots) {
				lines := performShare(t, []spec.Phase{phase}, share, data)[0]
				if lines == nil {
					idle++
				}
				total += len(lines)
				for _, line := range lines {
					number, rest, _ := strings.Cut(line, "/")
					sessions[number] = true
					due := strings.Fields(rest)[2]
					if strings.HasSuffix(due, "s") && !strings.Contains(due, ".") {
						firsts[due]++
					}
				}
			}
			if want := max(0, len(weights)-slots); idle < want {
				t.Errorf("%d load generators: %d without a slot, want %d", len(weights), idle, want)
			}
			if len(weights) <= slots && (total != int(phase.Requests) || len(sessions) != total) {
				t.Errorf("weights %v: %d requests of %d sessions, want %d", weights, total, len(sessions), phase.Requests)
			}
			for i := range slots {
				if at := fmt.Sprint(time.Duration(i) * time.Second); firsts[at] == 0 {
					t.Errorf("weights %v: no slot opens at %s", weights, at)
				}
			}
		})
	}
}
