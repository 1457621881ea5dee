package catalogue

import (
	"slices"
	"strings"
)

// all is every metric in order. It is never changed.
var all = build()

// Rows returns every metric in order. The rows must not be changed.
func Rows() []Row { return all }

// table is the rows of a section of the text.
type table struct {
	section string
	rows    []Row
}

// tables returns all tables in the order of the catalogue.
func tables() []table {
	return []table{
		{"Latency", latencyRows()}, {"Schedule", scheduleRows()}, {"Throughput per request", throughputRows()},
		{"Tokens", tokenRows()}, {"Lengths", lengthRows()}, {"Rates", rateRows()}, {"Parts of a phase", flowRows()},
		{"Outcomes", outcomeRows()}, {"Images and audio", mediaRows()}, {"Usage", usageRows()},
		{"Usage totals", usageTotalRows()}, {"Speculative decoding", speculationRows()},
		{"Conversations", sessionRows()}, {"Repetition", reuseRows()}, {"Connection", traceRows()},
		{"Connections", connectionRows()}, {"Over time", curveRows()}, {"Items", itemRows()}, {"Jobs", jobRows()},
		{"Accelerators", powerRows()}, {"Network", networkRows()},
	}
}

// build joins the tables and adds the twins of rows.
func build() []Row {
	var out []Row
	for _, t := range tables() {
		for _, r := range t.rows {
			out = append(out, r)
			if r.Flags&IncludesFailed != 0 {
				out = append(out, adjusted(r))
			}
			if r.Least != nil {
				out = append(out, bounded(r))
			}
		}
		for _, r := range t.rows {
			if r.Power != nil {
				out = append(out, ofAMD(r))
			}
		}
	}
	return out
}

// adjusted returns the twin of r in which every error counts as infinitely slow.
func adjusted(r Row) Row {
	twin := Row{Def: r.Def, Div: r.Div, SketchDiv: r.SketchDiv, Base: r.Tag, ofAudio: r.ofAudio}
	twin.Tag, twin.Header, twin.Short = "adj_"+r.Tag, r.Header+" (error-adjusted)", ""
	twin.Kind, twin.Flags, twin.Order, twin.Headline = Derived, r.Flags&^IncludesFailed, 0, Headline{}
	twin.Doc = "The values of " + r.Tag + " and one +Inf for each error; percentiles by nearest rank. " +
		"Only with at least one error."
	if r.Tag == "effective_latency" {
		twin.Origin = Ours // AIPerf mixes errors into the metric itself
	}
	return twin
}

// bounded returns the twin of r that includes the requests that the end of the grace
// period cut.
func bounded(r Row) Row {
	twin := Row{Def: r.Def, Div: r.Div, SketchDiv: r.SketchDiv, Bounded: r.Tag, ofAudio: r.ofAudio}
	twin.Tag, twin.Header = "lower_bound_"+r.Tag, r.Header+" (lower bound)"
	twin.Short, twin.Origin = ">="+strings.TrimPrefix(r.Short, "Req "), Ours
	twin.Kind, twin.Flags, twin.Headline = Derived, r.Flags&^IncludesFailed, Headline{}
	twin.Group, twin.Order = NoGroup, 0
	twin.Doc = "The values of " + r.Tag + " and, for each request that the end of the grace period cut, " +
		"the least that it can be. Only with at least one such request."
	return twin
}

// Defs returns the definitions in order. The slice belongs to the caller. Results can
// also hold one slo_attainment.<tag> for each objective; see [Attainment].
func Defs() []Def {
	defs := make([]Def, len(all))
	for i := range all {
		defs[i] = all[i].Def
	}
	return defs
}

// Headlines returns the tags of the metrics of a use, in their order. The slice belongs to the
// caller.
func Headlines(u Use) []string {
	var found []*Def
	for i := range all {
		if d := &all[i].Def; d.Headline.Uses&u != 0 {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b *Def) int { return a.Headline.Rank - b.Headline.Rank })
	tags := make([]string, len(found))
	for i, d := range found {
		tags[i] = d.Tag
	}
	return tags
}

// attainmentPrefix begins the tag of the share of requests that meet one
// objective; the metric's own tag follows.
const attainmentPrefix = "slo_attainment."

// Lookup returns the definition with a tag, those of objectives included. It
// must not be changed.
func Lookup(tag string) (*Def, bool) {
	base, attainment := strings.CutPrefix(tag, attainmentPrefix)
	for i := range all {
		d := &all[i].Def
		switch {
		case d.Tag != base:
		case attainment:
			return Attainment(d), true
		default:
			return d, true
		}
	}
	return nil, false
}

// Attainment defines the share of requests that meet an objective on a metric.
func Attainment(base *Def) *Def {
	return &Def{
		Tag: attainmentPrefix + base.Tag, Better: Higher, Header: base.Header + " (SLO attainment)", Unit: inRatio.name,
		Kind: Derived, Flags: GoodputOnly | LargerIsBetter, Origin: Ours,
		Doc: "Share of the successes and errors that meet the objective on " + base.Tag + " alone.",
	}
}
