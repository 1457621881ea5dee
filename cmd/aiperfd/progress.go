package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// refresh is how often progress is looked at.
const refresh = 200 * time.Millisecond

// progress shows a run while it goes: a bar and a line of live numbers on a
// terminal, log lines elsewhere.
type progress struct {
	screen *screen
	draws  bool // on the screen; false = log lines
	look   look
	log    zerolog.Logger
	every  time.Duration // between lines of statistics in the log; 0 = none
}

// look is how the status is drawn.
type look struct{ ascii, color bool }

// defaultStatsInterval is the period of the lines of statistics where nothing is
// drawn.
const defaultStatsInterval = 30 * time.Second

// follow watches a run until stop is called.
func (p *progress) follow(ctx context.Context, e *engine.Engine, id string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		v := view{progress: p}
		defer v.close()
		tick := time.NewTicker(refresh)
		defer tick.Stop()
		for {
			if snap, err := e.Snapshot(ctx, id); err == nil {
				v.update(snap)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				if snap, err := e.Snapshot(context.WithoutCancel(ctx), id); err == nil {
					v.update(snap) // how the last phase ended
				}
				return
			}
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// view is the state of what was shown.
type view struct {
	*progress
	begun, ended []int // indexes of phases
	printed      time.Time
}

func (v *view) update(s *run.Snapshot) {
	for i := range s.Phases {
		st := &s.Phases[i].Stats
		if !slices.Contains(v.begun, st.Index) {
			v.begun = append(v.begun, st.Index)
			if !v.draws {
				v.log.Info().Msgf("phase %s started", st.Name)
			}
		}
		if st.End != "" && !slices.Contains(v.ended, st.Index) {
			v.ended = append(v.ended, st.Index)
			v.end(st)
		}
	}
	if v.draws {
		v.draw(s)
	}
	if v.every > 0 && len(s.Metrics) > 0 && s.Elapsed >= v.every && s.Wall.Sub(v.printed) >= v.every && !s.Final {
		v.printed = s.Wall
		v.log.Info().Msg(statsLine(s))
	}
}

// end leaves the bar of a phase that has ended on the screen for good, or logs it.
func (v *view) end(st *bench.PhaseStats) {
	if v.draws {
		_, _ = v.screen.Write([]byte(v.look.bar(st, v.columns()) + "\n")) // a terminal that is gone hides nothing else
		return
	}
	v.log.Info().Msgf("phase %s ended: %d ok, %d failed, %d cancelled", st.Name, st.Completed-st.Errors, st.Errors, st.Cancelled)
}

// draw shows the phase that runs, with its live numbers.
func (v *view) draw(s *run.Snapshot) {
	var status []string
	switch n := len(s.Phases); {
	case s.State.Terminal():
	case n > 0 && s.Phases[n-1].Stats.End == "":
		status = []string{
			v.look.bar(&s.Phases[n-1].Stats, v.columns()),
			v.look.fit(liveFields(s), v.columns()),
		}
	case s.State == bench.Exporting:
		status = []string{"Processing records"}
	case n == 0:
		status = []string{"Preparing"}
	}
	_ = v.screen.show(status...) // as above
}

// columns is the room for a line. The last column stays free: some terminals
// wrap when it is filled.
func (v *view) columns() int {
	const usual = 80
	if w := v.screen.width(); w > 0 {
		return w - 1
	}
	return usual - 1
}

func (v *view) close() {
	if v.draws {
		_ = v.screen.show() // as above
	}
}

// phaseLabel is the name of a phase as a heading.
func phaseLabel(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
