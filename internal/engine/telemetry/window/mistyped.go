package window

import "math"

// leastFalls is how often a family that is declared a counter must have fallen by itself to be taken for a gauge.
const leastFalls = 2

// Mistyped returns the families that are declared counters and are none, such as a high-water mark: they fell twice
// while the process of the server went on. It did if its start time is the same or, without one, if other counters
// had values and none of them fell.
func (h *History) Mistyped() []*Family {
	fell := make(map[int][]*Family) // by scrape
	for _, f := range h.Families {
		for _, scrape := range f.falls() {
			if !h.restarted(scrape) {
				fell[scrape] = append(fell[scrape], f)
			}
		}
	}
	alone := make(map[*Family]int)
	for scrape, families := range fell {
		if len(families) == 1 && (h.byName[startTime] != nil || counted(h, scrape, families[0])) {
			alone[families[0]]++
		}
	}
	var out []*Family
	for _, f := range h.Families {
		if alone[f] >= leastFalls {
			out = append(out, f)
		}
	}
	return out
}

// falls returns the scrapes at which a series of a counter has fallen, each once.
func (f *Family) falls() []int {
	var out []int
	seen := make(map[int]bool)
	if f.Kind != Counter {
		return nil
	}
	for _, g := range f.Groups {
		if g.value == nil {
			continue
		}
		last := math.NaN()
		for _, c := range g.value.changes {
			if c.value < last && !seen[c.scrape] {
				seen[c.scrape] = true
				out = append(out, c.scrape)
			}
			if !math.IsNaN(c.value) {
				last = c.value
			}
		}
	}
	return out
}

// counted reports whether a counter other than a family had counted something before a scrape.
func counted(h *History, scrape int, other *Family) bool {
	for _, f := range h.Families {
		if f == other || f.Kind != Counter {
			continue
		}
		for _, g := range f.Groups {
			if g.value != nil && g.value.at(scrape-1) > 0 {
				return true
			}
		}
	}
	return false
}

// kinds returns the kinds of all families: those of the page, but for counters that are none.
func kinds(h *History) map[*Family]Kind {
	out := make(map[*Family]Kind, len(h.Families))
	for _, f := range h.Families {
		out[f] = f.Kind
	}
	for _, f := range h.Mistyped() {
		out[f] = Gauge
	}
	return out
}
