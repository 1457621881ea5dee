package engine

import (
	"sync"

	"aiperfd/internal/engine/monitor"
)

// watched performs work while the process watches itself.
func (x *execution) watched(o monitor.Options, work func()) {
	x.observed.monitor = monitor.Start(o)
	stop := sync.OnceFunc(x.observed.monitor.Stop)
	defer stop()
	work()
}
