package metric

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/pattern"
)

// maxGroups is the number of kinds of errors that are distinguished.
const maxGroups = 1000

// Bounds of the texts that groups keep, in bytes. Messages are at most 4 KiB
// already; all of it is kept for the first groups only.
const (
	maxCode      = 128
	wholeGroups  = 100
	groupBytes   = 320 // of a group and its key, without texts
	shortExample = pattern.MaxLength
)

// otherClass is the class of the group of all errors beyond maxGroups.
const otherClass bench.Class = "other"

// ErrorGroup is one kind of error: failures that differ only in numbers and
// identifiers.
type ErrorGroup struct {
	Class   bench.Class   `json:"class"`  // "other" for the errors beyond the first 1,000 groups
	Status  int           `json:"status"` // HTTP status; 0 = none
	Code    string        `json:"code"`
	Type    string        `json:"type"`
	Pattern string        `json:"pattern"` // the message with numbers and identifiers replaced, see [pattern.Of]
	Example string        `json:"example"` // the message of the first one
	Count   int64         `json:"count"`
	First   time.Duration `json:"first_ns"` // offset from the run's epoch
	Last    time.Duration `json:"last_ns"`  // offset from the run's epoch
}

// groupKey is the common part of the failures of a group.
type groupKey struct {
	class               bench.Class
	status              int
	code, kind, pattern string
}

// Errors groups failures. It keeps 1,000 groups; failures of further kinds are
// counted together. Make one with [NewErrors]. It is not safe for concurrent
// use.
type Errors struct {
	groups map[groupKey]*ErrorGroup
	other  ErrorGroup
	bytes  int64 // memory held

	message, pattern string // the last pair, as equal errors come in bursts
}

// NewErrors returns an empty accumulator.
func NewErrors() *Errors { return &Errors{groups: make(map[groupKey]*ErrorGroup)} }

// Add counts a failure that was detected at an offset from the run's epoch.
func (e *Errors) Add(f *bench.Failure, at time.Duration) {
	if f.Message != e.message || e.pattern == "" {
		e.message, e.pattern = f.Message, pattern.Of(f.Message)
	}
	e.add(&ErrorGroup{
		Class: f.Class, Status: f.Status, Code: clip(f.Code, maxCode), Type: clip(f.Type, maxCode),
		Pattern: e.pattern, Example: f.Message, Count: 1, First: at, Last: at,
	})
}

// add counts a group's failures.
func (e *Errors) add(g *ErrorGroup) {
	key := groupKey{g.Class, g.Status, g.Code, g.Type, g.Pattern}
	known := e.groups[key]
	switch {
	case known != nil:
		known.absorb(g)
	case g.Class != otherClass && len(e.groups) < maxGroups:
		kept := *g
		if len(e.groups) >= wholeGroups {
			kept.Example = clip(kept.Example, shortExample)
		}
		e.groups[key] = &kept
		e.bytes += groupBytes + int64(len(g.Code)+len(g.Type)+len(g.Pattern)+len(kept.Example))
	case e.other.Count == 0:
		e.other = ErrorGroup{
			Class: otherClass, Pattern: "(further kinds of errors)", Example: g.Example,
			Count: g.Count, First: g.First, Last: g.Last,
		}
	default:
		e.other.absorb(g)
	}
}

// clip returns a copy of at most n bytes of a text.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:n], ""))
}

// absorb adds the failures of o.
func (g *ErrorGroup) absorb(o *ErrorGroup) {
	if o.First < g.First {
		g.First, g.Example = o.First, clip(o.Example, max(shortExample, len(g.Example)))
	}
	g.Count += o.Count
	g.Last = max(g.Last, o.Last)
}

// Merge adds the failures of o, which stays as it is.
func (e *Errors) Merge(o *Errors) {
	for _, g := range o.Groups() {
		e.add(&g)
	}
}

// Groups returns the groups, most frequent first and the collective one last.
// The slice belongs to the caller.
func (e *Errors) Groups() []ErrorGroup {
	out := make([]ErrorGroup, 0, len(e.groups)+1)
	for _, g := range e.groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b ErrorGroup) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Status, b.Status),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Pattern, b.Pattern),
		)
	})
	if e.other.Count > 0 {
		out = append(out, e.other)
	}
	return out
}
