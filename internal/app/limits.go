package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"time"

	"aiperfd/internal/api"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/monitor"
	"aiperfd/internal/engine/plan"
)

// Limits bound what the clients of a daemon can take from it and ask of it. The zero
// value has the defaults of package api, and allows every load.
type Limits struct {
	API           api.Limits
	Caps          engine.Caps
	WebSockets    int           // clients at a time; 0 = feed.DefaultMaxClients
	MetricsLinger time.Duration // see api.Options
}

// requestMemory returns the cap on the memory of the requests of a run: half of what this
// process may use; 0 = no limit is known.
func requestMemory() int64 {
	limit := debug.SetMemoryLimit(-1) // only read
	if system, ok := monitor.MemoryLimit(os.DirFS("/")); ok {
		limit = min(limit, system)
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit / 2
}

// checkPlans compiles a document, and each variation of a study, and checks the plans. It
// returns that of the document; a study carries those of its variations.
// Of a search, whose variations follow from results, it checks the lowest and the highest
// values; the engine checks every cell again.
func checkPlans(doc *config.Document, caps engine.Caps, done <-chan struct{}) (*plan.Plan, error) {
	whole, err := plan.Compile(doc)
	if err != nil {
		return nil, err
	}
	s := doc.Study()
	if s == nil || s.Sweep == nil {
		return whole, caps.Check(whole)
	}
	variations := s.Checked()
	var found problem.Invalid
	seen := make(map[string]bool)
	for i := range variations {
		select {
		case <-done:
			return nil, fmt.Errorf("check variation %d of %d: %w", i+1, len(variations), context.Canceled)
		default:
		}
		cell, err := s.First(i)
		if err != nil {
			return nil, err
		}
		p, err := plan.Compile(cell.Document)
		if err == nil {
			cell.Plan, err = p, caps.Check(p)
		}
		var invalid *problem.Invalid
		if err != nil && !errors.As(err, &invalid) {
			return nil, err
		}
		if invalid == nil {
			continue
		}
		for _, one := range invalid.Problems {
			one.Detail = variations[i].Label + ": " + one.Detail
			if key := one.Pointer + one.Code; !seen[key] { // the first variation of many
				seen[key] = true
				found.Problems = append(found.Problems, one)
			}
		}
	}
	if len(found.Problems) == 0 {
		return whole, nil
	}
	return nil, &found
}
