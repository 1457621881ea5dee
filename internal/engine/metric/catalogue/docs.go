package catalogue

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
		b.WriteString("| tag | name | kind | unit | definition | notes |\n|---|---|---|---|---|---|\n")
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
	rows        func() []Row
}

// docSections are the tables in order.
var docSections = [...]docSection{
	{"Latency", "One value per successful request; `inter_chunk_latency` has several.", latencyRows},
	{"Schedule", "Latencies measured from when a request was due or was allowed to start, and how well the schedule was kept.", scheduleRows},
	{"Throughput per request", "One value per successful request.", throughputRows},
	{"Tokens", "Latencies per token. The metrics above follow AIPerf and take each content event for a token; these take the tokens that each event brought.", tokenRows},
	{"Lengths", "Token counts come from the server's usage block or from the [tokenizer](tokenizers.md) of the run; each record states which.", lengthRows},
	{"Items", "For endpoint types that return vectors or scores.", itemRows},
	{"Rates", "Values for the whole phase. W is the phase window: from the start of the phase, or from the end of its ramps with `excludeRamp`, to the return of its last request.", rateRows},
	{"Parts of a phase", "What happened in a time slice or in a named window, whenever the requests started.", flowRows},
	{"Outcomes", "How requests ended.", outcomeRows},
	{"Images and audio", "Images and audio in requests and responses. For endpoints that return speech, `time_to_first_token`, `inter_chunk_latency` and `inter_token_stall` refer to the reads or events that contain audio.", mediaRows},
	{"Usage", "Counts reported by the server.", usageRows},
	{"Usage totals", "Sums over successful requests.", usageTotalRows},
	{"Speculative decoding", "From metrics.speculative_decoding of responses (vLLM). Reports whose numbers contradict each other, and those of responses with several choices, are left out.", speculationRows},
	{"Conversations", "For conversations of several turns. A conversation has a session latency if all its turns succeeded. The summary has all metrics by turn in `results_by_turn`, where turn 0 is the first, and 15 stands for all from the sixteenth on; the report has a table of them.", sessionRows},
	{"Repetition", "How much of what the profiling phases sent had been sent before in the run, warm-up included. [prefix-caches.md](prefix-caches.md) has the definitions and how exact they are.", reuseRows},
	{"Jobs", "For endpoint types whose results are fetched by polling. Content is timestamped with the poll that returned it, so these requests have no inter-token latencies.", jobRows},
	{"Connection", "Phases of a request; they do not overlap and add up to its total.", traceRows},
	{"Connections", "One value per opened connection, whether it was opened ahead of the phase or by a request, and whether or not it succeeded.", connectionRows},
	{"Over time", "Step functions over the phase window, weighted by time. They have avg, std, min, max, p50, p90, p95 and p99 and exist only in final results. Beyond about 500,000 content events they are computed from means over bins of equal width (1 ms at first, 67 ms in a run of one hour): averages stay exact, except those per user and those over active time, for which bins in which activity begins or ends are estimated; extremes are smoothed.", curveRows},
}

const docsIntro = `# Metrics

This file is generated from ` + "`internal/engine/metric/catalogue`" + `; do not edit it.

Tags, names and units are those of NVIDIA AIPerf 0.13, except for metrics with the note *not in AIPerf*. The notes also state when a metric exists (*streaming*: only for streamed responses) and the console table in which it appears, if any.

- **Kinds.** A *record* metric has one value per request, a *list* metric has several; both have ` + "`avg min max sum p1 p5 p10 p25 p50 p75 p90 p95 p99 std count`" + `, and ` + "`p99_9`" + ` from 1,000 values, ` + "`p99_99`" + ` from 10,000. *Aggregate* and *derived* metrics have one value per run. A *curve* is a function of time.
- **Absent is not zero.** A metric that cannot be computed is left out.
- **Percentiles** interpolate linearly at position p/100·(n-1). They are exact as long as the values of a run fit into 64 MiB (about 400,000 requests, two million content events); beyond that, and in live results, they are estimated by a sketch with a relative error of at most 0.3 %. The results state which. Averages, sums, extremes and counts are always exact.
- **Confidence.** Record and list metrics have an effective sample size and 95 % confidence intervals of avg, p50, p90, p95 and p99; percentiles for which the sample is too small are marked. [accuracy.md](accuracy.md#statistics) explains how.
- **Start and due time.** In an open loop, every latency measured from the start of a request has a counterpart ` + "`corrected_<tag>`" + ` measured from the time at which the request was due; ` + "`schedule_lag`" + ` is the difference.
- **std** is the population standard deviation, ` + "`std_sample`" + ` that of a sample (n-1). ` + "`iqr`" + ` is p75 - p25, ` + "`mad`" + ` the median distance from the median, ` + "`tail_ratio`" + ` p99 / p50; ` + "`max_100ms`" + ` of a curve is its largest mean over 100 ms. In the summary they are in ` + "`statistics`" + `.
- **Cancelled requests** are neither successes nor errors.
`

const docsOutro = `
## Windows

The summary has the throughput of a profiling phase in three ` + "`windows`" + `; none of them changes the metrics above, which are divided by W.

- ` + "`phase`" + `: from the start of the phase to the return of its last request, W.
- ` + "`activity`" + `: from the first start of a request to the last end of one.
- ` + "`steady`" + ` of a closed loop: from the first to the last instant with as many requests in flight as there are slots. After it, a slot stays empty.
- ` + "`steady`" + ` of an open loop: from the truncation point of MSER-5 on the waiting times (to the first content, or to the end without streaming) of the successful requests, in the order of their starts, to the last start of a request.

A steady window of less than 30 % of the phase is absent, and so is one whose beginning is not found: if the slots were never full, or if MSER-5 truncates more than half of the requests or has fewer than 50. ` + "`method`" + ` says so. In a long run, whose curves come from bins, slots count as full if the mean over a bin is at least 95 % of them. Tokens of streams count in the window in which they arrived. Requests count in ` + "`phase`" + ` and ` + "`activity`" + `, which contain all of them, when they ended; in ` + "`steady`" + ` each success counts by the share of its time that lies in the window, as do its input and the output that did not arrive in pieces. (A window that begins with c full slots and ends when one stays empty has the ends of n-(c-1) of n requests, so that a rate of ends would be too low by (c-1)/n. The sum of the shares is the rate of Little's law, requests in flight divided by mean latency: J. D. C. Little, *A proof for the queuing formula L = λW*, Operations Research 9, 1961.) ` + "`requests_started`" + ` and ` + "`requests_ended`" + ` are counts.

## Time slices

With ` + "`--slice-duration`" + ` (` + "`artifacts.sliceDuration`" + `) each profiling phase is divided into intervals of that length, from its start on; the last one ends with the phase. A request belongs to the slice in which it started, with all its values. Rates are divided by the length of the slice, so with long requests the first slices have too many tokens and the last ones too few; ` + "`output_tokens_per_second_arrival`" + ` counts tokens in the slice in which they arrived. Metrics over time are cut at the bounds. Metrics of the phase as a whole (lags of a replay, repetition, connections) and intervals of confidence are absent. Percentiles are exact for up to 512 values of a metric in a slice. Slices take at most as much memory as the values of the run; if there would be more, or more than 16,384 slices, neighbours are joined, and a note says so.

## Objectives

Objectives of each request (` + "`--goodput 'ttft:500 itl:50'`" + `, ` + "`slos`" + ` in a document) count the requests that meet all of them: good_request_count, goodput and ` + "`slo_attainment.<tag>`" + `. With ` + "`--deadline-first-token 500 --deadline-inter-token 50`" + ` (` + "`tokenDeadline`" + `) it is also an objective of each request that every token i arrives within 500 + (i-1)·50 ms of its start.

Objectives of the run (` + "`--slo 'p99(ttft) < 500ms'`" + `, ` + "`runSlos`" + `) compare a statistic with a limit: ` + "`STATISTIC(METRIC) OPERATOR NUMBER`" + `, with the operators ` + "`< <= > >=`" + ` and the names of statistics above; a metric with a single value stands alone, as in ` + "`request_error_rate < 1`" + `. Numbers have the unit of the metric; times may have ns, us, ms, s or min. Each objective and its outcome are in the headline, in ` + "`slo_results`" + ` of the summary, and in the API, where the run has the verdict ` + "`pass`" + ` or ` + "`fail`" + `. ` + "`aiperfd profile`" + ` exits with code 3 if one is missed. A statistic that the run does not have misses every objective. ` + "`uncertain`" + ` marks outcomes, met or missed, that more requests may change: a plausible value of the statistic is on the other side of the limit ([accuracy.md](accuracy.md#intervals)). ` + "`doubt`" + ` says why. Without requests that ended, there is no percentile to judge: use ` + "`p99(adj_request_latency)`" + `, which counts every error as infinitely slow, together with an objective on request_error_rate.

## Families

- ` + "`adj_<tag>`" + ` exists for every metric with the note *includes failed* if at least one request failed: each error counts as an infinite value, percentiles are taken by nearest rank, and count includes the errors. Average, sum, maximum and often the upper percentiles are infinite.
- ` + "`lower_bound_<tag>`" + ` exists for time_to_first_token, request_latency and their corrected twins if the end of the grace period cut at least one request, in final results of a phase as a whole. The slowest requests are those that are cut, so percentiles without them are too low: here each of them counts with its age at the cut, or with its first content if that had come. Every statistic is at most what it would be if the requests had ended. If more than 1 % of the requests that were sent were cut, the summary has ` + "`truncated: true`" + ` and the headline prints these percentiles too. Requests that were never sent are in dropped_arrival_count.
- ` + "`slo_attainment.<tag>`" + ` exists for each objective: the share of successful and failed requests that meet this objective alone. A value meets an objective if it does not exceed the threshold or, for metrics with the note *larger is better*, if it is not below it.
`

// writeDoc writes one line of a table.
func writeDoc(w io.Writer, r Row) {
	header := r.Header
	if r.Short != "" {
		header += " / " + r.Short
	}
	var notes []string
	if r.Origin != "aiperf" {
		notes = append(notes, "not in AIPerf")
	}
	if flags := r.Flags.String(); flags != "" {
		notes = append(notes, flags)
	}
	if r.Group != NoGroup {
		notes = append(notes, "table "+string(r.Group))
	}
	cells := []string{"`" + r.Tag + "`", header, r.Kind.String(), r.Unit, r.Doc, strings.Join(notes, "; ")}
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
	{SupportsAudioOnly, "audio"}, {SupportsImageOnly, "images"}, {ProducesImagesOnly, "produces images"},
	{JobsOnly, "polled"}, {ProducesVideoOnly, "produces video"}, {ReplayOnly, "fixed schedule"}, {ClosedLoopOnly, "closed loop"}, {PrefillOnly, "prefill limit"},
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
