package catalogue

import (
	"math"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
)

// Row is one entry of the catalogue with the code behind it. Exactly one of
// Each, List, Total, Curve, Bounded, Base and Lag is set. Records are measured in base units:
// nanoseconds, bytes, tokens; totals return display units. NaN means absent.
type Row struct {
	Def
	Div       float64 // shown value = base value / Div
	SketchDiv float64 // value in sketches (seconds, bytes, tokens) = base value / SketchDiv
	Scope     Scope
	Each      func(*View) float64
	Setup     func(bench.Setup) float64        // of a connection; Each is the same for the one that a request opened
	List      func(*View, []float64) []float64 // appends the values
	Total     func(*Totals) float64
	Parts     func(*Totals) (count, sum float64) // of a total that is a share; nil = it has none
	Curve     CurveKind
	// Least is a lower bound of the value of a request that the end of the grace period
	// cut; nil = there is none.
	Least   func(*View) float64
	Bounded string                                         // of a lower_bound_ row: the metric whose lower bound it is
	Base    string                                         // of an adj_ row: the metric that it adjusts
	Lag     func(quantile func(p float64) float64) float64 // of the lags of a replay in milliseconds: offsets minus the smallest

	unit unit
	// fromStart: a time since the start of the request, so that in an open loop
	// there is one since the due time too.
	fromStart bool
	// ofAudio: it also applies to an endpoint that produces audio in place of tokens.
	ofAudio bool
}

// unit converts base values.
type unit struct {
	name   string
	div    float64 // shown value = base value / div
	sketch float64 // value in sketches (seconds, bytes, tokens) = base value / sketch
}

// The units. Times are kept in nanoseconds.
var (
	inMS         = unit{"ms", 1e6, 1e9}
	inNS         = unit{"ns", 1, 1e9}
	inMSPerToken = unit{"ms/token", 1e6, 1e9}
	inKB         = unit{"KB", 1024, 1}
	inTokens     = plain("tokens")
	inPercent    = plain("%")
	inRatio      = plain("ratio")
	inRequests   = plain("requests")
	inCount      = plain("count")
	inSeconds    = plain("sec")
	inTPS        = plain("tokens/sec")
	inTPSUser    = plain("tokens/sec/user")
	inRPS        = plain("requests/sec")
	inItems      = plain("items")
	inItemRate   = plain("items/sec")
	inMSPerImage = unit{"ms/image", 1e6, 1e9}
	inImages     = unit{"images", 1, 1}
	inIPS        = unit{"images/sec", 1, 1}
)

// plain returns a unit whose base values are shown unchanged.
func plain(name string) unit { return unit{name, 1, 1} }

// Scope is the set of records that a metric is computed from.
type Scope uint8

// The scopes.
const (
	OnValid   Scope = iota // successes
	OnError                // errors, cancellations not included
	OnAttempt              // every record
)

// Covers reports whether records of an outcome are in the scope.
func (s Scope) Covers(o Outcome) bool {
	switch s {
	case OnValid:
		return o == Success
	case OnError:
		return o == Failed
	case OnAttempt:
		return true
	}
	return false
}

// The origins of metrics.
const (
	AIPerf = "aiperf"
	Ours   = "aiperfd"
)

// all is every metric in order. It is never changed.
var all = build()

// Rows returns every metric in order. The rows must not be changed.
func Rows() []Row { return all }

// build joins the tables and derives the rest of each row.
func build() []Row {
	rows := slices.Concat(
		latencyRows(), scheduleRows(), throughputRows(), tokenRows(), lengthRows(), rateRows(), flowRows(), outcomeRows(), mediaRows(),
		usageRows(), usageTotalRows(), speculationRows(), sessionRows(), reuseRows(), traceRows(), connectionRows(), curveRows(),
		itemRows(), jobRows(),
	)
	out := make([]Row, 0, len(rows)+8)
	for _, r := range rows {
		out = append(out, r.completed())
		if r.Flags&IncludesFailed != 0 {
			out = append(out, adjusted(r.completed()))
		}
		if r.Least != nil {
			out = append(out, bounded(r.completed()))
		}
	}
	return out
}

// completed returns r with kind, unit, origin and scope set.
func (r Row) completed() Row {
	r.Unit, r.Div, r.SketchDiv = r.unit.name, r.unit.div, r.unit.sketch
	if r.Origin == "" {
		r.Origin = AIPerf
	}
	if r.Flags&ErrorOnly != 0 {
		r.Scope = OnError
	}
	switch {
	case r.Each != nil:
		r.Kind = PerRecord
	case r.List != nil:
		r.Kind = PerRecordList
	case r.Curve != NoCurve:
		r.Kind = Curve
	case r.Kind != Aggregate:
		r.Kind = Derived
	}
	return r
}

// adjusted returns the twin of r in which every error counts as infinitely slow.
func adjusted(r Row) Row {
	origin := r.Origin
	if r.Tag == "effective_latency" {
		origin = Ours // AIPerf mixes errors into the metric itself
	}
	return Row{
		Def: Def{
			Tag: "adj_" + r.Tag, Better: r.Better, Header: r.Header + " (error-adjusted)", Unit: r.Unit, Kind: Derived,
			Group: r.Group, Flags: r.Flags &^ IncludesFailed, Origin: origin,
			Doc: "The values of " + r.Tag + " and one +Inf for each error; percentiles by nearest rank. Only with at least one error.",
		},
		Div: r.Div, SketchDiv: r.SketchDiv, Base: r.Tag,
		ofAudio: r.ofAudio,
	}
}

// bounded returns the twin of r that includes the requests that the end of the grace
// period cut.
func bounded(r Row) Row {
	return Row{
		Def: Def{
			Tag: "lower_bound_" + r.Tag, Better: r.Better, Header: r.Header + " (lower bound)", Short: ">=" + strings.TrimPrefix(r.Short, "Req "), Unit: r.Unit, Kind: Derived,
			Flags: r.Flags &^ IncludesFailed, Origin: Ours,
			Doc: "The values of " + r.Tag + " and, for each request that the end of the grace period cut, the least that it can be. Only with at least one such request.",
		},
		Div: r.Div, SketchDiv: r.SketchDiv, Bounded: r.Tag,
		ofAudio: r.ofAudio,
	}
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

// Run states what a run can measure.
type Run struct {
	Streaming    bool // responses are requested as streams
	Caps         bench.Caps
	ServerTokens bool // tokens are counted by the server alone, so there is nothing to compare
	OpenLoop     bool // requests are due by a schedule
	Replay       bool // the schedule is that of the dataset
	Prefill      bool // requests wait if too many have no content yet
	Objectives   bool // there is at least one objective
	Deadline     Deadline
}

// Measures reports whether a metric makes sense in the run.
func (o *Run) Measures(r *Row) bool {
	flags := r.Flags
	if r.ofAudio && o.Caps.ProducesAudio {
		flags &^= ProducesTokensOnly
	}
	return o.applies(flags)
}

// applies reports whether a metric with flags makes sense in the run.
func (o *Run) applies(f Flags) bool {
	for _, need := range []struct {
		flag Flags
		have bool
	}{
		{StreamingOnly, o.Streaming},
		{ProducesTokensOnly, o.Caps.ProducesTokens},
		{TokenizesInputOnly, o.Caps.TokenizesInput},
		{SupportsReasoning, o.Caps.Reasoning},
		{ProducesItemsOnly, o.Caps.ProducesItems},
		{SupportsAudioOnly, o.Caps.Audio || o.Caps.ProducesAudio},
		{SupportsImageOnly, o.Caps.Images},
		{ProducesImagesOnly, o.Caps.ProducesImages},
		{JobsOnly, o.Caps.Jobs},
		{ProducesVideoOnly, o.Caps.ProducesVideo},
		{GoodputOnly, o.Objectives},
		{UsageDiffOnly, !o.ServerTokens},
		{OpenLoopOnly, o.OpenLoop},
		{ReplayOnly, o.Replay},
		{ClosedLoopOnly, !o.OpenLoop},
		{PrefillOnly, o.Prefill},
		{DeadlineOnly, o.Deadline != Deadline{}},
	} {
		if f&need.flag != 0 && !need.have {
			return false
		}
	}
	return true
}

// count turns an optional token count into a value.
func count(t *bench.Tokens) float64 {
	if t == nil {
		return math.NaN()
	}
	return float64(*t)
}
