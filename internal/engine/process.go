package engine

import (
	"sync"
	"time"

	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/run"
)

// processMeter measures the resources that this process uses. Safe for concurrent use.
type processMeter struct {
	mu   sync.Mutex
	last run.Process // guarded by mu
	at   time.Time   // guarded by mu
}

// freshness is how old a reading may be: more frequent readings would add load.
const freshness = 500 * time.Millisecond

// read returns the current usage. CPUPercent is since the previous reading.
func (m *processMeter) read() run.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if since := now.Sub(m.at); since < freshness && !m.at.IsZero() {
		return m.last
	}
	p := monitor.ReadUsage()
	if !m.at.IsZero() {
		busy := p.CPUUser + p.CPUSystem - m.last.CPUUser - m.last.CPUSystem
		p.CPUPercent = max(0, 100*float64(busy)/float64(now.Sub(m.at)))
	}
	m.last, m.at = p, now
	return p
}
