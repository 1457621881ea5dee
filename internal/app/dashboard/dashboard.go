// Package dashboard is the full-screen display of a run on a terminal. It shows snapshots
// in the shapes of the API, so that a run of this process and one of a daemon look the same.
package dashboard

import (
	"io"
	"os"
	"slices"
	"strings"
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

// model is the state of the display. It implements [tea.Model].
type model struct {
	display
	newest    func() message
	interrupt func()
}

var _ tea.Model = model{}

// tick is the message that it is time to look for a newer snapshot.
type tick struct{}

func wait() tea.Cmd {
	return tea.Tick(time.Second/framesPerSecond, func(time.Time) tea.Msg { return tick{} })
}

// Init implements [tea.Model].
func (m model) Init() tea.Cmd { return wait() }

// Update implements [tea.Model].
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tick:
		next := m.newest()
		m.note = next.note
		if next.snapshot != nil {
			m.snapshot = *next.snapshot
		}
		return m, wait()
	case tea.KeyPressMsg:
		m.press(msg.String())
	}
	return m, nil
}

// press handles a key.
func (m *model) press(key string) {
	toggle := func(p page) {
		if m.page == p {
			p = overview
		}
		m.page = p
	}
	switch key {
	case "q", "ctrl+c":
		m.interrupted++
		m.interrupt()
	case "w":
		m.whole = !m.whole
	case "?", "h":
		toggle(help)
	case "e":
		toggle(errorList)
	case "l":
		toggle(logLines)
	case "esc":
		m.page = overview
	}
}

// View implements [tea.Model].
func (m model) View() tea.View {
	v := tea.NewView(m.draw())
	v.AltScreen = true
	return v
}

// maxLog is the number of lines of the log that are kept.
const maxLog = 1000

// tail keeps the last lines that were written. The zero value is empty. It is safe for
// concurrent use.
type tail struct {
	mu      sync.Mutex
	lines   []string // guarded by mu
	dropped int      // guarded by mu
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, strings.Split(strings.TrimSuffix(string(p), "\n"), "\n")...)
	if n := len(t.lines) - maxLog; n > 0 {
		t.dropped += n
		t.lines = slices.Delete(t.lines, 0, n)
	}
	return len(p), nil
}

// all returns the lines that are kept, and how many are not.
func (t *tail) all() (lines []string, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines), t.dropped
}
