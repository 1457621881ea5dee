package config

import (
	"math"
	"strconv"
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

// Given reports whether the document said anything.
func (d Distribution) Given() bool {
	return d.Mean != nil || len(d.Peaks) > 0 || len(d.Points) > 0
}

// distributionFields are the keys of a distribution.
var distributionFields = [...]string{"mean", "stddev", "median", "min", "max", "peaks", "points", "weight"}

// decode reads a number, {mean, stddev}, {mean, median}, {peaks} or {points}, the
// last four with min and max.
func (d *Distribution) decode(f field, n *node) bool {
	least, _ := strconv.ParseFloat(f.tag.Get("least"), 64)
	distributionReader{f.decoder, least}.read(n, d, f.path, false)
	return true
}

// distributionReader decodes a distribution with its peaks and points.
type distributionReader struct {
	*decoder
	least float64 // of a mean, median or point
}

func (r distributionReader) read(n *node, p *Distribution, path string, peak bool) {
	if n.shape == number && !peak {
		r.mean(n, p, path)
		return
	}
	if n.shape != object {
		r.wrongType(n, path, "a number or a distribution like {mean, stddev}")
		return
	}
	r.members(n, p, path, peak)
	r.combination(n, p, path)
}

func (r distributionReader) members(n *node, p *Distribution, path string, peak bool) {
	for _, m := range n.members {
		at := join(path, m.name)
		if m.value.shape == null && m.name != "weight" && known(m.name) {
			continue
		}
		switch m.name {
		case "mean":
			r.mean(m.value, p, at)
		case "stddev":
			p.Stddev, _ = r.atLeast(m.value, 0, at)
		case "median":
			p.Median = r.optional(m.value, math.SmallestNonzeroFloat64, at)
		case "min":
			p.Min = r.optional(m.value, 0, at)
		case "max":
			p.Max = r.optional(m.value, 0, at)
		case "peaks":
			r.peaks(m.value, p, at, peak)
		case "points":
			r.points(m.value, p, at, peak)
		case "weight":
			if !peak {
				r.unknown(m, distributionFields[:7])
			}
		default:
			r.unknown(m, distributionFields[:])
		}
	}
}

func known(name string) bool {
	for _, f := range distributionFields {
		if f == name {
			return true
		}
	}
	return false
}

// combination checks what the members say together.
func (r distributionReader) combination(n *node, p *Distribution, path string) {
	kinds := 0
	for _, name := range []string{"mean", "peaks", "points"} {
		if n.get(name) != nil {
			kinds++
		}
	}
	if kinds != 1 && r.complete(n) {
		r.failed[path] = true
		code := CodeConflict
		if kinds == 0 {
			code = CodeRequired
		}
		r.fail(n.place, code, "%s: needs one of mean, peaks or points", label(n.place))
	}
	if n.get("mean") == nil && (n.get("stddev") != nil || n.get("median") != nil) && kinds > 0 {
		r.fail(n.place, CodeConflict, "%s: stddev and median need a mean", label(n.place))
	}
	if p.Median != nil && p.Stddev != 0 {
		r.fail(n.get("median").place, CodeConflict, "median: excludes stddev")
	}
	if p.Median != nil && p.Mean != nil && *p.Mean <= *p.Median {
		r.failValue(n.get("median"), CodeOutOfRange, "must be less than the mean")
	}
	if p.Min != nil && p.Max != nil && *p.Min > *p.Max {
		r.failValue(n.get("max"), CodeOutOfRange, "must be at least min")
	}
	if p.Max != nil && *p.Max < r.least {
		r.failValue(n.get("max"), CodeOutOfRange, "must be at least "+format(r.least))
	}
}

// complete reports whether a distribution without a mean should be complained
// about; one of which everything is null or absent says nothing.
func (r distributionReader) complete(n *node) bool {
	for _, m := range n.members {
		if m.value.shape != null && !(m.name == "stddev" && m.value.scalar == "0") {
			return true
		}
	}
	return false
}

func (r distributionReader) mean(n *node, p *Distribution, path string) {
	p.Mean = r.optional(n, r.least, path)
}

func (r distributionReader) optional(n *node, least float64, path string) *float64 {
	f, ok := r.atLeast(n, least, path)
	if !ok {
		return nil
	}
	return &f
}

func (r distributionReader) atLeast(n *node, least float64, path string) (float64, bool) {
	f, ok := r.float(n, path)
	if !ok {
		return 0, false
	}
	if f < least {
		r.failed[path] = true
		limit := "must be at least " + format(least)
		if least == math.SmallestNonzeroFloat64 {
			limit = "must be greater than 0"
		}
		r.failValue(n, CodeOutOfRange, limit)
		return 0, false
	}
	return f, true
}

func (r distributionReader) peaks(n *node, p *Distribution, path string, nested bool) {
	if nested {
		r.fail(n.place, CodeConflict, "peaks: a peak cannot have peaks itself")
		return
	}
	if !r.filledList(n, path) {
		return
	}
	for i, item := range n.items {
		at := join(path, strconv.Itoa(i))
		var peak Peak
		r.read(item, &peak.Distribution, at, true)
		peak.Weight = r.weight(item, at)
		p.Peaks = append(p.Peaks, peak)
	}
}

func (r distributionReader) points(n *node, p *Distribution, path string, nested bool) {
	if nested {
		r.fail(n.place, CodeConflict, "points: a peak cannot have points")
		return
	}
	if !r.filledList(n, path) {
		return
	}
	for i, item := range n.items {
		at := join(path, strconv.Itoa(i))
		if item.shape != object {
			r.wrongType(item, at, "an object with value and weight")
			continue
		}
		var point Point
		value := item.get("value")
		if value == nil {
			r.fail(item.place, CodeRequired, "value: required")
		} else {
			point.Value, _ = r.atLeast(value, r.least, join(at, "value"))
		}
		point.Weight = r.weight(item, at)
		for _, m := range item.members {
			if m.name != "value" && m.name != "weight" {
				r.unknown(m, []string{"value", "weight"})
			}
		}
		p.Points = append(p.Points, point)
	}
}

func (r distributionReader) filledList(n *node, path string) bool {
	if n.shape != list {
		return r.wrongType(n, path, "a list")
	}
	if len(n.items) == 0 {
		r.failValue(n, CodeOutOfRange, "needs at least 1")
	}
	return len(n.items) > 0
}

func (r distributionReader) weight(item *node, path string) float64 {
	if item.shape != object {
		return 0
	}
	w := item.get("weight")
	if w == nil {
		r.fail(item.place, CodeRequired, "weight: required")
		return 0
	}
	f, _ := r.atLeast(w, math.SmallestNonzeroFloat64, join(path, "weight"))
	return f
}

func format(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
