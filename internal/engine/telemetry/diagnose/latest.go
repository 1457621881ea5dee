package diagnose

import (
	"math"
	"time"

	"aiperfd/internal/engine/telemetry/window"
)

// Latest is what one target said when it was last read. A null is unknown.
type Latest struct {
	Running *float64 `json:"running"`
	Waiting *float64 `json:"waiting"`
	KVUsage *float64 `json:"kv_usage"`
	// HitRate and Preemptions are of the whole run until then.
	HitRate     *float64 `json:"hit_rate"`
	Preemptions *float64 `json:"preemptions"`
}

// NewLatest returns the newest values of a target in a window from the beginning of the run to now; nil = no server
// of a known kind answers there.
func NewLatest(src Source, w window.Window) *Latest {
	if len(src.Servers) == 0 {
		return nil
	}
	one := []Source{src}
	frontend := !anyEngine(one)
	level := func(name string, of func([]float64) float64) *float64 {
		var values []float64
		for s, g := range groups(one, name, frontend) {
			if at := window.At(s.History.Steps(g), []time.Duration{w.To}); !math.IsNaN(at[0]) {
				values = append(values, at[0])
			}
		}
		if len(values) == 0 {
			return nil
		}
		return new(of(values))
	}
	total := func(name string) *float64 {
		var sum *float64
		for s, g := range groups(one, name, frontend) {
			if n, ok := s.History.Increase(g, w); ok {
				if sum == nil {
					sum = new(float64)
				}
				*sum += n.Total
			}
		}
		return sum
	}
	out := &Latest{
		Running: level("running", window.Sum), Waiting: level("waiting", window.Sum), KVUsage: level("kv_usage", window.Mean),
		Preemptions: total("preemptions"),
	}
	if hits, queries := total("prefix_hits"), total("prefix_queries"); hits != nil && queries != nil && *queries > 0 {
		out.HitRate = new(min(1, *hits / *queries))
	}
	return out
}
