package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"time"

	"aiperfd/internal/api"
	"aiperfd/internal/api/access"
	"aiperfd/internal/engine"
	"aiperfd/internal/engine/allow"
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

// TargetOptions say which servers submitted documents may reach. Without patterns they
// may reach every server if the API listens on a loopback address, and none otherwise.
// Metadata services, link-local addresses and the like are reached only if they are listed
// literally, and so is the daemon itself.
type TargetOptions struct{ Patterns allow.Patterns }

// list returns the servers that runs of a daemon may reach.
func (o TargetOptions) list(ln net.Listener) *allow.List {
	return allow.New(allow.Options{Patterns: o.Patterns, Open: access.Loopback(HostOf(ln)), Own: own(ln)})
}

// downloads returns the hosts from which a daemon may download: all that are not reserved.
// The operator chooses the hub, which redirects to other hosts.
func downloads(ln net.Listener) *allow.List {
	return allow.New(allow.Options{Open: true, Own: own(ln)})
}

// own returns the address of a listener; none of a Unix socket.
func own(ln net.Listener) []netip.AddrPort {
	if at, ok := ln.Addr().(*net.TCPAddr); ok {
		return []netip.AddrPort{at.AddrPort()}
	}
	return nil
}

// HostOf returns the host that a listener is bound to. It is localhost for a Unix socket,
// which only this machine can reach.
func HostOf(ln net.Listener) string {
	if at, ok := ln.Addr().(*net.TCPAddr); ok {
		return at.AddrPort().Addr().Unmap().String()
	}
	return "localhost"
}
