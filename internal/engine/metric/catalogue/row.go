package catalogue

import "aiperfd/internal/engine/bench"

// Row is one entry of the catalogue with the code behind it. Exactly one of
// Each, List, Total, Curve, Bounded, Base, Power, Lag, LessTrip and Trip is set. Records are measured in base units:
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
	Least    func(*View) float64
	Bounded  string               // of a lower_bound_ row: the metric whose lower bound it is
	Base     string               // of an adj_ row: the metric that it adjusts
	Power    func(*Power) float64 // of what accelerators used, which no record has
	LessTrip string               // of a network_adjusted_ row: the metric from which the round trip is subtracted
	Trip     bool                 // the round trip between client and servers
	// Lag is about the lags of a replay in milliseconds: offsets minus the smallest.
	Lag func(quantile func(p float64) float64) float64

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
	inMS            = unit{"ms", 1e6, 1e9}
	inNS            = unit{"ns", 1, 1e9}
	inMSPerToken    = unit{"ms/token", 1e6, 1e9}
	inKB            = unit{"KB", 1024, 1}
	inTokens        = plain("tokens")
	inPercent       = plain("%")
	inRatio         = plain("ratio")
	inRequests      = plain("requests")
	inCount         = plain("count")
	inSeconds       = plain("sec")
	inTPS           = plain("tokens/sec")
	inTPSUser       = plain("tokens/sec/user")
	inRPS           = plain("requests/sec")
	inItems         = plain("items")
	inItemRate      = plain("items/sec")
	inMSPerThousand = unit{"ms/1000 tokens", 1e6, 1e9}
	inMSPerImage    = unit{"ms/image", 1e6, 1e9}
	inImages        = unit{"images", 1, 1}
	inIPS           = unit{"images/sec", 1, 1}
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

// streamedTokens are the flags of metrics of streamed texts.
const streamedTokens = StreamingOnly | ProducesTokensOnly

// newRow returns a row without its formula.
func newRow(tag string, k Kind, f Flags, u unit) Row {
	r := Row{Def: described()[tag], Div: u.div, SketchDiv: u.sketch}
	r.Tag, r.Kind, r.Flags, r.Unit = tag, k, f, u.name
	if f&ErrorOnly != 0 {
		r.Scope = OnError
	}
	return r
}

// record has one value for each record.
func record(tag string, f Flags, u unit, each func(*View) float64) Row {
	r := newRow(tag, PerRecord, f, u)
	r.Each = each
	return r
}

// list has several values for each record.
func list(tag string, f Flags, u unit, values func(*View, []float64) []float64) Row {
	r := newRow(tag, PerRecordList, f, u)
	r.List = values
	return r
}

// total is a function of what a phase has of other metrics.
func total(tag string, f Flags, u unit, of func(*Totals) float64) Row {
	r := newRow(tag, Derived, f, u)
	r.Total = of
	return r
}

// aggregate is a total that AIPerf computes from records.
func aggregate(tag string, f Flags, u unit, of func(*Totals) float64) Row {
	r := newRow(tag, Aggregate, f, u)
	r.Total = of
	return r
}

// curve is a function of time, weighted by how long each value lasted.
func curve(tag string, f Flags, u unit, c CurveKind) Row {
	r := newRow(tag, Curve, f, u)
	r.Curve = c
	return r
}

// lag is about the lags of a replay.
func lag(tag string, u unit, of func(quantile func(p float64) float64) float64) Row {
	r := newRow(tag, Derived, ReplayOnly, u)
	r.Lag = of
	return r
}

// headline returns r with the places where it stands out.
func (r Row) headline(rank int, uses Use) Row {
	r.Headline = Headline{rank, uses}
	return r
}

// sinceStart returns r as a time since the start of the request.
func (r Row) sinceStart() Row {
	r.fromStart = true
	return r
}

// alsoAudio returns r as a metric of endpoints that produce audio in place of tokens too.
func (r Row) alsoAudio() Row {
	r.ofAudio = true
	return r
}

// ofAttempts returns r with a value for every record.
func (r Row) ofAttempts() Row {
	r.Scope = OnAttempt
	return r
}

// least returns r with the lower bound of its values.
func (r Row) least(bound func(*View) float64) Row {
	r.Least = bound
	return r
}

// sums returns r, a share, with its parts.
func (r Row) sums(parts func(*Totals) (count, sum float64)) Row {
	r.Parts = parts
	return r
}

// sumOf is the sum of a per-record metric, in its display unit.
func sumOf(tag string) func(*Totals) float64 {
	return func(t *Totals) float64 { return t.Sum(tag) }
}

// rateOf is the sum of a per-record metric divided by the window.
func rateOf(tag string) func(*Totals) float64 {
	return func(t *Totals) float64 { return t.Sum(tag) / t.Window }
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
