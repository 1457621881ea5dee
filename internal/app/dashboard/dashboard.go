// Package dashboard is the full-screen display of a run on a terminal. It shows snapshots
// in the shapes of the API, so that a run of this process and one of a daemon look the same.
package dashboard

import (
	"io"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"aiperfd/internal/app/terminal"
)

// framesPerSecond bounds how often the screen is drawn.
const framesPerSecond = 4

// Options are the parameters of a dashboard. Out, In and Interrupt are required.
type Options struct {
	Out, In *os.File // terminals
	// Interrupt is called when q or Ctrl+C is pressed. It must not block.
	Interrupt func()
	// Leaves says that the run goes on without the dashboard.
	Leaves bool
	ASCII  bool
}

// Possible reports whether a dashboard can be shown: both files are terminals, the process
// may read from one, and the other is large enough.
func Possible(out, in *os.File) bool {
	const columns, lines = 20, 5
	width, height := terminal.Size(out)
	return terminal.Redrawable(out) && terminal.Foreground(in) && width >= columns && height >= lines
}

// Dashboard is a full-screen display. Its methods are safe for concurrent use.
type Dashboard struct {
	program *tea.Program
	log     *tail
	done    chan struct{} // closed when the terminal is as before
	failed  error         // to be read after done

	mu   sync.Mutex
	next message // guarded by mu; not drawn yet
}

// message is what the model gets from outside.
type message struct {
	snapshot *terminal.Snapshot
	note     string // shown beside the state, such as a lost connection; empty = none
}

// Start takes over the terminal. The caller must call Stop.
func Start(o Options) *Dashboard {
	d := &Dashboard{log: &tail{}, done: make(chan struct{})}
	m := model{interrupt: o.Interrupt, display: display{leaves: o.Leaves, ascii: o.ASCII, log: d.log}, newest: d.newest}
	d.program = tea.NewProgram(m, tea.WithOutput(o.Out), tea.WithInput(o.In), tea.WithFPS(framesPerSecond),
		tea.WithoutSignalHandler(), tea.WithColorProfile(profileOf(o.Out)))
	go func() {
		defer close(d.done)
		_, d.failed = d.program.Run()
	}()
	return d
}

// profileOf returns the colours of a terminal: 16 at most, so that the colours are those
// that its user chose.
func profileOf(f *os.File) colorprofile.Profile {
	if terminal.Colored(f) {
		return colorprofile.ANSI
	}
	return colorprofile.ASCII
}

// Log returns the writer of the lines of the log area. It never blocks.
func (d *Dashboard) Log() io.Writer { return d.log }

// Show shows a snapshot; a nil one leaves the last one. A note is shown beside the state.
func (d *Dashboard) Show(s *terminal.Snapshot, note string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s == nil {
		s = d.next.snapshot
	}
	d.next = message{s, note}
}

// newest returns what to draw.
func (d *Dashboard) newest() message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next
}

// Done is closed when the dashboard has ended, because of Stop or because the terminal is gone.
func (d *Dashboard) Done() <-chan struct{} { return d.done }

// Stop gives the terminal back, with its content before Start, and returns the last lines
// of the log and how many lines came before them. It may be called several times.
func (d *Dashboard) Stop() (lines []string, dropped int, err error) {
	const patience = 2 * time.Second // for a terminal that takes no output
	d.program.Quit()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-d.done:
		err = d.failed
	case <-timer.C:
		d.program.Kill()
	}
	lines, dropped = d.log.all()
	return lines, dropped, err
}
