package dashboard

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

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
