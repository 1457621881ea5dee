package export

import (
	"aiperfd/internal/engine/bench"
)

// job appends what is known of a piece of work.
func job(b []byte, j *bench.Job) []byte {
	b = append(key(b, "job"), '{')
	b = some(b, "started", int64(j.Started))
	b = some(b, "fetched", int64(j.Fetched))
	if j.PeakMemory != 0 && finite(j.PeakMemory) {
		b = appendFloat(key(b, "peak_memory_mb"), j.PeakMemory)
	}
	return append(b, '}')
}
