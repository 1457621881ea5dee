package plot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/export/columns"
	"aiperfd/internal/engine/verdict"
)

// The files that are read besides those of [export.Names].
const (
	childFile = "run_config.json"
	maxFile   = 256 << 20 // bytes of a summary
)

// summaryFile is the name of a summary without a prefix.
func summaryFile() string { return export.NamesFor("").JSON }

// namesOf returns the names of the files beside a summary; false = no summary has this name.
func namesOf(summary string) (export.Names, bool) {
	if summary == summaryFile() {
		return export.NamesFor(""), true
	}
	n := export.NamesFor(summary)
	return n, n.JSON == summary
}

// results are the runs that are drawn.
type results struct {
	runs     []*result
	requests []request // of a single run; nil until they are read
}

// result is one run.
type result struct {
	dir     string
	names   export.Names // of its files
	metrics map[string]metric
	model   string
	cell    string  // what tells it from the others of a sweep, as "concurrency 8"
	load    float64 // concurrency, rate or users; 0 = unknown
	partial string  // what the record file has of the requests; empty = all
	client  struct {
		Verdict verdict.Level
		Reasons []verdict.Reason
	}
}

// distorted reports whether the load generator made one of these metrics wrong, so that the
// value is not that of the server. A verdict without reasons is about all of them.
func (r *result) distorted(tags ...string) bool {
	if len(r.client.Reasons) == 0 {
		return r.client.Verdict == verdict.Invalid
	}
	return slices.ContainsFunc(tags, func(tag string) bool { return verdict.Of(r.client.Reasons, tag) == verdict.Invalid })
}

// warning says which numbers the load generator made wrong; empty = none.
func (r *result) warning() string {
	if len(r.client.Reasons) == 0 && r.client.Verdict == verdict.Invalid {
		return "INVALID: the client did not keep up"
	}
	var numbers []string
	for _, reason := range r.client.Reasons {
		if reason.Level == verdict.Invalid {
			numbers = append(numbers, reason.Concerns...)
		}
	}
	if len(numbers) == 0 {
		return ""
	}
	return "INVALID: " + strings.Join(numbers, ", ")
}

// metric holds the statistics of a metric: avg, p50, …
type metric struct {
	Unit  string
	Stats map[string]float64
}

// stat returns a statistic; false = the run does not have it.
func (r *result) stat(tag, stat string) (float64, bool) {
	v, ok := r.metrics[tag].Stats[stat]
	return v, ok
}

// find reads the summaries of all runs in the paths and below them, in the order of
// their names.
func find(paths []string) ([]*result, error) {
	var runs []*result
	var problems []error
	for _, path := range paths {
		before := len(runs)
		err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || isPhase(path, name) || !isSummary(name) {
				return err
			}
			r, err := readSummary(name)
			if err == nil && r != nil {
				runs = append(runs, r)
			}
			return err
		})
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("read results: %w", err))
		case len(runs) == before:
			problems = append(problems, fmt.Errorf("%s: no results: there is no %s in it or below it, nor one with a prefix", path, summaryFile()))
		}
	}
	slices.SortStableFunc(runs, func(a, b *result) int { return compareNames(a.dir, b.dir) })
	return runs, errors.Join(problems...)
}

// isSummary reports whether a file has the name of a summary. One with a prefix
// (artifacts.prefix) is none beside one without.
func isSummary(name string) bool {
	dir, base := filepath.Split(name)
	if base == summaryFile() {
		return true
	}
	if _, ok := namesOf(base); !ok {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, summaryFile()))
	return errors.Is(err, fs.ErrNotExist)
}

// isPhase reports whether a summary is that of one phase of a run.
func isPhase(root, name string) bool {
	below, err := filepath.Rel(root, name)
	return err == nil && slices.Contains(strings.Split(filepath.ToSlash(below), "/"), "phases")
}

// compareNames compares paths so that concurrency_8 comes before concurrency_16.
func compareNames(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, _ := strconv.ParseFloat(a[:x], 64)
			n, _ := strconv.ParseFloat(b[:y], 64)
			if m != n {
				return int(max(-1, min(1, m-n)))
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits returns how many digits s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// readSummary reads a run without its requests; nil = a file with a prefix is no summary.
func readSummary(name string) (*result, error) {
	names, _ := namesOf(filepath.Base(name))
	plain := names.JSON == summaryFile()
	data, err := readFile(name)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	err = json.Unmarshal(data, &members)
	switch {
	case !plain && (err != nil || members["input_config"] == nil):
		return nil, nil //nolint:nilnil // documented
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &result{dir: filepath.Dir(name), names: names, metrics: make(map[string]metric)}
	for tag, raw := range members {
		if m, ok := readMetric(raw); ok {
			r.metrics[tag] = m
		}
	}
	if raw := members["client"]; raw != nil {
		_ = json.Unmarshal(raw, &r.client) // what cannot be read is unknown
	}
	var kept struct{ Kept, Requests int64 }
	if raw := members["record_files"]; raw != nil && json.Unmarshal(raw, &kept) == nil {
		r.partial = fmt.Sprintf("the record file has %d of %d requests", kept.Kept, kept.Requests)
	}
	r.describe(members["input_config"])
	return r, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: larger than %d bytes", name, maxFile)
	}
	return data, err
}

// readMetric reads a block of statistics. Other members of a summary are none.
func readMetric(raw json.RawMessage) (metric, bool) {
	var block map[string]any
	if json.Unmarshal(raw, &block) != nil {
		return metric{}, false
	}
	unit, ok := block["unit"].(string)
	if !ok {
		return metric{}, false
	}
	m := metric{Unit: unit, Stats: make(map[string]float64)}
	for name, v := range block {
		if x, ok := v.(float64); ok {
			m.Stats[name] = x
		}
	}
	return m, true
}

// phase is a phase of the configuration in a summary.
type phase struct {
	Kind, Type  string
	Concurrency *float64
	Rate        *float64
	Users       *float64
}

// describe sets the model, the load and the cell of a run from its configuration.
func (r *result) describe(raw json.RawMessage) {
	var config struct {
		Models json.RawMessage
		Phases []phase
	}
	_ = json.Unmarshal(raw, &config) // what cannot be read is unknown
	r.model = modelName(config.Models)
	for _, p := range config.Phases {
		if p.Kind == "warmup" {
			continue
		}
		switch {
		case p.Users != nil:
			r.cell, r.load = "users "+number(*p.Users), *p.Users
		case p.Rate != nil:
			r.cell, r.load = number(*p.Rate)+" req/s", *p.Rate
		case p.Concurrency != nil:
			r.cell, r.load = "concurrency "+number(*p.Concurrency), *p.Concurrency
		default:
			r.cell = p.Type
		}
		break
	}
	var child struct {
		Variation struct{ Label string }
	}
	if data, err := readFile(filepath.Join(r.dir, childFile)); err == nil && json.Unmarshal(data, &child) == nil && child.Variation.Label != "" {
		r.cell = shortLabel(child.Variation.Label)
	}
}

// shortLabel returns the label of a variation without what all have in common:
// "concurrency 4" for phases.profiling.concurrency=4, and for AIPerf's concurrency_4.
func shortLabel(label string) string {
	parts := strings.Split(strings.ReplaceAll(label, "__", ", "), ", ")
	for i, part := range parts {
		if path, value, ok := strings.Cut(part, "="); ok {
			path = strings.ReplaceAll(strings.TrimSuffix(path, ".mean"), ".stddev", "_stddev")
			parts[i] = path[strings.LastIndexByte(path, '.')+1:] + " " + value
		}
	}
	return strings.ReplaceAll(strings.Join(parts, ", "), "_", " ")
}

// modelName returns the name of the first model of a configuration.
func modelName(raw json.RawMessage) string {
	var models struct{ Items []struct{ Name string } }
	if json.Unmarshal(raw, &models) != nil || len(models.Items) == 0 {
		return ""
	}
	return models.Items[0].Name
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// request is what the plots need of a record; times are seconds since the first start,
// lengths of time milliseconds. NaN = the request does not have it.
type request struct {
	start, end         float64
	ttft, latency, itl float64
	lag                float64 // how late it was sent
	tokens             float64
}

// record is a line of the record file.
type record struct {
	Metadata struct {
		Start     int64  `json:"request_start_ns"`
		End       int64  `json:"request_end_ns"`
		Phase     string `json:"benchmark_phase"`
		Cancelled bool   `json:"was_cancelled"`
	} `json:"metadata"`
	Metrics map[string]struct {
		Value json.RawMessage `json:"value"`
	} `json:"metrics"`
	Error json.RawMessage `json:"error"`
}

// load reads the successful requests of the run, in the order of their starts.
func (d *results) load() ([]request, error) {
	if d.requests != nil {
		return d.requests, nil
	}
	name, err := d.read()
	if err != nil {
		return nil, err
	}
	if len(d.requests) == 0 {
		return nil, fmt.Errorf("%w: no request of %s succeeded", errNoData, name)
	}
	d.sort()
	return d.requests, nil
}

// read reads the record file of the run, and returns its name.
func (d *results) read() (string, error) {
	var first int64
	r := d.runs[0]
	name, err := columns.EachLine(r.dir, r.names, func(line []byte) error { return d.add(line, &first) })
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s has neither %s nor %s; --export-level records writes them", errNoData, r.dir, r.names.Records, r.names.Tables)
	}
	return name, err
}

// add adds the request of a line if it succeeded. first is the start of the first one.
func (d *results) add(line []byte, first *int64) error {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if r.Metadata.Phase != "profiling" || r.Metadata.Cancelled || len(r.Error) > 0 && string(r.Error) != "null" {
		return nil
	}
	if *first == 0 {
		*first = r.Metadata.Start
	}
	d.requests = append(d.requests, r.request(*first))
	return nil
}

// sort orders the requests by their starts, the first at 0.
func (d *results) sort() {
	slices.SortFunc(d.requests, func(a, b request) int { return int(max(-1, min(1, (a.start-b.start)*1e9))) })
	zero := d.requests[0].start
	for i := range d.requests {
		d.requests[i].start -= zero
		d.requests[i].end -= zero
	}
}

// request returns what is drawn of a record, with times since first.
func (r *record) request(first int64) request {
	since := func(t int64) float64 { return time.Duration(t - first).Seconds() }
	return request{
		start: since(r.Metadata.Start), end: since(r.Metadata.End),
		ttft: r.value("time_to_first_token"), latency: r.value("request_latency"), itl: r.value("inter_token_latency"),
		lag: r.value("schedule_lag"), tokens: r.value("output_sequence_length"),
	}
}

// value returns a metric that is a single number; NaN = there is none.
func (r *record) value(tag string) float64 {
	x, err := strconv.ParseFloat(string(r.Metrics[tag].Value), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}
