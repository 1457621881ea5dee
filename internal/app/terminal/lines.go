package terminal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/run"
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
		line := fmt.Sprintf("%s grace period: waiting for %d in-flight requests [%s]", phaseLabel(st.Name), st.InFlight(), Clock(elapsed))
		return export.Fit(line, width)
	}
	s, known := shareOf(st)
	before, after := phaseLabel(st.Name)+": ", fmt.Sprintf(" [%s", Clock(elapsed))
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
		after += "<" + Clock(time.Duration(float64(elapsed)*(1-s.done)/s.done)) + "]"
	default:
		after += "]"
	}
	const most, least = 40, 4
	room := min(most, width-export.TextWidth(before)-len(after)-2)
	if !known || room < least {
		return export.Fit(before+strings.TrimSpace(after), width)
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

// Clock formats a duration as 01:30, or 2:01:30.
func Clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
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
	value := func(tag string, stat metric.Stat) (string, bool) {
		m := s.Metrics.Find(tag)
		if m == nil {
			return "", false
		}
		v, ok := m.Get(stat)
		return export.Figure(v), ok
	}
	var out []liveField
	for _, f := range []struct {
		tag, unit string
		weight    int
	}{{"request_throughput", "req/s", 1}, {"output_token_throughput", "tok/s", 4}} {
		if v, ok := value(f.tag, metric.Avg); ok {
			out = append(out, liveField{v + " " + f.unit, f.weight, false})
		}
	}
	for _, f := range []struct {
		tag, label string
		weight     int
	}{{"time_to_first_token", "TTFT", 3}, {"inter_token_latency", "ITL", 6}, {"request_latency", "latency", 7}} {
		p50, ok := value(f.tag, metric.P50)
		p99, also := value(f.tag, metric.P99)
		if ok && also {
			out = append(out, liveField{fmt.Sprintf("%s %s/%s ms", f.label, p50, p99), f.weight, false})
		}
	}
	out = append(out,
		liveField{fmt.Sprintf("%d in flight", st.InFlight()), 5, false},
		liveField{Plural(st.Errors, "error"), 2, st.Errors > 0})
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
	return "[realtime " + Clock(s.Elapsed.Round(time.Second)) + "] " + Style{}.fit(liveFields(s), math.MaxInt)
}

// Plural returns a count with its noun.
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}
