package plot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/verdict"
	finished "aiperfd/internal/results"
)

// childFile is what a study says about one of its runs, in the folder of the run.
const childFile = "run_config.json"

// summaryFile is the name of a summary without a prefix.
func summaryFile() string { return export.NamesFor("").JSON }

// results are the runs that are drawn.
type results struct {
	runs     []*result
	requests []request // of a single run; nil until they are read
}

// result is one run.
type result struct {
	files *finished.Results
	finished.Summary
	model   string
	cell    string  // what tells it from the others of a sweep, as "concurrency 8"
	load    float64 // concurrency, rate or users; 0 = unknown
	partial string  // what the record file has of the requests; empty = all
}

// distorted reports whether the load generator made one of these metrics wrong, so that the
// value is not that of the server. A verdict without reasons is about all of them.
func (r *result) distorted(tags ...string) bool {
	if len(r.Client.Reasons) == 0 {
		return r.Client.Verdict == verdict.Invalid
	}
	return slices.ContainsFunc(tags, func(tag string) bool { return verdict.Of(r.Client.Reasons, tag) == verdict.Invalid })
}

// warning says which numbers the load generator made wrong; empty = none.
func (r *result) warning() string {
	if len(r.Client.Reasons) == 0 && r.Client.Verdict == verdict.Invalid {
		return "INVALID: the client did not keep up"
	}
	var numbers []string
	for _, reason := range r.Client.Reasons {
		if reason.Level == verdict.Invalid {
			numbers = append(numbers, reason.Concerns...)
		}
	}
	if len(numbers) == 0 {
		return ""
	}
	return "INVALID: " + strings.Join(numbers, ", ")
}

// stat returns a statistic; false = the run does not have it.
func (r *result) stat(tag, stat string) (float64, bool) {
	v, ok := r.Metrics[tag].Stats[stat]
	return v, ok
}

// find reads the summaries of all runs in the paths and below them, in the order of
// their names.
func find(paths []string) ([]*result, error) {
	var runs []*result
	var problems []error
	for _, path := range paths {
		found, err := finished.Find(path)
		if err == nil && len(found) == 0 {
			found, err = runsOf(path)
		}
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: no results: there is no %s in it or below it, nor one with a prefix, "+
				"and no folder beside it has a run of this sweep", path, summaryFile())
		}
		if err != nil {
			problems = append(problems, err)
		}
		for _, files := range found {
			r, err := readSummary(files)
			if err != nil {
				problems = append(problems, err)
				break
			}
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(a, b *result) int { return compareNames(a.files.Dir, b.files.Dir) })
	return runs, errors.Join(problems...)
}

// runsOf returns the runs of the sweep of a daemon, whose folders are beside that of the sweep.
func runsOf(sweep string) ([]*finished.Results, error) {
	whole, err := filepath.Abs(sweep)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	configs, err := filepath.Glob(filepath.Join(filepath.Dir(whole), "*", childFile))
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var found []*finished.Results
	for _, config := range configs {
		dir := filepath.Dir(config)
		var child struct {
			Sweep string `json:"sweep_id"`
		}
		if err := finished.Open(dir, "").Decode(childFile, &child); err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		if child.Sweep != filepath.Base(whole) {
			continue
		}
		runs, err := finished.Find(dir)
		if err != nil {
			return nil, err
		}
		found = append(found, runs...)
	}
	return found, nil
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

// readSummary reads a run without its requests.
func readSummary(files *finished.Results) (*result, error) {
	summary, err := files.Summary()
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	r := &result{files: files, Summary: *summary}
	if kept := r.Kept; kept != nil {
		r.partial = fmt.Sprintf("the record file has %d of %d requests", kept.Kept, kept.Requests)
	}
	r.describe()
	return r, nil
}

// phase is a phase of the configuration in a summary.
type phase struct {
	Kind, Type  string
	Concurrency *float64
	Rate        *float64
	Users       *float64
}

// describe sets the model, the load and the cell of a run from its configuration.
func (r *result) describe() {
	var config struct {
		Models json.RawMessage
		Phases []phase
	}
	_ = json.Unmarshal(r.Config, &config) // what cannot be read is unknown
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
	if r.files.Decode(childFile, &child) == nil && child.Variation.Label != "" {
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

// load reads the successful requests of the run, in the order of their starts.
func (d *results) load() ([]request, error) {
	if d.requests != nil {
		return d.requests, nil
	}
	r := d.runs[0]
	name, err := r.files.RecordFile()
	if errors.Is(err, fs.ErrNotExist) {
		names := r.files.Names
		return nil, fmt.Errorf("%w: %s has neither %s nor %s; --export-level records writes them",
			errNoData, r.files.Dir, names.Records, names.Tables)
	}
	var first int64
	for record, err := range r.files.Records() {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if record.Metadata.Kind != bench.Profiling || !record.Succeeded() {
			continue
		}
		if first == 0 {
			first = record.Metadata.Start
		}
		d.requests = append(d.requests, requestOf(record, first))
	}
	if len(d.requests) == 0 {
		return nil, fmt.Errorf("%w: no request of %s succeeded", errNoData, name)
	}
	d.sort()
	return d.requests, nil
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

// requestOf returns what is drawn of a record, with times since first.
func requestOf(r *finished.Record, first int64) request {
	since := func(t int64) float64 { return time.Duration(t - first).Seconds() }
	value := func(tag string) float64 {
		if v, ok := r.Value(tag); ok {
			return v
		}
		return math.NaN()
	}
	return request{
		start: since(r.Metadata.Start), end: since(r.Metadata.End),
		ttft: value("time_to_first_token"), latency: value("request_latency"), itl: value("inter_token_latency"),
		lag: value("schedule_lag"), tokens: value("output_sequence_length"),
	}
}
