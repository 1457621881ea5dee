package window

import (
	"math"
	"slices"
)

// Instances returns the history of each process that answers at the address of a page, in the order in which they were
// first seen. nil = the page does not show several: by their starts, one has answered again after another one. A
// process that another one has replaced for good is none of several.
func (h *History) Instances() []*History {
	f := h.Family("process_start_time_seconds")
	if f == nil {
		return nil
	}
	var starts []float64 // of each process, or sum of the starts of a set of processes
	scrapes := map[float64][]int{}
	returned, last := false, math.NaN()
	for i := range h.Scrapes {
		start, known := 0.0, false
		for _, g := range f.Groups {
			if g.value == nil {
				continue
			}
			if v := g.value.at(i); !math.IsNaN(v) {
				start, known = start+v, true
			}
		}
		if !known {
			continue
		}
		if !slices.Contains(starts, start) {
			starts = append(starts, start)
		} else if start != last {
			returned = true
		}
		scrapes[start], last = append(scrapes[start], i), start
	}
	if !returned {
		return nil
	}
	var out []*History
	for _, start := range starts {
		out = append(out, h.only(scrapes[start]))
	}
	return out
}

// only returns a history with some of the scrapes, to be read and not to be added to.
func (h *History) only(scrapes []int) *History {
	out := NewHistory(h.clean)
	for _, i := range scrapes {
		out.Scrapes = append(out.Scrapes, h.Scrapes[i])
	}
	for _, f := range h.Families {
		part := &Family{Name: f.Name, Kind: f.Kind, Help: f.Help, Unit: f.Unit, falls: f.falls}
		for _, g := range f.Groups {
			one := &Group{
				Labels: g.Labels, value: g.value.only(scrapes), sum: g.sum.only(scrapes), count: g.count.only(scrapes),
			}
			for _, b := range g.buckets {
				if c := b.column.only(scrapes); c != nil {
					one.buckets = append(one.buckets, bucket{b.text, b.bound, c})
				}
			}
			if one.value != nil || one.sum != nil || one.count != nil || len(one.buckets) > 0 {
				part.Groups = append(part.Groups, one)
			}
		}
		if len(part.Groups) > 0 {
			out.Families, out.byName[f.Name] = append(out.Families, part), part
		}
	}
	return out
}

// only returns the values at some of the scrapes; nil = there is none.
func (c *column) only(scrapes []int) *column {
	if c == nil {
		return nil
	}
	out := &column{}
	has := false
	last := math.NaN()
	for i, scrape := range scrapes {
		v := c.at(scrape)
		if scrape > c.seen {
			v = math.NaN()
		}
		same := v == last || math.IsNaN(v) && math.IsNaN(last)
		if !same || i == 0 && !math.IsNaN(v) {
			out.changes = append(out.changes, change{i, v})
		}
		if !math.IsNaN(v) {
			out.seen, has = i, true
		}
		last = v
	}
	if !has {
		return nil
	}
	return out
}
