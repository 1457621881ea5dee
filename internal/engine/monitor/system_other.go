//go:build !linux

package monitor

import "time"

// system is a system that tells nothing but the time.
type system struct{ began time.Time }

func newSystem() system { return system{began: time.Now()} }

func (s *system) fill(t *Totals) { t.At = time.Since(s.began) }
