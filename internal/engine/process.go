package engine

import (
	"os"
	"runtime"
	"sync"
	"time"

	"aiperfd/internal/run"
)

// processMeter reads what this process uses. Safe for concurrent use.
type processMeter struct {
	mu   sync.Mutex
	last run.Process // guarded by mu
	at   time.Time   // guarded by mu
}

// freshness is how old a reading may be; asking the system more often than this
// would itself be load.
const freshness = 500 * time.Millisecond

// read returns the present use; CPU as the share since the reading before.
func (m *processMeter) read() run.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if since := now.Sub(m.at); since < freshness && !m.at.IsZero() {
		return m.last
	}
	p := run.Process{PID: os.Getpid(), Goroutines: runtime.NumGoroutine()}
	readProcess(&p)
	if !m.at.IsZero() {
		busy := p.CPUUser + p.CPUSystem - m.last.CPUUser - m.last.CPUSystem
		p.CPUPercent = max(0, 100*float64(busy)/float64(now.Sub(m.at)))
	}
	m.last, m.at = p, now
	return p
}
