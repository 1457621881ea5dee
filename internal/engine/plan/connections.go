package plan

import (
	"fmt"

	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// reservedFiles is how many files a process has open beside its connections, roughly.
const reservedFiles = 100

// Overcommitted returns a warning if a closed loop needs more connections at the same time
// than a process may have files open; empty = none does. How many requests of an open loop
// are in flight depends on the server: those that get no connection say so themselves.
func Overcommitted(p *Plan, files uint64) string {
	if p.Transport.Version != transport.HTTP1 { // requests share connections
		return ""
	}
	for i := range p.Phases {
		ph := &p.Phases[i]
		need, why := inFlightMax(ph)
		if need > 0 && uint64(need)+reservedFiles > files {
			return fmt.Sprintf("phase %s: up to %d requests are in flight at the same time (%s), and this process may only have %d files open: "+
				"further requests fail; raise the limit (ulimit -n), or set a lower concurrency", ph.Name, need, why, files)
		}
	}
	return ""
}

// inFlightMax returns how many requests of a closed loop are in flight, and why; 0 = the
// phase is none.
func inFlightMax(ph *spec.Phase) (n int64, why string) {
	if ph.Open() {
		return 0, ""
	}
	n, why = int64(ph.Concurrency), "the concurrency"
	for _, bound := range []struct {
		most int64
		name string
	}{{ph.Requests, "the number of requests"}, {ph.Sessions, "the number of sessions"}} {
		if bound.most > 0 && bound.most < n {
			n, why = bound.most, bound.name
		}
	}
	return n, why
}
