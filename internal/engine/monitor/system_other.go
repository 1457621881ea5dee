//go:build !linux

package monitor

import "time"

// system is a system of which only the time is known.
type system struct{ began time.Time }

func newSystem() system { return system{began: time.Now()} }

func (s *system) fill(t *Totals) { t.At = time.Since(s.began) }
