package export

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/window"
)

// The versions of AIPerf's files with the metrics of servers.
const (
	serverMetricsSchema = "1.1"
	serverTablesSchema  = "1.0"
)

// hasServerMetrics returns whether a report makes a file of the servers' metrics.
func hasServerMetrics(format string) func(r *Report) bool {
	return func(r *Report) bool {
		return r.Server != nil && r.Server.Pages != nil && slices.Contains(r.Server.Pages.Formats, format)
	}
}

// serverSeries is a series in AIPerf's file. What AIPerf does not have is in ours.
type serverSeries struct {
	URL     string         `json:"endpoint_url,omitempty"`
	Labels  window.Labels  `json:"labels,omitempty"`
	Stats   window.Stats   `json:"stats"`
	Buckets window.Buckets `json:"buckets,omitempty"`
	Slices  []serverSlice  `json:"timeslices,omitempty"`
	Ours    window.Own     `json:"ours"`
}

// serverSlice is a time slice of a series. AIPerf marks only those that are not whole.
type serverSlice struct {
	Start    int64 `json:"start_ns"`
	End      int64 `json:"end_ns"`
	Complete *bool `json:"is_complete,omitempty"`
	window.Stats
	Buckets window.Buckets
}

// MarshalJSON implements json.Marshaler. The statistics are members of the slice.
func (s serverSlice) MarshalJSON() ([]byte, error) {
	o := object{{"start_ns", s.Start}, {"end_ns", s.End}}
	if s.Complete != nil {
		o.add("is_complete", *s.Complete)
	}
	for _, stat := range s.Stats {
		if finite(stat.Value) {
			o.add(stat.Name, stat.Value)
		}
	}
	if s.Buckets != nil {
		o.add("buckets", s.Buckets)
	}
	return o.appendJSON(nil)
}

// serverMetric is a family in AIPerf's file.
type serverMetric struct {
	Type   window.Kind    `json:"type"`
	About  string         `json:"description"`
	Unit   string         `json:"unit,omitempty"`
	Series []serverSeries `json:"series"`
}

// serverMetrics are families by their names.
type serverMetrics map[string]*serverMetric

// serverMetricsOf joins the families of all pages by their names.
func serverMetricsOf(p *diagnose.Pages, of func(*diagnose.Page) []window.Metric) serverMetrics {
	out := serverMetrics{}
	for i := range p.Pages {
		out.add(p.Clock, p.Pages[i].URL, of(&p.Pages[i]))
	}
	return out
}

// add adds the families of a page, whose address the series get.
func (s serverMetrics) add(clock bench.Clock, url string, metrics []window.Metric) {
	for _, m := range metrics {
		one := s[m.Name]
		if one == nil {
			one = &serverMetric{Type: m.Kind, About: m.Help, Unit: m.Unit}
			s[m.Name] = one
		}
		for _, from := range m.Series {
			series := serverSeries{URL: url, Labels: from.Labels, Stats: from.Stats, Buckets: from.Buckets, Ours: from.Own}
			for _, part := range from.Slices {
				slice := serverSlice{
					Start: clock.UnixNano(part.From), End: clock.UnixNano(part.To), Stats: part.Stats, Buckets: part.Buckets,
				}
				if !part.Complete {
					slice.Complete = &part.Complete
				}
				series.Slices = append(series.Slices, slice)
			}
			one.Series = append(one.Series, series)
		}
	}
}

func profilingMetrics(page *diagnose.Page) []window.Metric { return page.Profiling }
func warmupMetrics(page *diagnose.Page) []window.Metric    { return page.Warmup }

// WriteServerMetrics writes AIPerf's server_metrics_export.json of a report with pages.
func WriteServerMetrics(w io.Writer, r *Report) error {
	p := r.Server.Pages
	answered, info, phases := []string{}, map[string]diagnose.Info{}, map[string]any{}
	for i := range p.Pages {
		answered = append(answered, p.Pages[i].URL)
		info[p.Pages[i].URL] = p.Pages[i].Info
	}
	for _, one := range p.Ranges {
		if !one.Excluded {
			from, to := p.Clock.UnixNano(one.Window.From), p.Clock.UnixNano(one.Window.To)
			phases[one.Name] = map[string]int64{"start_ns": from, "end_ns": to}
		}
	}
	summary := object{{"endpoints_configured", p.Configured}, {"endpoints_successful", answered}}
	summary.addTime("start_time", p.Clock.Wall(p.Profiling.From))
	summary.addTime("end_time", p.Clock.Wall(p.Profiling.To))
	summary.add("endpoint_info", info)
	summary.add("phase_time_ranges", phases)
	all := object{
		{"schema_version", serverMetricsSchema}, {"aiperf_version", compatVersion}, {"benchmark_id", r.RunID},
		{"summary", summary}, {"metrics_phase", "profiling"}, {"metrics", serverMetricsOf(p, profilingMetrics)},
	}
	if warm := serverMetricsOf(p, warmupMetrics); len(warm) > 0 {
		all.add("warmup_metrics", warm)
	}
	if r.InputConfig != nil {
		all.add("input_config", r.InputConfig)
	}
	all.add("ours", object{{"aiperfd_version", r.Version}, {"targets", r.Server.Targets}, {"phases", r.Server.Phases}})
	text, err := all.appendJSON(nil)
	if err != nil {
		return err
	}
	return writeIndented(w, "", append(text, '\n'), "")
}

// serverColumns are the statistics of the sections of the CSV file.
func serverColumns(kind window.Kind) []string {
	const percentiles = "p1 p5 p10 p25 p50 p75 p90 p95 p99"
	switch kind {
	case window.Counter:
		return strings.Fields("total rate rate_avg rate_min rate_max rate_std")
	case window.Histogram:
		columns := strings.Fields("count count_rate sum sum_rate avg")
		for name := range strings.FieldsSeq(percentiles) {
			columns = append(columns, name+"_estimate")
		}
		return columns
	case window.Gauge, window.Unknown:
	}
	return strings.Fields("avg min max std " + percentiles)
}

// writeServerCSV writes AIPerf's server_metrics_export.csv: a section per type of metric, and one of those
// that describe servers.
func writeServerCSV(w io.Writer, r *Report) error {
	const head = "# AIPerf Server Metrics Export (CSV)\r\n# aiperf_version: %s\r\n# schema_version: 1.0\r\n# benchmark_id: %s\r\n" +
		"# Statistics cover the profiling phases, from the first request to the last response.\r\n"
	if _, err := fmt.Fprintf(w, head, compatVersion, r.RunID); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	for _, kind := range []window.Kind{window.Gauge, window.Counter, window.Histogram, window.Unknown} {
		if err := writeServerSection(w, out, serverSection(r.Server.Pages, kind)); err != nil {
			return err
		}
	}
	return writeServerSection(w, out, serverInfoSection(r.Server.Pages))
}

// writeServerSection writes a section behind an empty line; one without rows is left out.
func writeServerSection(w io.Writer, out *csv.Writer, rows [][]string) error {
	if len(rows) < 2 {
		return nil
	}
	if _, err := io.WriteString(w, "\r\n"); err != nil { // WriteAll has flushed
		return err
	}
	return out.WriteAll(rows)
}

// serverSection returns the rows of the metrics of a type, with their head.
func serverSection(p *diagnose.Pages, kind window.Kind) [][]string {
	stats, labels := serverColumns(kind), serverLabels(p, func(m *window.Metric) bool { return m.Kind == kind && !m.Info })
	head := slices.Concat([]string{"Endpoint", "Type", "Metric", "Unit"}, stats, labels, []string{"Description"})
	if kind == window.Histogram {
		head = append(head, "buckets")
	}
	rows := [][]string{}
	for i := range p.Pages {
		page := &p.Pages[i]
		for _, m := range page.Profiling {
			if m.Kind != kind || m.Info {
				continue
			}
			for _, s := range m.Series {
				row := []string{page.Authority(), string(kind), m.Name, m.Unit}
				for _, name := range stats {
					row = append(row, serverCell(s.Stats, name))
				}
				for _, name := range labels {
					row = append(row, labelOf(s.Labels, name))
				}
				row = append(row, m.Help)
				if kind == window.Histogram {
					row = append(row, bucketsCell(s.Buckets))
				}
				rows = append(rows, row)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[2], b[2])) })
	return append([][]string{head}, rows...)
}

// serverInfoSection returns what servers say of themselves: a row per label.
func serverInfoSection(p *diagnose.Pages) [][]string {
	rows := [][]string{{"Endpoint", "Metric", "Key", "Value", "Description"}}
	for i := range p.Pages {
		for _, m := range p.Pages[i].Profiling {
			for _, s := range m.Series {
				for _, l := range s.Labels {
					if m.Info {
						rows = append(rows, []string{p.Pages[i].Authority(), m.Name, l.Name, l.Value, m.Help})
					}
				}
			}
		}
	}
	return rows
}

// serverLabels returns the names of the labels of some metrics, sorted.
func serverLabels(p *diagnose.Pages, of func(m *window.Metric) bool) []string {
	names := map[string]bool{}
	for i := range p.Pages {
		for j := range p.Pages[i].Profiling {
			m := &p.Pages[i].Profiling[j]
			for _, s := range m.Series {
				for _, l := range s.Labels {
					if of(m) {
						names[l.Name] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func labelOf(labels window.Labels, name string) string {
	for _, l := range labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// serverCell writes a statistic with four decimals; empty = there is none.
func serverCell(stats window.Stats, name string) string {
	v, ok := stats.Get(name)
	if !ok || !finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}

func bucketsCell(buckets window.Buckets) string {
	var parts []string
	for _, b := range buckets {
		parts = append(parts, b.Bound+"="+strconv.FormatInt(b.Count, 10))
	}
	return strings.Join(parts, ";")
}

// serverRows is how many rows of the table are handed over at a time.
const serverRows = 4096

// writeServerTable writes AIPerf's server_metrics_export.parquet: a row per series and reading of the
// profiling phases, of histograms one per bucket. Counters count from the start of the phases, and their last
// row has the total of the other files.
func writeServerTable(w io.Writer, r *Report) error {
	p := r.Server.Pages
	labels := serverLabels(p, func(*window.Metric) bool { return true })
	group := parquet.Group{"timestamp_ns": parquet.Leaf(parquet.Int64Type)}
	for _, name := range []string{"endpoint_url", "metric_name", "metric_type", "unit", "description", "bucket_le"} {
		group[name] = parquet.Optional(parquet.String())
	}
	for _, name := range []string{"value", "sum", "count", "bucket_count"} {
		group[name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
	}
	labels = slices.DeleteFunc(labels, func(name string) bool { return group[name] != nil })
	for _, name := range labels {
		group[name] = parquet.Optional(parquet.String())
	}
	schema := parquet.NewSchema("server_metrics", group)
	options := []parquet.WriterOption{schema, parquet.Compression(&parquet.Zstd)}
	metadata, err := serverTableMetadata(r, labels)
	if err != nil {
		return err
	}
	for _, one := range metadata {
		options = append(options, parquet.KeyValueMetadata("aiperf."+one[0], one[1]))
	}
	out := parquet.NewGenericWriter[any](w, options...)
	t := serverTable{out: out, columns: map[string]int{}}
	for i, path := range schema.Columns() {
		t.columns[path[0]] = i
	}
	for i := range p.Pages {
		page := &p.Pages[i]
		page.History.Rows(p.Profiling, func(row *window.Row) { t.add(page.URL, row, p.Clock.UnixNano(row.At)) })
	}
	if err := t.flush(); err != nil {
		return err
	}
	return out.Close()
}

// serverTable makes rows of the table.
type serverTable struct {
	out     *parquet.GenericWriter[any]
	columns map[string]int
	rows    []parquet.Row
	failed  error
}

// add adds the state of a series, or of one bucket.
func (t *serverTable) add(url string, from *window.Row, at int64) {
	row := make(parquet.Row, len(t.columns))
	for i := range row {
		row[i] = parquet.NullValue().Level(0, 0, i)
	}
	put := func(name string, v parquet.Value) {
		i, known := t.columns[name]
		if !known {
			return
		}
		level := 1
		if name == "timestamp_ns" {
			level = 0
		}
		row[i] = v.Level(0, level, i)
	}
	f := from.Family
	for _, l := range from.Labels {
		put(l.Name, parquet.ByteArrayValue([]byte(l.Value)))
	}
	for name, text := range map[string]string{
		"endpoint_url": url, "metric_name": f.Name, "metric_type": string(f.Kind), "unit": f.Unit, "description": f.Help,
	} {
		put(name, parquet.ByteArrayValue([]byte(text)))
	}
	put("timestamp_ns", parquet.Int64Value(at))
	if f.Kind == window.Histogram {
		put("sum", parquet.DoubleValue(from.Sum))
		put("count", parquet.DoubleValue(from.Count))
		put("bucket_le", parquet.ByteArrayValue([]byte(from.Bound)))
		put("bucket_count", parquet.DoubleValue(from.Observed))
	} else {
		put("value", parquet.DoubleValue(from.Value))
	}
	if t.rows = append(t.rows, row); len(t.rows) >= serverRows && t.failed == nil {
		t.failed = t.flush()
	}
}

// flush hands the rows over.
func (t *serverTable) flush() error {
	if t.failed != nil {
		return t.failed
	}
	_, err := t.out.WriteRows(t.rows)
	t.rows = t.rows[:0]
	return err
}

// serverTableMetadata returns what AIPerf's table says of itself.
func serverTableMetadata(r *Report, labels []string) ([][2]string, error) {
	p := r.Server.Pages
	types, urls, names := map[window.Kind]int{}, []string{}, map[string]bool{}
	for i := range p.Pages {
		urls = append(urls, p.Pages[i].URL)
		for _, m := range p.Pages[i].Profiling {
			if !names[m.Name] {
				types[m.Kind]++
			}
			names[m.Name] = true
		}
	}
	host, _ := os.Hostname() // without a name, it is empty
	var failed error
	text := func(v any) string {
		data, err := plainjson.Marshal(v)
		failed = cmp.Or(failed, err)
		return string(data)
	}
	seconds := p.Profiling.Seconds()
	out := [][2]string{
		{"schema_version", serverTablesSchema}, {"version", compatVersion}, {"benchmark_id", r.RunID},
		{"export_timestamp_utc", time.Now().UTC().Format(time.RFC3339)}, {"exporter", "aiperfd " + r.Version}, {"hostname", host},
		{"time_filter_start_ns", strconv.FormatInt(p.Clock.UnixNano(p.Profiling.From), 10)},
		{"time_filter_end_ns", strconv.FormatInt(p.Clock.UnixNano(p.Profiling.To), 10)},
		{"profiling_duration_ns", strconv.FormatInt(int64(p.Profiling.To-p.Profiling.From), 10)},
		{"profiling_duration_seconds", strconv.FormatFloat(seconds, 'f', -1, 64)},
		{"input_config", text(r.InputConfig)}, {"model_names", text(r.Models)},
		{"endpoint_urls", text(urls)}, {"endpoint_count", strconv.Itoa(len(urls))},
		{"label_columns", text(append([]string{}, labels...))}, {"label_count", strconv.Itoa(len(labels))},
		{"metric_count", strconv.Itoa(len(names))}, {"metric_type_counts", text(types)},
		{"schema_note", "counters and histograms count from the start of the profiling phases; the last row of a series is at their end"},
	}
	return out, failed
}
