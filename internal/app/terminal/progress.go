package terminal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// refresh is the interval at which the progress is updated.
const refresh = 200 * time.Millisecond

// Progress shows the progress of a run: a bar and a line of live numbers on a
// terminal, log lines otherwise.
type Progress struct {
	Screen *Screen
	Draw   bool // on the screen; false = log lines
	Style  Style
	Log    zerolog.Logger
	Every  time.Duration // between lines of statistics in the log; 0 = none
}

// Style is how the status is drawn.
type Style struct{ ASCII, Color bool }

// DefaultStatsInterval is the usual period of the lines of statistics if nothing
// is drawn.
const DefaultStatsInterval = 10 * time.Second

// Snapshots returns the newest snapshot of a run. It is safe for concurrent use
// and does not wait for the run.
type Snapshots interface {
	Snapshot(ctx context.Context, id string) (*run.Snapshot, error)
}

// Follow shows a run until stop is called, which waits for the last update.
func (p *Progress) Follow(ctx context.Context, from Snapshots, id string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var updates sync.WaitGroup
	updates.Go(func() {
		v := follower{Progress: p}
		defer v.close()
		tick := time.NewTicker(refresh)
		defer tick.Stop()
		for {
			if snap, err := from.Snapshot(ctx, id); err == nil {
				v.update(snap)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				if snap, err := from.Snapshot(context.WithoutCancel(ctx), id); err == nil {
					v.update(snap) // how the last phase ended
				}
				return
			}
		}
	})
	return func() {
		cancel()
		updates.Wait()
	}
}

// follower is what has been shown of a run.
type follower struct {
	*Progress
	begun, ended []int // indexes of phases
	printed      time.Time
}

func (v *follower) update(s *run.Snapshot) {
	for i := range s.Phases {
		st := &s.Phases[i].Stats
		if !slices.Contains(v.begun, st.Index) {
			v.begun = append(v.begun, st.Index)
			if !v.Draw {
				v.Log.Info().Msgf("phase %s started", st.Name)
			}
		}
		if st.End != "" && !slices.Contains(v.ended, st.Index) {
			v.ended = append(v.ended, st.Index)
			v.end(st)
		}
	}
	if v.Draw {
		v.draw(s)
	}
	if v.Every > 0 && len(s.Phases) > 0 && s.Elapsed >= v.Every && s.Wall.Sub(v.printed) >= v.Every && !s.Final {
		v.printed = s.Wall
		v.Log.Info().Msg(statsLine(s))
	}
}

// end writes the final bar of a phase above the status, or logs the end.
func (v *follower) end(st *bench.PhaseStats) {
	if v.Draw {
		_, _ = v.Screen.Write([]byte(v.Style.bar(st, v.columns()) + "\n")) // the run does not fail because its terminal is gone
		return
	}
	line := fmt.Sprintf("phase %s ended: %d ok, %d failed, %d cancelled", st.Name, st.Completed-st.Errors, st.Errors, st.Cancelled)
	if st.CancelledByTest > 0 {
		line += fmt.Sprintf(", %d cancelled by test", st.CancelledByTest)
	}
	v.Log.Info().Msg(line)
}

// draw shows the current phase with its live numbers.
func (v *follower) draw(s *run.Snapshot) {
	var status []string
	switch n := len(s.Phases); {
	case s.State.Terminal():
	case n > 0 && s.Phases[n-1].Stats.End == "":
		status = []string{
			v.Style.bar(&s.Phases[n-1].Stats, v.columns()),
			v.Style.fit(liveFields(s), v.columns()),
		}
	case s.State == bench.StateExporting:
		status = []string{"Processing records"}
	case n == 0:
		status = []string{"Preparing"}
	}
	_ = v.Screen.Show(status...) // as above
}

// columns returns the maximum width of a line. The last column stays free,
// because some terminals wrap when it is filled.
func (v *follower) columns() int {
	const usual = 80
	if w := v.Screen.width(); w > 0 {
		return w - 1
	}
	return usual - 1
}

func (v *follower) close() {
	if v.Draw {
		_ = v.Screen.Show() // as above
	}
}

// phaseLabel is the name of a phase as a heading.
func phaseLabel(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
