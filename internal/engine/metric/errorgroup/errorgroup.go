// Package errorgroup groups the failures of a run that differ only in numbers and
// identifiers.
package errorgroup

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
)

// maxGroups is the number of kinds of errors that are distinguished.
const maxGroups = 1000

// Bounds of the texts that groups keep, in bytes. Messages are at most 4 KiB
// already; all of it is kept for the first groups only.
const (
	maxCode      = 128
	wholeGroups  = 100
	groupBytes   = 320 // of a group and its key, without texts
	shortExample = maxPattern
)

// otherClass is the class of the group of all errors beyond maxGroups.
const otherClass bench.Class = "other"

// Group is one kind of error: failures that differ only in numbers and
// identifiers.
type Group struct {
	Class   bench.Class   `json:"class"`  // "other" for the errors beyond the first 1,000 groups
	Status  int           `json:"status"` // HTTP status; 0 = none
	Code    string        `json:"code"`
	Type    string        `json:"type"`
	Pattern string        `json:"pattern"` // the message with numbers and identifiers replaced, see [Pattern]
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

// Set groups failures. It keeps 1,000 groups; failures of further kinds are
// counted together. Make one with [New]. It is not safe for concurrent use.
type Set struct {
	groups map[groupKey]*Group
	other  Group
	bytes  int64 // memory held

	message, pattern string // the last pair, as equal errors come in bursts
}

// New returns an empty accumulator.
func New() *Set { return &Set{groups: make(map[groupKey]*Group)} }

// Add counts a failure that was detected at an offset from the run's epoch.
func (e *Set) Add(f *bench.Failure, at time.Duration) {
	if f.Message != e.message || e.pattern == "" {
		e.message, e.pattern = f.Message, Pattern(f.Message)
	}
	e.AddGroup(&Group{
		Class: f.Class, Status: f.Status, Code: clip(f.Code, maxCode), Type: clip(f.Type, maxCode),
		Pattern: e.pattern, Example: f.Message, Count: 1, First: at, Last: at,
	})
}

// AddGroup counts the failures of a group that was taken from another
// accumulator. It keeps nothing of g but a copy.
func (e *Set) AddGroup(g *Group) {
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
		e.other = Group{
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
func (g *Group) absorb(o *Group) {
	if o.First < g.First {
		g.First, g.Example = o.First, clip(o.Example, max(shortExample, len(g.Example)))
	}
	g.Count += o.Count
	g.Last = max(g.Last, o.Last)
}

// Merge adds the failures of o, which stays as it is.
func (e *Set) Merge(o *Set) {
	for _, g := range o.Groups() {
		e.AddGroup(&g)
	}
}

// Size returns the memory that the groups take, in bytes.
func (e *Set) Size() int64 { return e.bytes }

// Groups returns the groups, most frequent first and the collective one last.
// The slice belongs to the caller.
func (e *Set) Groups() []Group {
	out := make([]Group, 0, len(e.groups)+1)
	for _, g := range e.groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Group) int {
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
