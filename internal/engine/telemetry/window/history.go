// Package window keeps what the metrics of a server were at each scrape, and reduces it to the statistics of
// exact windows of time. It is pure: it has no clock, and times are offsets from the epoch of the run.
package window

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/telemetry/expo"
)

// Kind is the type of a family.
type Kind string

// The kinds. A summary becomes two counters, and gauges for its quantiles.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
	Unknown   Kind = "unknown" // treated as a gauge
)

// The limits of a target.
const (
	MaxSeries = 50_000   // further ones are dropped
	maxLabels = 64       // a series with more is dropped
	maxText   = 4 << 10  // a series with a longer name or label is dropped
	maxMemory = 32 << 20 // bytes of history; beyond, every second scrape is forgotten
)

// Scrape is one reading of a target.
type Scrape struct {
	Sent      time.Duration // the request was written
	FirstByte time.Duration
	End       time.Duration // the last byte was read
	Pinned    bool          // it belongs to a bound of a phase, and is never forgotten
	Fresh     bool          // the page differs from the one before
}

// At returns the time of the values: the middle of the exchange, when the server has read them.
func (s *Scrape) At() time.Duration { return s.Sent + (s.FirstByte-s.Sent)/2 }

// Family is a metric of a server.
type Family struct {
	Name   string // a counter's without _total
	Kind   Kind
	Help   string
	Unit   string // "" = unknown
	Groups []*Group

	byLabels map[string]*Group
	falls    int // scrapes at which this counter alone has fallen while the server went on
}

// Group is a series or, of a histogram, the series that have its labels.
type Group struct {
	Labels  []expo.Label // of a histogram without le; in the order of their names
	value   *column      // nil for a histogram
	sum     *column      // nil = the page lacks it
	count   *column      // likewise
	buckets []bucket     // ascending
}

// bucket is a bucket of a histogram.
type bucket struct {
	text   string // the bound as it is written
	bound  float64
	column *column
}

// column has the values of one series. Only changes are stored.
type column struct {
	changes []change
	seen    int // the last scrape that had it
}

// change is a value that holds from a scrape on. NaN = the series was absent.
type change struct {
	scrape int
	value  float64
}

// History is what was read from one target. It is not safe for concurrent use.
type History struct {
	Scrapes   []Scrape
	Families  []*Family // in the order of the page
	Dropped   int       // series beyond the limits
	NonFinite int       // samples without a finite value, which were dropped
	Malformed int       // lines that could not be read

	clean  func(string) string // redacts texts of the server
	byName map[string]*Family
	series map[string]*column // by their text on the page; nil = it is dropped
	types  map[string]declaration
	last   []byte
	bytes  int
}

// declaration is what a page says of a family.
type declaration struct{ kind, help, unit string }

// NewHistory returns an empty history. clean is called once for each text that a server has sent.
func NewHistory(clean func(string) string) *History {
	return &History{
		clean: clean, byName: map[string]*Family{}, series: map[string]*column{}, types: map[string]declaration{},
	}
}

// Add adds a page. It returns how many values it has; with none, the history does not change.
func (h *History) Add(at Scrape, page []byte) (values int) {
	at.Fresh = !bytes.Equal(h.last, page)
	index := len(h.Scrapes)
	if !at.Fresh && index > 0 { // nothing has changed: no column does
		h.Scrapes = append(h.Scrapes, at)
		for _, c := range h.series {
			if c != nil && c.seen == index-1 {
				c.seen = index
				values++
			}
		}
		return values
	}
	s := expo.NewScanner(page)
	for s.Next() {
		if s.Entry() != expo.Sample {
			h.declare(s)
			continue
		}
		c, known := h.series[string(s.Series())]
		if !known {
			c = h.newSeries(s.Series())
		}
		if c == nil {
			continue
		}
		if v := s.Value(); math.IsNaN(v) || math.IsInf(v, 0) {
			h.NonFinite++
			continue
		}
		values++
		h.bytes += c.set(index, s.Value())
	}
	h.Malformed += s.Malformed()
	if values == 0 {
		return 0
	}
	h.Scrapes = append(h.Scrapes, at)
	h.last = append(h.last[:0], page...)
	for _, c := range h.series {
		if c != nil && c.seen < index && len(c.changes) > 0 && !math.IsNaN(c.changes[len(c.changes)-1].value) {
			c.changes = append(c.changes, change{index, math.NaN()})
		}
	}
	h.noteFall()
	if h.bytes > maxMemory {
		h.thin()
	}
	return values
}

// Pin marks the newest scrape as one at the bound of a phase.
func (h *History) Pin() {
	if n := len(h.Scrapes); n > 0 {
		h.Scrapes[n-1].Pinned = true
	}
}

// set stores a value and returns how much memory it takes.
func (c *column) set(scrape int, v float64) int {
	c.seen = scrape
	const size = 16
	n := len(c.changes)
	if n > 0 && c.changes[n-1].value == v {
		return 0
	}
	if n > 0 && c.changes[n-1].scrape == scrape { // a label set that stands twice: the last wins
		c.changes[n-1].value = v
		return 0
	}
	c.changes = append(c.changes, change{scrape, v})
	return size
}

// at returns the value at a scrape; NaN = there is none.
func (c *column) at(scrape int) float64 {
	i, found := slices.BinarySearchFunc(c.changes, scrape, func(c change, at int) int {
		return cmp.Compare(c.scrape, at)
	})
	if !found {
		i--
	}
	if i < 0 {
		return math.NaN()
	}
	return c.changes[i].value
}

// thin forgets every second scrape that is not pinned, so that a long run costs resolution and not memory.
func (h *History) thin() {
	kept := make([]int, len(h.Scrapes)) // the new index of each scrape, or of the next one that is kept
	var scrapes []Scrape
	drop := false
	for i := range h.Scrapes {
		kept[i] = len(scrapes)
		if drop = !drop && !h.Scrapes[i].Pinned && i != len(h.Scrapes)-1 && i != 0; !drop {
			scrapes = append(scrapes, h.Scrapes[i])
		}
	}
	h.bytes = 0
	for _, c := range h.series {
		if c == nil {
			continue
		}
		var changes []change
		for _, old := range c.changes {
			moved := change{kept[old.scrape], old.value}
			if n := len(changes); n > 0 && changes[n-1].scrape == moved.scrape {
				changes[n-1] = moved
			} else {
				changes = append(changes, moved)
			}
		}
		c.changes, c.seen = changes, kept[c.seen]
		h.bytes += len(changes) * 16
	}
	h.Scrapes = scrapes
}

// declare keeps what a page says of a family.
func (h *History) declare(s *expo.Scanner) {
	d, known := h.types[string(s.Name())]
	if !known && (len(h.types) >= MaxSeries || len(s.Name()) > maxText || len(s.Text()) > maxText) {
		return
	}
	switch s.Entry() {
	case expo.Type:
		d.kind = string(s.Text())
	case expo.Help:
		if known && d.help != "" {
			return
		}
		d.help = h.clean(expo.Unescape(string(s.Text()), false))
	case expo.Unit:
		d.unit = string(s.Text())
	case expo.Sample, expo.None:
	}
	h.types[string(s.Name())] = d
}

// newSeries returns the column of a series that is new; nil = it is not kept.
func (h *History) newSeries(raw []byte) *column {
	text := string(raw)
	if len(h.series) >= MaxSeries || len(text) > maxText {
		h.Dropped++
		return nil
	}
	name, labels, err := expo.ParseSeries(raw)
	if err != nil || len(labels) > maxLabels {
		h.series[text] = nil
		h.Dropped++
		return nil
	}
	for i := range labels {
		labels[i].Value = h.clean(labels[i].Value)
	}
	c := h.place(name, labels)
	h.series[text] = c
	h.bytes += len(text) + 64
	return c
}

// place returns the column of a series in its family; nil = it has no place.
func (h *History) place(name string, labels []expo.Label) *column {
	base, suffix := h.split(name)
	if suffix == "_created" || suffix == "_gcount" || suffix == "_gsum" {
		return nil
	}
	d := h.types[base]
	kind := Unknown
	switch d.kind {
	case "counter":
		kind = Counter
	case "gauge", "info", "stateset":
		kind = Gauge
	case "histogram":
		kind = Histogram
	case "summary":
		if suffix == "" {
			kind = Gauge
		} else {
			base, kind = name, Counter // the family of its sum or of its count
		}
	}
	shown := base
	if kind == Counter {
		shown = strings.TrimSuffix(shown, "_total")
	} else if d.kind == "info" {
		shown = base + "_info"
	}
	f := h.family(shown, kind, d)
	if kind != Histogram {
		g := f.group(labels)
		if g.value == nil {
			g.value = &column{}
		}
		return g.value
	}
	return f.part(suffix, labels)
}

// split returns the family of a sample and what its name adds to that.
func (h *History) split(name string) (family, suffix string) {
	if _, ok := h.types[name]; ok {
		return name, ""
	}
	for _, s := range []string{"_bucket", "_sum", "_count", "_created", "_total", "_info", "_gcount", "_gsum"} {
		if base, found := strings.CutSuffix(name, s); found {
			if _, ok := h.types[base]; ok {
				return base, s
			}
			if s == "_created" {
				return base, s
			}
		}
	}
	return name, ""
}

// family returns a family, which it makes if it is new.
func (h *History) family(name string, kind Kind, d declaration) *Family {
	f := h.byName[name]
	if f == nil {
		f = &Family{Name: name, Kind: kind, Help: d.help, byLabels: map[string]*Group{}}
		f.Unit = cmp.Or(d.unit, unitOf(name, d.help))
		h.byName[name] = f
		h.Families = append(h.Families, f)
	}
	return f
}

// Family returns a family by its name; nil = the target does not have it.
func (h *History) Family(name string) *Family { return h.byName[name] }

// group returns the group of labels, which it makes if it is new.
func (f *Family) group(labels []expo.Label) *Group {
	var key strings.Builder
	for _, l := range labels {
		key.WriteString(strconv.Quote(l.Name) + strconv.Quote(l.Value))
	}
	g := f.byLabels[key.String()]
	if g == nil {
		g = &Group{Labels: labels}
		f.byLabels[key.String()] = g
		f.Groups = append(f.Groups, g)
	}
	return g
}

// part returns the column of a part of a histogram; nil = it is none.
func (f *Family) part(suffix string, labels []expo.Label) *column {
	i := slices.IndexFunc(labels, func(l expo.Label) bool { return l.Name == "le" })
	switch {
	case suffix == "_bucket" && i >= 0:
		bound, err := strconv.ParseFloat(labels[i].Value, 64)
		if err != nil || math.IsNaN(bound) {
			return nil
		}
		text := labels[i].Value
		g := f.group(slices.Delete(labels, i, i+1))
		at, found := slices.BinarySearchFunc(g.buckets, bound, func(b bucket, v float64) int {
			return cmp.Compare(b.bound, v)
		})
		if !found {
			g.buckets = slices.Insert(g.buckets, at, bucket{text, bound, &column{}})
		}
		return g.buckets[at].column
	case suffix == "_sum":
		g := f.group(labels)
		if g.sum == nil {
			g.sum = &column{}
		}
		return g.sum
	case suffix == "_count":
		g := f.group(labels)
		if g.count == nil {
			g.count = &column{}
		}
		return g.count
	}
	return nil
}

// Label returns the value of a label; "" = there is none.
func (g *Group) Label(name string) string {
	for _, l := range g.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Info reports whether a family describes the server: its values are 1, and its labels are what it says.
func (f *Family) Info() bool {
	return strings.HasSuffix(f.Name, "_info") && f.Kind != Counter && f.Kind != Histogram
}
