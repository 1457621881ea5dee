package dashboard

import (
	"cmp"
	"fmt"
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/view"
)

// page is what fills the screen between the header and the footer.
type page int

const (
	overview page = iota
	help
	errorList
	logLines
)

// display draws snapshots. Its output depends on nothing else.
type display struct {
	width, height int // 0 = not known yet
	page          page
	whole         bool // the table of latencies shows the whole run alone
	leaves, ascii bool
	interrupted   int    // how often the user asked for the end
	note          string // beside the state
	snapshot      terminal.Snapshot
	log           *tail
}

// The sizes from which the overview has two columns.
const (
	wideColumns = 120
	wideLines   = 30
)

// draw returns the screen: height lines of at most width columns.
func (v *display) draw() string {
	if v.width <= 0 || v.height <= 0 {
		return ""
	}
	lines := v.header()
	room := max(0, v.height-len(lines)-1)
	var body []string
	switch v.page {
	case overview:
		body = v.overview(room)
	case help:
		body = v.help()
	case errorList:
		body = v.errors(room)
	case logLines:
		body = v.logTail(room)
	}
	lines = append(lines, body[:min(len(body), room)]...)
	for len(lines) < v.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:v.height-1], v.footer())
	for i, line := range lines {
		lines[i] = ansi.Truncate(strings.TrimRight(line, " "), v.width, v.ellipsis())
	}
	return strings.Join(lines, "\n")
}

func (v *display) ellipsis() string {
	if v.ascii {
		return "."
	}
	return "…"
}

// The colours: of the 16 of a terminal those that colour-blind people distinguish. None is
// the only sign of anything.
func bold(s string) string { return lipgloss.NewStyle().Bold(true).Render(s) }
func faint(s string) string {
	return lipgloss.NewStyle().Faint(true).Render(s)
}
func colored(c color.Color, s string) string { return lipgloss.NewStyle().Foreground(c).Render(s) }
func alarm(s string) string {
	return lipgloss.NewStyle().Bold(true).Reverse(true).Foreground(lipgloss.Yellow).Render(s)
}

// caution is an alarm about what the screen does not show.
func caution(s string) string { return colored(lipgloss.Yellow, s) }

// heading returns the heading of a section, with a rule up to a width.
func (v *display) heading(title string, width int) string {
	rule := "─"
	if v.ascii {
		rule = "-"
	}
	if lipgloss.Width(title)+1 >= width {
		return bold(title)
	}
	return bold(title) + " " + faint(strings.Repeat(rule, max(0, width-lipgloss.Width(title)-1)))
}

// spread returns two texts at both ends of a line. The left one is cut if both do not fit.
func (v *display) spread(left, right string, width int) string {
	room := width - lipgloss.Width(right) - 2
	if room < 4 {
		return ansi.Truncate(right, width, v.ellipsis())
	}
	left = ansi.Truncate(left, room, v.ellipsis())
	return left + strings.Repeat(" ", width-lipgloss.Width(left)-lipgloss.Width(right)) + right
}

// header says what runs, and how far it is.
func (v *display) header() []string {
	s := &v.snapshot
	if s.Run == nil && s.Study == nil {
		return []string{v.spread(bold("aiperfd"), v.state("preparing"), v.width)}
	}
	r := s.Run
	if r == nil {
		r = s.Study
	}
	name, state := r.Name, string(r.State)
	if s.Study != nil && s.Study.Name != "" {
		name = s.Study.Name
	}
	named := name != ""
	if !named {
		name = cmp.Or(strings.Join(r.Models, ", "), r.ID)
	}
	right := v.state(state) + "  " + view.Clock(s.Elapsed)
	if p := s.Phase(); p != nil && p.RequestsETA != nil && *p.RequestsETA > 0 && r.State == bench.StateRunning {
		right += faint(" left ") + view.Clock(seconds(*p.RequestsETA))
	}
	first := v.spread(bold(plain(name)), right, v.width)
	const least = 12 // lines
	if v.height < least {
		return []string{first}
	}
	what := r.Endpoint
	if named {
		what = strings.TrimSpace(strings.Join(r.Models, ", ") + "  " + r.Endpoint)
	}
	if r.Streaming {
		what += ", streaming"
	}
	switch {
	case r.RequestRate != nil:
		what += "  " + view.Figure(*r.RequestRate) + " requests/s asked"
	case r.Concurrency != nil:
		what += fmt.Sprintf("  concurrency %d", *r.Concurrency)
	}
	return []string{first, v.spread(faint(plain(what)), faint(plain(strings.Join(r.Targets, ", "))), v.width)}
}

// state returns the state of the run, or what is more urgent.
func (v *display) state(state string) string {
	if v.note != "" {
		return alarm(" " + plain(v.note) + " ")
	}
	if v.interrupted > 0 && !v.leaves {
		state = "stopping"
	}
	return bold(colored(lipgloss.Cyan, strings.ToUpper(state)))
}

// footer lists the keys.
func (v *display) footer() string {
	quit := "stop the run"
	switch {
	case v.leaves:
		quit = "leave, the run continues"
	case v.interrupted == 1:
		quit = "abort requests in flight"
	case v.interrupted > 1:
		quit = "exit at once"
	}
	keys := []string{"? help", "w whole run", "e errors", "l log"}
	if v.page != overview {
		keys = []string{"esc back"}
	}
	if r := v.snapshot.Run; v.leaves || r == nil || r.State != bench.StateExporting && !r.State.Terminal() {
		keys = append([]string{"q " + quit}, keys...)
	}
	return faint(strings.Join(keys, "   "))
}

// help explains the keys and the numbers.
func (v *display) help() []string {
	quit := "cancel the run and print its results; again: abort requests in flight"
	if v.leaves {
		quit = "leave; the run continues"
	}
	return []string{
		bold("Keys"),
		"  q, Ctrl+C  " + quit,
		"  w          latencies: last 10 s beside the whole run, or more of the whole run",
		"  e          errors, one line per kind",
		"  l          log",
		"  ?, Esc     this help, back",
		"",
		bold("Numbers"),
		"  Rates are of the last 10 s that are over and of the whole run; latencies are in ms.",
		"  Curves have a column or more per second, the newest on the right, from 0 up.",
		"  TTFT: time to first token. ITL: time between tokens. p99: 99 % are faster.",
		"  A line that begins with ! says why numbers cannot be trusted.",
	}
}

// plain makes text of any origin fit for the screen.
func plain(s string) string { return view.Printable(s) }

// errors lists the kinds of errors.
func (v *display) errors(room int) []string {
	e := &v.snapshot.Errors
	if e.Total == 0 {
		return []string{"no errors"}
	}
	out := []string{v.heading("Errors  "+v.errorCount(), v.width)}
	for i := range e.Items {
		if len(out) == room && i < len(e.Items)-1 {
			out[len(out)-1] = faint(fmt.Sprintf("and %d more kinds", len(e.Items)-i+1))
			break
		}
		out = append(out, errorLine(&e.Items[i]))
	}
	return out
}

// errorCount returns the number of errors, and their share of the requests that ended.
func (v *display) errorCount() string {
	e := &v.snapshot.Errors
	var ended int64
	for i := range v.snapshot.Phases {
		if p := &v.snapshot.Phases[i]; p.PhaseKind == bench.Profiling {
			ended += p.Completed
		}
	}
	text := fmt.Sprint(e.Total)
	if ended > 0 {
		text += fmt.Sprintf(" of %d requests (%.1f %%)", ended, 100*float64(e.Total)/float64(ended))
	}
	return text
}

// errorLine returns a kind of error with its example.
func errorLine(g *wire.ErrorGroup) string {
	line := fmt.Sprintf("%6d  %s", g.Count, g.Class)
	if g.Status != nil {
		line += fmt.Sprintf(" %d", *g.Status)
	}
	sample := g.Sample
	if sample == "" {
		sample = g.Message
	}
	return colored(lipgloss.Yellow, line) + "  " + plain(sample)
}

// logTail returns the last lines of the log.
func (v *display) logTail(room int) []string {
	lines, _ := v.log.all()
	if len(lines) == 0 && v.page == logLines {
		return []string{"no log lines yet"}
	}
	return lines[max(0, len(lines)-room):]
}
