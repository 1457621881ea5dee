// Package catalogue defines the metrics: name, unit, formula, whether more
// or less is better, and when each applies.
// A new metric is one row here, with its formula, and one in metrics.md, with what users are told.
package catalogue

import "strings"

// Def is one row of the catalogue.
type Def struct {
	Tag      string    // AIPerf's name, unique
	Better   Direction // in which the metric improves
	Header   string    // for tables and Prometheus help
	Short    string    // for live panels
	Unit     string    // display unit, as files print it: ms, tokens, requests/sec …
	Kind     Kind
	Group    Group
	Order    int // sort key in its console group; 0 = exported but not in a table unless Group is set
	Headline Headline
	Flags    Flags
	Origin   string // "aiperf" or "aiperfd"
	Doc      string // definition, one or two sentences, for docs/metrics.md
}

// Shown reports whether users see the metric.
func (d *Def) Shown() bool { return d.Flags&(Internal|Experimental) == 0 }

// Direction is the direction in which a metric improves.
type Direction string

// The directions. Sizes and counts that the load determines have none, neither have
// concurrencies and shares that are neither good nor bad. It is not [LargerIsBetter], which is
// AIPerf's and decides in which direction a threshold of an objective holds.
const (
	Lower   Direction = "lower"
	Higher  Direction = "higher"
	Neither Direction = "none"
)

// Kind is how a metric is computed.
type Kind uint8

// The kinds of metrics.
const (
	PerRecord     Kind = iota // one value for each valid record (or error record with ErrorOnly)
	PerRecordList             // several values a record
	Aggregate                 // a sum, minimum or maximum over records
	Derived                   // a function of other results
	Curve                     // a time-weighted step function over the phase
)

// String returns the lower-case name.
func (k Kind) String() string {
	switch k {
	case PerRecord:
		return "record"
	case PerRecordList:
		return "list"
	case Aggregate:
		return "aggregate"
	case Derived:
		return "derived"
	case Curve:
		return "curve"
	}
	return "unknown"
}

// Group is the console table that a metric belongs to.
type Group string

// The console groups.
const (
	NoGroup          Group = ""
	GroupDefault     Group = "default"
	GroupUsage       Group = "usage"
	GroupEffective   Group = "effective"
	GroupActive      Group = "active"
	GroupSpeculation Group = "spec_decode"
	GroupPowerNVIDIA Group = "gpu_power_efficiency_nvidia"
	GroupPowerAMD    Group = "gpu_power_efficiency_amd"
)

// Flags state when a metric applies and how it is treated.
type Flags uint32

// The flags, named as in AIPerf.
const (
	StreamingOnly Flags = 1 << iota
	ProducesTokensOnly
	TokenizesInputOnly
	SupportsReasoning
	ErrorOnly
	GoodputOnly
	UsageDiffOnly
	OpenLoopOnly
	Internal
	Experimental
	NoIndividualRecords
	LargerIsBetter
	IncludesFailed     // also produces adj_<tag>
	HTTPTraceOnly      // needs the stamps of the connection
	DisabledOnAccuracy // off when answers are graded
	ProducesItemsOnly  // needs vectors or scores
	SupportsAudioOnly  // needs audio in requests or responses
	SupportsImageOnly  // needs images in requests
	ProducesImagesOnly // needs images in responses
	JobsOnly           // needs answers that are polled for
	ProducesVideoOnly  // needs an endpoint that makes videos
	DeadlineOnly       // needs deadlines of tokens
	ReplayOnly         // needs a phase that replays timestamps
	ClosedLoopOnly     // needs phases without a schedule
	PrefillOnly        // needs a limit of requests without content
)

// flagNames are the flags in the order of their bits.
var flagNames = [...]struct {
	flag Flags
	name string
}{
	{StreamingOnly, "streaming"}, {ProducesTokensOnly, "produces tokens"}, {TokenizesInputOnly, "tokenizes input"},
	{SupportsReasoning, "reasoning"}, {ErrorOnly, "errors only"}, {GoodputOnly, "with objectives"},
	{UsageDiffOnly, "own counts"}, {OpenLoopOnly, "open loop"}, {Internal, "internal"},
	{Experimental, "experimental"}, {NoIndividualRecords, "not in record lines"},
	{LargerIsBetter, "larger is better"}, {IncludesFailed, "includes failed"},
	{HTTPTraceOnly, "connection"}, {DisabledOnAccuracy, "not when graded"},
	{ProducesItemsOnly, "produces items"},
	{SupportsAudioOnly, "audio"}, {SupportsImageOnly, "images"}, {ProducesImagesOnly, "produces images"},
	{JobsOnly, "polled"}, {ProducesVideoOnly, "produces video"}, {ReplayOnly, "fixed schedule"},
	{ClosedLoopOnly, "closed loop"}, {PrefillOnly, "prefill limit"},
	{DeadlineOnly, "with deadlines of tokens"},
}

// String lists the names of the flags, separated by commas; empty for none.
func (f Flags) String() string {
	var names []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// Headline says where a metric stands out among the others; the zero value = nowhere.
type Headline struct {
	Rank int // orders the metrics of the same use; unique
	Uses Use
}

// Use is a set of places that have the metrics that matter, and no others.
type Use uint8

// The uses.
const (
	InLists  Use = 1 << iota // lists of runs, and the messages about their progress
	InTables                 // the table of distributions of a report
	OverTime                 // distributions over the time of a run: series, charts, histograms of its page
	Exposed                  // histograms for Prometheus and OpenTelemetry
	Sent                     // histograms for OpenTelemetry alone
	Pooled                   // values of all requests that the runs of a sweep have in common
)

// The origins of metrics.
const (
	AIPerf = "aiperf"
	Ours   = "aiperfd"
)
