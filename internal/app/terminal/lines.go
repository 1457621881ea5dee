package terminal

import (
	"fmt"
	"math"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
	"aiperfd/internal/view"
)

// share is the part of a phase that is done, measured against one of its bounds.
type share struct {
	done  float64 // 0 to 1
	count string  // as shown: 8/15
}

// shareOf returns the share of a phase against its nearest bound; false = the
// phase has no bound.
func shareOf(st *bench.PhaseStats) (share, bool) {
	var best share
	found := false
	add := func(now, all float64, count string) {
		if all <= 0 {
			return
		}
		if part := min(now/all, 1); !found || part > best.done {
			best, found = share{part, count}, true
		}
	}
	returned := st.Returned()
	add(float64(returned), float64(st.ExpectedRequests), fmt.Sprintf("%d/%d", returned, st.ExpectedRequests))
	sessions := st.CompletedSessions + st.CancelledSessions
	add(float64(sessions), float64(st.ExpectedSessions), fmt.Sprintf("%d/%d sessions", sessions, st.ExpectedSessions))
	elapsed, all := min(st.LastUpdate-st.Start, st.ExpectedDuration).Seconds(), st.ExpectedDuration.Seconds()
	add(elapsed, all, fmt.Sprintf("%d/%v s", int(elapsed), all))
	if st.End == bench.PhaseCompleted || st.End == bench.PhaseGraceTimeout {
		best.done = 1
	}
	return best, found
}

// draining reports whether a phase only waits for its last responses.
func draining(st *bench.PhaseStats) bool {
	return st.DurationReached && st.End == "" && st.RequestsEnd == 0
}

// bar draws the progress of a phase in a line of at most width columns:
//
//	Profiling: 8/15 |█████▎    |  53% [00:10<00:08]
func (l Style) bar(st *bench.PhaseStats, width int) string {
	elapsed := max(0, st.LastUpdate-st.Start)
	if st.RequestsEnd != 0 {
		elapsed = st.RequestsEnd - st.Start
	}
	if draining(st) {
		line := fmt.Sprintf("%s grace period: waiting for %d in-flight requests [%s]", phaseLabel(st.Name), st.InFlight(), view.Clock(elapsed))
		return view.Fit(line, width)
	}
	s, known := shareOf(st)
	before, after := phaseLabel(st.Name)+": ", fmt.Sprintf(" [%s", view.Clock(elapsed))
	if known {
		before += s.count + " "
		after = fmt.Sprintf(" %3.0f%%%s", math.Floor(s.done*100), after)
	} else {
		before += fmt.Sprintf("%d requests", st.Completed)
	}
	switch {
	case st.End == bench.PhaseCompleted, st.End == bench.PhaseGraceTimeout:
		after += "]"
	case st.End != "":
		after += "] " + string(st.End)
	case s.done > 0 && s.done < 1:
		after += "<" + view.Clock(time.Duration(float64(elapsed)*(1-s.done)/s.done)) + "]"
	default:
		after += "]"
	}
	const most, least = 40, 4
	room := min(most, width-view.Width(before)-len(after)-2)
	if !known || room < least {
		return view.Fit(before+strings.TrimSpace(after), width)
	}
	return before + "|" + l.Fill(s.done, room) + "|" + after
}

// Fill draws a bar of a number of columns; done is from 0 to 1.
func (l Style) Fill(done float64, columns int) string {
	if l.ASCII {
		full := int(done * float64(columns))
		return strings.Repeat("#", full) + strings.Repeat(".", columns-full)
	}
	eighths := int(done * float64(columns) * 8)
	text := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		text += string([]rune(" ▏▎▍▌▋▊▉")[part])
	}
	return text + strings.Repeat(" ", columns-(eighths+7)/8)
}

// liveField is one value of the line of live numbers.
type liveField struct {
	text   string
	weight int // the field with the largest weight is omitted first if the line is too long
	bad    bool
}

// liveFields returns the numbers of a running phase.
func liveFields(s *run.Snapshot) []liveField {
	st := &s.Phases[len(s.Phases)-1].Stats
	var out []liveField
	for _, n := range Numbers(s.Metrics.Value) {
		out = append(out, liveField{strings.TrimSpace(n.Name + " " + n.Value + " " + n.Unit), n.Weight, false})
	}
	out = append(out,
		liveField{fmt.Sprintf("%d in flight", st.InFlight()), 5, false},
		liveField{view.Plural(st.Errors, "error"), 2, st.Errors > 0})
	if s.Metrics.Find("request_latency") != nil {
		out = append(out, liveField{"(p50/p99)", 8, false})
	}
	return out
}

// fit joins the fields that fit into width columns; those of small weight have
// priority.
func (l Style) fit(fields []liveField, width int) string {
	const gap = "  "
	for {
		total, heaviest := -len(gap), 0
		for i, f := range fields {
			total += len(gap) + len(f.text)
			if f.weight > fields[heaviest].weight {
				heaviest = i
			}
		}
		if total <= width || len(fields) <= 1 {
			break
		}
		fields = append(fields[:heaviest:heaviest], fields[heaviest+1:]...)
	}
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.text
		if f.bad && l.Color {
			texts[i] = "\x1b[31m" + f.text + "\x1b[0m"
		}
	}
	return strings.Join(texts, gap)
}

// statsLine returns the line of live numbers for a log.
func statsLine(s *run.Snapshot) string {
	return "[realtime " + view.Clock(s.Elapsed.Round(time.Second)) + "] " + Style{}.fit(liveFields(s), math.MaxInt)
}
