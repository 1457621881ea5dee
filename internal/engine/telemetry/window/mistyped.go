package window

// leastFalls is how often a family that is declared a counter must have fallen by itself to be taken for a gauge.
const leastFalls = 2

// Mistyped reports whether a family is declared a counter and is none, such as a high-water mark: it fell twice while
// the process of the server went on. It did if its start time is the same or, without one, if other counters had values
// and none of them fell.
func (f *Family) Mistyped() bool { return f.falls >= leastFalls }

// kind returns the kind of a family: that of the page, but for a counter that is none.
func (f *Family) kind() Kind {
	if f.Mistyped() {
		return Gauge
	}
	return f.Kind
}

// noteFall counts the newest scrape for a counter that fell at it although the process of the server went on.
func (h *History) noteFall() {
	scrape := len(h.Scrapes) - 1
	var fallen *Family
	for _, f := range h.Families {
		if f.Kind != Counter || !f.fell(scrape) {
			continue
		}
		if fallen != nil { // several fall if the server begins again
			return
		}
		fallen = f
	}
	if fallen != nil && !h.restarted(scrape) && (h.byName[startTime] != nil || counted(h, scrape, fallen)) {
		fallen.falls++
	}
}

// fell reports whether a series of a counter fell at a scrape, the newest one.
func (f *Family) fell(scrape int) bool {
	for _, g := range f.Groups {
		if g.value == nil {
			continue
		}
		changes := g.value.changes
		n := len(changes)
		if n < 2 || changes[n-1].scrape != scrape {
			continue
		}
		// An absent series is NaN, and never smaller.
		if changes[n-1].value < changes[n-2].value {
			return true
		}
	}
	return false
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
