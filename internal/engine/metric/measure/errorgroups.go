package measure

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
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

// groupKey is the common part of the failures of a group.
type groupKey struct {
	class               bench.Class
	status              int
	code, kind, pattern string
}

// ErrorGroups groups the failures of a run that differ only in numbers and identifiers. It keeps
// 1,000 groups; failures of further kinds are counted together. Make one with [NewErrorGroups]. It is not safe for concurrent use.
type ErrorGroups struct {
	groups map[groupKey]*metric.ErrorGroup
	other  metric.ErrorGroup
	bytes  int64 // memory held

	message, pattern string // the last pair, as equal errors come in bursts
}

// NewErrorGroups returns an empty accumulator.
func NewErrorGroups() *ErrorGroups {
	return &ErrorGroups{groups: make(map[groupKey]*metric.ErrorGroup)}
}

// Add counts a failure that was detected at an offset from the run's epoch.
func (e *ErrorGroups) Add(f *bench.Failure, at time.Duration) {
	if f.Message != e.message || e.pattern == "" {
		e.message, e.pattern = f.Message, ErrorPattern(f.Message)
	}
	e.AddGroup(&metric.ErrorGroup{
		Class: f.Class, Status: f.Status, Code: clip(f.Code, maxCode), Type: clip(f.Type, maxCode),
		Pattern: e.pattern, Example: f.Message, Count: 1, First: at, Last: at,
	})
}

// AddGroup counts the failures of a group that was taken from another
// accumulator. It keeps nothing of g but a copy.
func (e *ErrorGroups) AddGroup(g *metric.ErrorGroup) {
	key := groupKey{g.Class, g.Status, g.Code, g.Type, g.Pattern}
	known := e.groups[key]
	switch {
	case known != nil:
		absorb(known, g)
	case g.Class != otherClass && len(e.groups) < maxGroups:
		kept := *g
		if len(e.groups) >= wholeGroups {
			kept.Example = clip(kept.Example, shortExample)
		}
		e.groups[key] = &kept
		e.bytes += groupBytes + int64(len(g.Code)+len(g.Type)+len(g.Pattern)+len(kept.Example))
	case e.other.Count == 0:
		e.other = metric.ErrorGroup{
			Class: otherClass, Pattern: "(further kinds of errors)", Example: g.Example,
			Count: g.Count, First: g.First, Last: g.Last,
		}
	default:
		absorb(&e.other, g)
	}
}

// clip returns a copy of at most n bytes of a text.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:n], ""))
}

// absorb adds the failures of o to g.
func absorb(g, o *metric.ErrorGroup) {
	if o.First < g.First {
		g.First, g.Example = o.First, clip(o.Example, max(shortExample, len(g.Example)))
	}
	g.Count += o.Count
	g.Last = max(g.Last, o.Last)
}

// Merge adds the failures of o, which stays as it is.
func (e *ErrorGroups) Merge(o *ErrorGroups) {
	for _, g := range o.Groups() {
		e.AddGroup(&g)
	}
}

// Size returns the memory that the groups take, in bytes.
func (e *ErrorGroups) Size() int64 { return e.bytes }

// Groups returns the groups, most frequent first and the collective one last.
// The slice belongs to the caller.
func (e *ErrorGroups) Groups() []metric.ErrorGroup {
	out := make([]metric.ErrorGroup, 0, len(e.groups)+1)
	for _, g := range e.groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b metric.ErrorGroup) int {
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
