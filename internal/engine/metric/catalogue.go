package metric

import (
	"math"
	"slices"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/timeline"
)

// row is one entry of the catalogue with the code behind it. Exactly one of
// each, list, total, curve, base and lag is set. Records are measured in base units:
// nanoseconds, bytes, tokens; totals return display units. NaN means absent.
type row struct {
	Def
	unit  unit
	scope scope
	each  func(*view) float64
	setup func(bench.Setup) float64        // of a connection; each is the same for the one that a request opened
	list  func(*view, []float64) []float64 // appends the values
	total func(*totals) float64
	parts func(*totals) (count, sum float64) // of a total that is a share; nil = it has none
	curve timeline.Curve
	base  string                                         // of an adj_ row: the metric that it adjusts
	lag   func(quantile func(p float64) float64) float64 // of the lags of a replay in milliseconds, see [finisher.fillLag]
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

// scope is the set of records that a metric is computed from.
type scope uint8

const (
	onValid   scope = iota // successes
	onError                // errors, cancellations not included
	onAttempt              // every record
)

// covers reports whether records of an outcome are in the scope.
func (s scope) covers(o outcome) bool {
	switch s {
	case onValid:
		return o == success
	case onError:
		return o == failure
	case onAttempt:
		return true
	}
	return false
}

// The origins of metrics.
const (
	aiperf = "aiperf"
	ours   = "aiperfd"
)

// catalogue is every metric in order. It is never changed.
var catalogue = buildCatalogue()

// buildCatalogue joins the tables and derives the rest of each row.
func buildCatalogue() []row {
	rows := slices.Concat(
		latencyRows(), scheduleRows(), throughputRows(), lengthRows(), rateRows(), outcomeRows(), mediaRows(),
		usageRows(), usageTotalRows(), reuseRows(), traceRows(), connectionRows(), curveRows(),
		itemRows(), jobRows(),
	)
	out := make([]row, 0, len(rows)+8)
	for _, r := range rows {
		out = append(out, r.completed())
		if r.Flags&IncludesFailed != 0 {
			out = append(out, adjusted(r.completed()))
		}
	}
	return out
}

// completed returns r with kind, unit, origin and scope set.
func (r row) completed() row {
	r.Unit = r.unit.name
	if r.Origin == "" {
		r.Origin = aiperf
	}
	if r.Flags&ErrorOnly != 0 {
		r.scope = onError
	}
	switch {
	case r.each != nil:
		r.Kind = PerRecord
	case r.list != nil:
		r.Kind = PerRecordList
	case r.curve != timeline.None:
		r.Kind = Curve
	case r.Kind != Aggregate:
		r.Kind = Derived
	}
	return r
}

// adjusted returns the twin of r in which every error counts as infinitely slow.
func adjusted(r row) row {
	origin := r.Origin
	if r.Tag == "effective_latency" {
		origin = ours // AIPerf mixes errors into the metric itself
	}
	return row{
		Def: Def{
			Tag: "adj_" + r.Tag, Header: r.Header + " (error-adjusted)", Unit: r.Unit, Kind: Derived,
			Group: r.Group, Flags: r.Flags &^ IncludesFailed, Origin: origin,
			Doc: "The values of " + r.Tag + " and one +Inf for each error; percentiles by nearest rank. Only with at least one error.",
		},
		unit:    r.unit,
		base:    r.Tag,
		ofAudio: r.ofAudio,
	}
}

// Defs returns the catalogue in order. The slice belongs to the caller. Results
// can also hold one slo_attainment.<tag> for each objective, which is made when
// a [Set] is.
func Defs() []Def {
	defs := make([]Def, len(catalogue))
	for i := range catalogue {
		defs[i] = catalogue[i].Def
	}
	return defs
}

// Options describe what a run can measure and the objectives that it has.
type Options struct {
	Streaming    bool // responses are requested as streams
	Caps         bench.Caps
	SLOs         map[string]float64 // thresholds by tag of a per-record metric, in its display unit
	ServerTokens bool               // tokens are counted by the server alone, so there is nothing to compare
	OpenLoop     bool               // requests are due by a schedule
	Prefill      bool               // requests wait if too many have no content yet
	Replay       bool               // the schedule is that of the dataset
	// Budget bounds the values that a set keeps, in memory and on disk, in bytes. While
	// all values fit, percentiles are exact; see [Set.Size] for what happens beyond.
	// 0 = [DefaultBudget]; negative = no values are kept.
	Budget int64
}

// DefaultBudget is the default of [Options.Budget]: 64 MiB, enough for all values of
// about 400,000 streamed requests and 2 million content events.
const DefaultBudget = 64 << 20

// measures reports whether a metric makes sense under o.
func (o *Options) measures(r *row) bool {
	flags := r.Flags
	if r.ofAudio && o.Caps.ProducesAudio {
		flags &^= ProducesTokensOnly
	}
	return o.applies(flags)
}

// applies reports whether a metric with flags makes sense under o.
func (o *Options) applies(f Flags) bool {
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
		{GoodputOnly, len(o.SLOs) > 0},
		{UsageDiffOnly, !o.ServerTokens},
		{OpenLoopOnly, o.OpenLoop},
		{ReplayOnly, o.Replay},
		{PrefillOnly, o.Prefill},
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
