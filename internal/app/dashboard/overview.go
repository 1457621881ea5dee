package dashboard

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/view"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// overview returns the main page. What is most important comes first, so that a small
// screen shows it; the log gets the rest.
func (v *display) overview(room int) []string {
	out := slices.Concat(v.alerts(), v.study(), v.phases())
	if v.width >= wideColumns && v.height >= wideLines {
		const gap = 2
		left := (v.width - gap) / 2
		right := v.width - gap - left
		details := slices.Concat(v.rates(right, false), v.latencies(right), v.faults(right, 8), v.objectives(right), v.warnings(right))
		logRoom := min(len(v.logTail(room/5))+1, room/5)
		lines := max(len(details), room-len(out)-logRoom)
		out = append(out, sideBySide(v.charts(left, lines), details, left, gap)...)
	} else {
		sections := [][]string{v.rates(v.width, true), v.latencies(v.width), v.faults(v.width, 3), v.objectives(v.width), v.warnings(v.width)}
		for _, lines := range sections {
			if len(out)+1 < room { // a heading alone says nothing
				out = append(out, lines...)
			}
		}
	}
	if rest := room - len(out) - 1; rest > 0 {
		if lines := v.logTail(rest); len(lines) > 0 {
			out = append(append(out, v.heading("Log", v.width)), lines...)
		}
	}
	return out
}

// sideBySide joins two columns.
func sideBySide(left, right []string, width, gap int) []string {
	out := make([]string, max(len(left), len(right)))
	for i := range out {
		var l, r string
		if i < len(left) {
			l = ansi.Truncate(left[i], width, "")
		}
		if i < len(right) {
			r = right[i]
		}
		out[i] = l + strings.Repeat(" ", width-lipgloss.Width(l)+gap) + r
	}
	return out
}

// alerts says why the numbers of the run cannot be trusted, or do not mean what was asked.
func (v *display) alerts() []string {
	const most = 4
	var out []string
	add := func(look func(string) string, format string, args ...any) {
		if len(out) < most {
			out = append(out, look(ansi.Truncate(" ! "+plain(fmt.Sprintf(format, args...))+" ", v.width, v.ellipsis())))
		}
	}
	if r := v.snapshot.Run; r != nil && r.Client != nil {
		reasons := verdict.Decisive(r.Client.Reasons) // others concern numbers of files
		for i, text := range verdict.Brief(reasons) {
			look := caution
			if reason := &reasons[i]; reason.Level == verdict.Invalid && shown(reason) {
				look = alarm
			}
			add(look, "client: %s", text)
		}
	}
	if l := v.snapshot.Load; l != nil && l.Saturated {
		text := "SATURATED: requests arrive faster than they are served"
		if l.LimitedBy != "" {
			text += ", limited by the " + l.LimitedBy
		}
		add(alarm, "%s", text)
	}
	return out
}

// shown reports whether a reason concerns a number of the overview.
func shown(r *verdict.Reason) bool {
	return slices.ContainsFunc([]string{"request_throughput", "time_to_first_token", "request_latency"}, func(tag string) bool {
		return verdict.Affects([]verdict.Reason{*r}, tag) != nil
	})
}

// study shows how far a study is, and its last cells.
func (v *display) study() []string {
	s := v.snapshot.Study
	if s == nil || s.Progress == nil || s.Progress.CellsTotal == nil || s.Progress.CellsDone == nil {
		return nil
	}
	done, total := *s.Progress.CellsDone, *s.Progress.CellsTotal
	text := fmt.Sprintf("%d/%d runs", done, total)
	if f := s.Progress.CellsFailed; f != nil && *f > 0 {
		text += fmt.Sprintf(", %d failed", *f)
	}
	if c := s.Progress.CurrentCell; c != "" {
		text += "  now " + plain(c)
	}
	out := []string{v.bar("sweep", share(float64(done), float64(total)), text)}
	if len(v.snapshot.Cells) == 0 {
		return out
	}
	const few, many, columns = 3, 12, 4
	label := max(12, min(48, v.width-columns*11))
	out = append(out, faint(pad("cell", label)+fmt.Sprintf("%11s%11s%11s%11s", "requests/s", "tokens/s", "TTFT p99", "lat. p99")))
	rows := few
	if v.height >= wideLines {
		rows = many
	}
	for _, c := range v.snapshot.Cells[:min(rows, len(v.snapshot.Cells))] {
		name := c.ID
		if c.Cell != nil {
			name = c.Cell.Label
			if c.Cell.Trial > 0 {
				name += fmt.Sprintf(" (run %d)", c.Cell.Trial+1)
			}
		}
		row := pad(ansi.Truncate(plain(name), label-1, v.ellipsis()), label)
		if c.State != bench.StateCompleted || c.Summary == nil {
			out = append(out, row+"  "+string(c.State))
			continue
		}
		for _, value := range []*float64{c.Summary.RequestThroughput, c.Summary.OutputTokenThroughput, c.Summary.TTFTP99, c.Summary.LatencyP99} {
			row += fmt.Sprintf("%11s", view.FigureOr(value, "-"))
		}
		out = append(out, row)
	}
	return out
}

func share(done, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return min(max(done/all, 0), 1)
}

// bar returns a line with a bar; a share below 0 has none.
func (v *display) bar(label string, done float64, text string) string {
	const labelWidth, most, least = 11, 40, 6
	label = pad(ansi.Truncate(plain(label), labelWidth-1, v.ellipsis()), labelWidth)
	if done < 0 {
		return label + text
	}
	percent := fmt.Sprintf(" %3.0f%%  ", math.Floor(done*100))
	room := min(most, v.width-labelWidth-2-len(percent)-lipgloss.Width(text))
	if room < least {
		return label + strings.TrimLeft(percent, " ") + text
	}
	return label + "|" + colored(lipgloss.Cyan, terminal.Style{ASCII: v.ascii}.Fill(done, room)) + "|" + percent + text
}

// phases shows the last phases.
func (v *display) phases() []string {
	const small = 16 // lines
	most, phases := 3, v.snapshot.Phases
	if v.height < small {
		most = 1
	}
	if len(phases) == 0 {
		return []string{faint("waiting for the first request")}
	}
	var out []string
	for i := range phases[max(0, len(phases)-most):] {
		out = append(out, v.phase(&phases[max(0, len(phases)-most)+i]))
	}
	return out
}

func (v *display) phase(p *wire.Phase) string {
	done := -1.0
	if p.Percent != nil {
		done = share(*p.Percent, 100)
	}
	ended := p.Completed + p.Cancelled
	state := p.State
	text := fmt.Sprintf("%d requests", ended)
	if p.ExpectedRequests != nil {
		text = fmt.Sprintf("%d/%d requests", ended, *p.ExpectedRequests)
	}
	if p.StartNS != nil && p.LastUpdateNS != nil {
		end := *p.LastUpdateNS
		if p.RequestsEndNS != nil {
			end = *p.RequestsEndNS
		}
		took := time.Duration(end - *p.StartNS)
		text += "  " + view.Clock(took)
		switch {
		case p.ExpectedDuration == nil:
		case took <= seconds(*p.ExpectedDuration):
			text += " of " + view.Clock(seconds(*p.ExpectedDuration))
		case state == "running": // arrivals that were due in time wait for slots, or the last responses take longer
			state = "draining"
		}
	}
	switch state {
	case "running", "complete":
	case "draining":
		text += "  draining"
		if p.State == "running" && p.Arrivals != nil && p.Arrivals.Waiting > 0 {
			text += fmt.Sprintf(", %d waiting", p.Arrivals.Waiting)
		}
		text += fmt.Sprintf(", %d in flight", p.InFlight)
	default:
		text += "  " + state
	}
	return v.bar(p.PhaseName, done, text)
}

// recent returns the newest value of a series: that of the last ten seconds that are over,
// before there are any that of the last second.
func (v *display) recent(metric, statistic string) *float64 {
	t, _ := v.recentSeries()
	if x, ok := latest(t, metric, statistic); ok {
		return &x
	}
	return nil
}

// recentSeries returns the time series of recent values, and the seconds of its points.
func (v *display) recentSeries() (t *wire.Timeseries, span int) {
	if s := v.snapshot.Tens; s != nil && len(column(s, "in_flight", "avg")) > 0 {
		return s, terminal.Window
	}
	return v.snapshot.Seconds, 1
}

func pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s))) }

// rates shows what is sent and received, with curves if there is room.
func (v *display) rates(width int, curves bool) []string {
	const label, number, extra, least = 16, 11, 24, 8
	s, room := &v.snapshot, width-label-2*number-2-extra
	row := func(name string, now, whole *float64, more, metric, statistic string) string {
		line := pad(name, label) + fmt.Sprintf("%*s%*s  ", number, view.FigureOr(now, "-"), number, view.FigureOr(whole, "-"))
		if width-lipgloss.Width(line) < lipgloss.Width(more) {
			more = ""
		}
		line += pad(more, extra)
		if curves && room >= least && width-lipgloss.Width(line) >= room {
			line = pad(line, width-room) + colored(lipgloss.Cyan, graph(column(s.Seconds, metric, statistic), room, 1, v.ascii)[0])
		}
		return line
	}
	var offered, inFlight, lag string
	_, span := v.recentSeries()
	if s.Load != nil && s.Load.OfferedRate != nil {
		offered = view.Figure(*s.Load.OfferedRate) + " offered"
	}
	if p := s.Phase(); p != nil {
		inFlight = fmt.Sprintf("%d now", p.InFlight)
		if p.Arrivals != nil && p.Arrivals.Waiting > 0 {
			inFlight += fmt.Sprintf(", %d waiting", p.Arrivals.Waiting)
		}
	}
	if x := v.recent("schedule_lag", "p99"); x != nil {
		lag = "schedule lag " + view.FigureOr(x, "-") + " ms"
	}
	head := pad("Rates", label) + fmt.Sprintf("%*s%*s", number, fmt.Sprintf("last %d s", span), number, "whole run")
	if curves && room >= least {
		head = v.heading(head, width-room-1) + " " + v.heading(fmt.Sprintf("last %d s", room), room)
	} else {
		head = v.heading(head, width)
	}
	return []string{
		head,
		row("requests/s", v.recent("requests_completed", "rate"), s.Metrics["request_throughput"].Avg, offered, "requests_completed", "rate"),
		row("output tokens/s", v.recent("output_tokens", "rate"), s.Metrics["output_token_throughput"].Avg, "", "output_tokens", "rate"),
		row("in flight", v.recent("in_flight", "avg"), s.Metrics["effective_concurrency"].Avg, inFlight, "in_flight", "avg"),
		row("client CPU %", v.recent("client_cpu", "avg"), nil, lag, "client_cpu", "avg"),
	}
}

// latencies shows the table of latencies.
func (v *display) latencies(width int) []string {
	label, number := 16, 9
	const both, narrow = 59, 72
	if width < narrow {
		label, number = 11, 8
	}
	recent := func(tag string) []*float64 {
		return []*float64{v.recent(tag, "p50"), v.recent(tag, "p90"), v.recent(tag, "p99")}
	}
	whole := func(tag string) []*float64 {
		m := v.snapshot.Metrics[tag]
		return []*float64{m.P50, m.P90, m.P99}
	}
	_, span := v.recentSeries()
	title, head, values := "Run, ms", []string{"run p50", "run p90", "run p99"}, whole
	switch {
	case v.whole:
		title, head = "Whole run, ms", []string{"avg", "p50", "p90", "p95", "p99", "max"}
		values = func(tag string) []*float64 {
			m := v.snapshot.Metrics[tag]
			return []*float64{m.Avg, m.P50, m.P90, m.P95, m.P99, m.Max}
		}
	case width >= both:
		title = "Latency, ms"
		head = append([]string{fmt.Sprintf("%ds p50", span), fmt.Sprintf("%ds p90", span), fmt.Sprintf("%ds p99", span)}, head...)
		values = func(tag string) []*float64 { return append(recent(tag), whole(tag)...) }
	}
	var line strings.Builder
	line.WriteString(pad(title, label))
	for _, t := range head {
		fmt.Fprintf(&line, "%*s", number, t)
	}
	out := []string{v.heading(line.String(), width)}
	for _, m := range []struct{ tag, name string }{
		{"time_to_first_token", "TTFT"}, {"inter_token_latency", "ITL"}, {"request_latency", "latency"},
	} {
		row, found := pad(m.name, label), false
		for _, x := range values(m.tag) {
			row += fmt.Sprintf("%*s", number, view.FigureOr(x, "-"))
			found = found || x != nil
		}
		if found || m.tag == "request_latency" {
			out = append(out, row)
		}
	}
	return out
}

// charts shows curves of the last minutes in a number of lines.
func (v *display) charts(width, lines int) []string {
	charts := []struct{ title, metric, statistic string }{
		{"requests/s", "requests_completed", "rate"},
		{"output tokens/s", "output_tokens", "rate"},
		{"TTFT p99, ms", "time_to_first_token", "p99"},
		{"latency p99, ms", "request_latency", "p99"},
		{"in flight", "in_flight", "avg"},
	}
	const most = 8 // lines of a curve
	_, span := v.recentSeries()
	lines--           // for the axis
	const fewest = 10 // seconds that fill the width
	columns := max(1, width/max(fewest, len(column(v.snapshot.Seconds, "in_flight", "avg"))))
	var out []string
	for i, c := range charts {
		height := min(most, (lines-len(out))/(len(charts)-i)-1)
		values := stretched(column(v.snapshot.Seconds, c.metric, c.statistic), columns)
		if height < 1 {
			break
		}
		top := 0.0
		for _, x := range values[max(0, len(values)-width):] {
			if x > top { // false for NaN
				top = x
			}
		}
		out = append(out, v.heading(fmt.Sprintf("%s  last %d s %s, highest second %s", c.title, span, view.FigureOr(v.recent(c.metric, c.statistic), "-"), view.Figure(top)), width))
		for _, line := range graph(values, width, height, v.ascii) {
			out = append(out, colored(lipgloss.Cyan, line))
		}
	}
	return append(out, faint(axis(width, columns)))
}

// faults shows the errors, at most some kinds.
func (v *display) faults(width, most int) []string {
	e := &v.snapshot.Errors
	if e.Total == 0 {
		return nil
	}
	out := []string{v.heading("Errors  "+v.errorCount(), width)}
	for i := range e.Items[:min(most, len(e.Items))] {
		out = append(out, ansi.Truncate(errorLine(&e.Items[i]), width, v.ellipsis()))
	}
	return out
}

// objectives shows how far the objectives are met.
func (v *display) objectives(width int) []string {
	const prefix = "slo_attainment."
	var out []string
	add := func(value, text string) {
		out = append(out, ansi.Truncate(fmt.Sprintf("%11s  %s", value, text), width, v.ellipsis()))
	}
	if g := v.snapshot.Metrics["goodput"].Avg; g != nil {
		add(view.Figure(*g)+"/s", "goodput: requests that met all of them")
	}
	var tags []string
	for tag := range v.snapshot.Metrics {
		if strings.HasPrefix(tag, prefix) {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	for _, tag := range tags {
		if m := v.snapshot.Metrics[tag]; m.Avg != nil {
			add(view.Figure(100**m.Avg)+" %", "met "+strings.TrimPrefix(tag, prefix))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]string{v.heading("Objectives of each request", width)}, out...)
}

// warnings shows the first warnings of the run.
func (v *display) warnings(width int) []string {
	const most = 2
	r := v.snapshot.Run
	if r == nil || len(r.Warnings) == 0 {
		return nil
	}
	out := []string{v.heading(view.Plural(len(r.Warnings), "warning"), width)}
	for _, w := range r.Warnings[:min(most, len(r.Warnings))] {
		out = append(out, ansi.Truncate(colored(lipgloss.Yellow, plain(w.Detail)), width, v.ellipsis()))
	}
	return out
}
