package plan

import (
	"fmt"
	"math"
	"time"

	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/transport"
)

// reservedFiles is how many files a process has open beside its connections, roughly.
const reservedFiles = 100

// Overcommitted returns a warning if a phase may need more connections at the same time
// than a process may have files open; empty = none does. A server that answers needs
// fewer; one that stalls needs them all.
func Overcommitted(p *Plan, files uint64) string {
	if p.Transport.Version != transport.HTTP1 { // requests share connections
		return ""
	}
	for i := range p.Phases {
		ph := &p.Phases[i]
		need, why := inFlightMax(ph, p.Transport.TotalTimeout)
		if need > 0 && uint64(need)+reservedFiles > files {
			return fmt.Sprintf("phase %s: if the server stalls, %d requests are in flight (%s), and this process may only have %d files open: "+
				"further requests fail; raise the limit (ulimit -n), or set a concurrency or a shorter request timeout", ph.Name, need, why, files)
		}
	}
	return ""
}

// inFlightMax returns how many requests of a phase are in flight if none is answered, and
// why; 0 = not known, since the dataset decides.
func inFlightMax(ph *spec.Phase, timeout time.Duration) (n int64, why string) {
	switch {
	case ph.Users != nil:
		n, why = int64(ph.Users.Count), "one for each user"
	case ph.Arrivals != nil:
		span := time.Duration(math.MaxInt64)
		if timeout > 0 {
			span = timeout
		}
		if ph.Duration > 0 && ph.Grace >= 0 {
			span = min(span, ph.Duration+ph.Grace)
		}
		n = int64(min(math.Ceil(ph.Rate*span.Seconds()), math.MaxInt32))
		why = fmt.Sprintf("%v/s for %v", ph.Rate, span)
	case ph.Concurrency > 0:
		n, why = int64(ph.Concurrency), "the concurrency"
	}
	for _, bound := range []struct {
		most int64
		name string
	}{{ph.Requests, "the number of requests"}, {ph.Sessions, "the number of sessions"}, {int64(ph.Concurrency), "the concurrency"}} {
		if bound.most > 0 && bound.most < n {
			n, why = bound.most, bound.name
		}
	}
	return n, why
}
