package schema

import (
	"math"
	"slices"
	"strconv"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// Distribution describes how a quantity varies. The zero value means "not
// given". A plain number n in a document means {mean: n}.
type Distribution struct {
	Mean   *float64 `json:"mean,omitempty"`
	Stddev float64  `json:"stddev,omitempty"` // normal, truncated at 0
	Median *float64 `json:"median,omitempty"` // with mean: log-normal, mean > median
	Min    *float64 `json:"min,omitempty"`    // clamp after drawing
	Max    *float64 `json:"max,omitempty"`
	Peaks  []Peak   `json:"peaks,omitempty"`  // mixture
	Points []Point  `json:"points,omitempty"` // empirical
}

// Peak is one component of a mixture.
type Peak struct {
	Distribution
	Weight float64 `json:"weight"` // > 0, relative
}

// Point is one value of an empirical distribution.
type Point struct {
	Value  float64 `json:"value"`
	Weight float64 `json:"weight"` // > 0, relative
}

// Given reports whether the document has a value.
func (d Distribution) Given() bool {
	return d.Mean != nil || len(d.Peaks) > 0 || len(d.Points) > 0
}

// distributionFields are the keys of a distribution.
var distributionFields = [...]string{"mean", "stddev", "median", "min", "max", "peaks", "points", "weight"}

// Decode reads a number, {mean, stddev}, {mean, median}, {peaks} or {points}, the
// last four with min and max.
func (d *Distribution) Decode(f Target, n *tree.Node) bool {
	least := 0.0
	if f.Row.Least != nil {
		least = *f.Row.Least
	}
	distributionReader{f.Decoder, least}.read(n, d, f.Path, false)
	return true
}

// distributionReader decodes a distribution with its peaks and points.
type distributionReader struct {
	*Decoder
	least float64 // of a mean, median or point
}

func (r distributionReader) read(n *tree.Node, p *Distribution, path string, peak bool) {
	if n.Shape == tree.Number && !peak {
		p.Mean = r.optional(n, r.least, path)
		return
	}
	if n.Shape != tree.Object {
		r.WrongType(n, path, "a number or a distribution like {mean, stddev}")
		return
	}
	r.members(n, p, path, peak)
	r.combination(n, p, path)
}

func (r distributionReader) members(n *tree.Node, p *Distribution, path string, peak bool) {
	for _, m := range n.Members {
		at := Join(path, m.Name)
		if m.Value.Shape == tree.Null && m.Name != "weight" && slices.Contains(distributionFields[:], m.Name) {
			continue
		}
		switch m.Name {
		case "mean":
			p.Mean = r.optional(m.Value, r.least, at)
		case "stddev":
			p.Stddev, _ = r.atLeast(m.Value, 0, at)
		case "median":
			p.Median = r.optional(m.Value, math.SmallestNonzeroFloat64, at)
		case "min":
			p.Min = r.optional(m.Value, 0, at)
		case "max":
			p.Max = r.optional(m.Value, 0, at)
		case "peaks":
			r.peaks(m.Value, p, at, peak)
		case "points":
			r.points(m.Value, p, at, peak)
		case "weight":
			if !peak {
				r.Unknown(m, distributionFields[:7])
			}
		default:
			r.Unknown(m, distributionFields[:])
		}
	}
}

// combination checks that the members agree with each other.
func (r distributionReader) combination(n *tree.Node, p *Distribution, path string) {
	kinds := 0
	for _, name := range []string{"mean", "peaks", "points"} {
		if n.Get(name) != nil {
			kinds++
		}
	}
	if kinds != 1 && r.complete(n) {
		r.Failed[path] = true
		code := problem.CodeConflict
		if kinds == 0 {
			code = problem.CodeRequired
		}
		r.Fail(n.Place, code, "%s: needs one of mean, peaks or points", problem.Label(n.Place))
	}
	if n.Get("mean") == nil && (n.Get("stddev") != nil || n.Get("median") != nil) && kinds > 0 {
		r.Fail(n.Place, problem.CodeConflict, "%s: stddev and median need a mean", problem.Label(n.Place))
	}
	if p.Median != nil && p.Stddev != 0 {
		r.Fail(n.Get("median").Place, problem.CodeConflict, "median: excludes stddev")
	}
	if p.Median != nil && p.Mean != nil && *p.Mean <= *p.Median {
		r.FailValue(n.Get("median"), problem.CodeOutOfRange, "must be less than the mean")
	}
	if p.Min != nil && p.Max != nil && *p.Min > *p.Max {
		r.FailValue(n.Get("max"), problem.CodeOutOfRange, "must be at least min")
	}
	if p.Max != nil && *p.Max < r.least {
		r.FailValue(n.Get("max"), problem.CodeOutOfRange, "must be at least "+FormatNumber(r.least))
	}
}

// complete reports whether a distribution without a mean is an error; one whose
// members are all null or absent is not.
func (r distributionReader) complete(n *tree.Node) bool {
	for _, m := range n.Members {
		if m.Value.Shape != tree.Null && !(m.Name == "stddev" && m.Value.Scalar == "0") {
			return true
		}
	}
	return false
}

func (r distributionReader) optional(n *tree.Node, least float64, path string) *float64 {
	f, ok := r.atLeast(n, least, path)
	if !ok {
		return nil
	}
	return &f
}

func (r distributionReader) atLeast(n *tree.Node, least float64, path string) (float64, bool) {
	f, ok := r.Float(n, path)
	if !ok {
		return 0, false
	}
	if f < least {
		r.Failed[path] = true
		limit := "must be at least " + FormatNumber(least)
		if least == math.SmallestNonzeroFloat64 {
			limit = "must be greater than 0"
		}
		r.FailValue(n, problem.CodeOutOfRange, limit)
		return 0, false
	}
	return f, true
}

func (r distributionReader) peaks(n *tree.Node, p *Distribution, path string, nested bool) {
	if nested {
		r.Fail(n.Place, problem.CodeConflict, "peaks: a peak cannot have peaks itself")
		return
	}
	if !r.filledList(n, path) {
		return
	}
	for i, item := range n.Items {
		at := Join(path, strconv.Itoa(i))
		var peak Peak
		r.read(item, &peak.Distribution, at, true)
		peak.Weight = r.weight(item, at)
		p.Peaks = append(p.Peaks, peak)
	}
}

func (r distributionReader) points(n *tree.Node, p *Distribution, path string, nested bool) {
	if nested {
		r.Fail(n.Place, problem.CodeConflict, "points: a peak cannot have points")
		return
	}
	if !r.filledList(n, path) {
		return
	}
	for i, item := range n.Items {
		at := Join(path, strconv.Itoa(i))
		if item.Shape != tree.Object {
			r.WrongType(item, at, "an object with value and weight")
			continue
		}
		var point Point
		value := item.Get("value")
		if value == nil {
			r.Fail(item.Place, problem.CodeRequired, "value: required")
		} else {
			point.Value, _ = r.atLeast(value, r.least, Join(at, "value"))
		}
		point.Weight = r.weight(item, at)
		for _, m := range item.Members {
			if m.Name != "value" && m.Name != "weight" {
				r.Unknown(m, []string{"value", "weight"})
			}
		}
		p.Points = append(p.Points, point)
	}
}

func (r distributionReader) filledList(n *tree.Node, path string) bool {
	if n.Shape != tree.List {
		return r.WrongType(n, path, "a list")
	}
	if len(n.Items) == 0 {
		r.FailValue(n, problem.CodeOutOfRange, "needs at least 1")
	}
	return len(n.Items) > 0
}

func (r distributionReader) weight(item *tree.Node, path string) float64 {
	if item.Shape != tree.Object {
		return 0
	}
	w := item.Get("weight")
	if w == nil {
		r.Fail(item.Place, problem.CodeRequired, "weight: required")
		return 0
	}
	f, _ := r.atLeast(w, math.SmallestNonzeroFloat64, Join(path, "weight"))
	return f
}

// FormatNumber returns a number in decimal notation, without an exponent.
func FormatNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
