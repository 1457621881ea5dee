package metric

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteDocs renders the catalogue as Markdown, for docs/metrics.md. Its error is
// that of w.
func WriteDocs(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(docsIntro)
	for _, s := range docSections {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n", s.title, s.text)
		b.WriteString("| tag | header / short | kind | unit | table:order | flags | origin | definition |\n")
		b.WriteString("|---|---|---|---|---|---|---|---|\n")
		for _, r := range s.rows() {
			writeDoc(b, r.completed())
		}
	}
	b.WriteString(docsOutro)
	return b.Flush()
}

// docSection is one table of the document.
type docSection struct {
	title, text string
	rows        func() []row
}

// docSections are the tables in order.
var docSections = [...]docSection{
	{"Latency", "One value for each success; `inter_chunk_latency` has several.", latencyRows},
	{"Schedule", "Times that count from the instant a request was due or allowed to go, and how well the schedule was kept.", scheduleRows},
	{"Throughput of one request", "One value for each success.", throughputRows},
	{"Lengths", "Token counts come from the server's usage block or from the run's [tokenizer](tokenizers.md); each record says from which.", lengthRows},
	{"Items", "For endpoint types whose answers hold vectors or scores.", itemRows},
	{"Rates", "Achievements of the whole phase. W is the phase window: from the start of the phase to its last returned request.", rateRows},
	{"Outcomes", "How requests ended.", outcomeRows},
	{"Images and sound", "Pictures and sound in requests and in answers. For an endpoint that speaks, `time_to_first_token`, `inter_chunk_latency` and `inter_token_stall` are those of its sound: of the reads, or events, that brought some.", mediaRows},
	{"Usage", "What the server counted itself.", usageRows},
	{"Usage totals", "Sums over successes.", usageTotalRows},
	{"Jobs", "Of endpoint types whose answers are fetched by polling. Content has the times of the answers to polls, so their requests have no times between tokens.", jobRows},
	{"Connection", "Phases of a request that do not overlap and add up to its total.", traceRows},
	{"Over time", "Step functions over the phase window, weighted by time. They have avg, std, min, max, p50, p90, p95 and p99 and exist in final results only. Beyond some 500,000 content events they are made of means over bins of equal width (1 ms at first, 67 ms in a run of an hour): averages stay exact, except per user and active ones, where bins in which activity begins or ends are estimated; extremes are smoothed.", curveRows},
}

const docsIntro = `# Metrics

This file is generated from the catalogue in ` + "`internal/engine/metric`" + `; do not edit it.

Tags, headers, units and flags of the metrics whose origin is ` + "`aiperf`" + ` are those of NVIDIA AIPerf 0.13.

- **Kinds.** A *record* metric has one value for each request, a *list* has several; both have ` + "`avg min max sum p1 p5 p10 p25 p50 p75 p90 p95 p99 std count`" + `, and ` + "`p99_9`" + ` from 1,000 values, ` + "`p99_99`" + ` from 10,000. *Aggregate* and *derived* metrics have one value. A *curve* is weighted by time.
- **Absent is not zero.** A metric that lacks something it needs is left out.
- **Percentiles** interpolate linearly at position p/100·(n-1). They are exact while everything that a run keeps fits 64 MiB (about 400,000 requests, two million content events); beyond that, and in live results, they come from a sketch with a relative error of at most 0.3 %. The results say which. Averages, sums, extremes and counts are always exact.
- **Confidence.** Records and lists have an effective sample size and 95 % intervals of avg, p50, p90, p95 and p99; percentiles that the sample is too small for are marked. [accuracy.md](accuracy.md) says how.
- **Both clocks.** In an open loop every latency since the start of a request has a twin ` + "`corrected_<tag>`" + ` since the instant at which it was due; ` + "`schedule_lag`" + ` is the difference.
- **std** is the population standard deviation.
- **Cancelled requests** are neither successes nor errors.
`

const docsOutro = `
## Families

- ` + "`adj_<tag>`" + ` exists for every metric with the flag *includes failed* when there was an error: each error counts as an infinite value, percentiles are taken by nearest rank, and count includes the errors. Average, sum, maximum and often the upper percentiles are infinite.
- ` + "`slo_attainment.<tag>`" + ` exists for each objective: the share of successes and errors that meet this objective alone. An objective is met by a value not above the threshold, or not below it if larger values of the metric are better.
`

// writeDoc writes one line of a table.
func writeDoc(w io.Writer, r row) {
	header := r.Header
	if r.Short != "" {
		header += " / " + r.Short
	}
	place := "–"
	switch {
	case r.Group != NoGroup && r.Order != 0:
		place = fmt.Sprintf("%s:%d", r.Group, r.Order)
	case r.Group != NoGroup:
		place = string(r.Group)
	case r.Order != 0:
		place = fmt.Sprintf("–:%d", r.Order)
	}
	cells := []string{
		"`" + r.Tag + "`", header, r.Kind.String(), r.Unit, place, r.Flags.String(), r.Origin, r.Doc,
	}
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

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
	{SupportsAudioOnly, "audio"}, {SupportsImageOnly, "images"}, {ProducesImagesOnly, "makes images"},
	{JobsOnly, "polled"}, {ProducesVideoOnly, "produces video"},
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
