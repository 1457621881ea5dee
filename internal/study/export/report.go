// Package export writes the results of studies: AIPerf's files of repeated runs and of
// sweeps.
package export

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/search"
)

// Report is everything that is known about a study that has ended, or was cancelled.
type Report struct {
	Run      *run.Run
	Study    *config.Study
	Outcomes []cell.Outcome
	Skipped  []Skipped // variations that a condition of the sweep made needless
	// Cancelled means that cells are missing.
	Cancelled bool

	// Doubts say which files could not be derived from the results, and why.
	Doubts []string

	// Search is that of the study, if it is one; nil = it is made of the study.
	Search *search.Search

	// Paired is what the pairs of a comparison of two servers say; nil = the study is no such comparison.
	Paired *results.Answer

	cells []cell.Result // of Outcomes
	rows  []cell.Result // of their values
}

// Skipped is a variation that was not measured.
type Skipped struct {
	vary.Variation
	Why string // in words
}

// search returns the search of the study; nil = its variations are known.
func (r *Report) search() *search.Search {
	if r.Search == nil {
		r.Search = search.Of(r.Study)
	}
	return r.Search
}

// Cells returns the aggregated variations, in the order of the outcomes.
func (r *Report) Cells() []cell.Result {
	if r.cells == nil {
		r.cells = r.aggregated(r.Outcomes)
		for i := range r.cells {
			r.cells[i].Pool(r.Study.MultiRun.ConfidenceLevel, r.Study.Seed)
		}
	}
	return r.cells
}

// Rows returns the aggregated values, in the order in which they were first measured: the
// probes of one value are one row. What a boundary search says of its boundary decides what is
// feasible there.
func (r *Report) Rows() []cell.Result {
	if r.rows != nil {
		return r.rows
	}
	var merged []cell.Outcome
	for _, o := range r.Outcomes {
		same := func(m cell.Outcome) bool { return len(o.Values) > 0 && reflect.DeepEqual(m.Values, o.Values) }
		if i := slices.IndexFunc(merged, same); i >= 0 {
			merged[i].Trials = append(slices.Clip(merged[i].Trials), o.Trials...)
			continue
		}
		merged = append(merged, o)
	}
	r.rows = r.aggregated(merged)
	if s := r.search(); s != nil && s.Options.Judges() {
		found := s.Summarize(r.Outcomes).Boundary
		for i := range r.rows {
			edge, beyond := found.Place(&r.rows[i].Variation)
			if r.rows[i].Beyond = beyond; edge { // its probes may differ in what they keep
				r.rows[i].Broken = nil
			}
		}
	}
	return r.rows
}

func (r *Report) aggregated(outcomes []cell.Outcome) []cell.Result {
	var filters []sweep.Filter
	if r.Study.Sweep != nil {
		filters = r.Study.Sweep.SLAFilters
	}
	var out []cell.Result
	for _, o := range outcomes {
		out = append(out, cell.NewResult(o, filters, r.Study.MultiRun.ConfidenceLevel))
	}
	return out
}

// Compare compares the rows by the numbers that decide in the study. The two sides of pairs are not ranked: their
// answer compares them.
func (r *Report) Compare() cell.Comparison {
	if r.Study.Paired() {
		return cell.Compare(nil, nil, false)
	}
	return cell.Compare(r.Rows(), r.objectives(), r.Study.Sweep != nil && len(r.Study.Sweep.SLAFilters) > 0)
}

// objectives returns the metrics that the study optimizes, or repeats runs for.
func (r *Report) objectives() []string {
	switch s := r.Study; {
	case s.Adaptive():
		return r.search().Options.Optimized()
	case s.Sweep == nil && s.MultiRun.Convergence != nil:
		return []string{s.MultiRun.Convergence.Metric}
	}
	return nil
}

// Used returns the metrics that decide whether a run of the study counts.
func (r *Report) Used() []string {
	tags := r.objectives()
	if r.Study.Sweep != nil {
		for _, f := range r.Study.Sweep.SLAFilters {
			tags = append(tags, f.MetricTag)
		}
	}
	if len(tags) > 0 {
		return tags
	}
	best := r.Compare()
	return []string{cell.ThroughputTag, best.LatencyTag}
}

// AllExcluded reports whether there are results, but the load generator distorted the numbers
// that decide in all of them.
func (r *Report) AllExcluded() bool {
	best, measured := r.Compare(), 0
	for i := range r.rows {
		if len(r.rows[i].Good) > 0 {
			measured++
		}
	}
	return measured > 0 && len(best.Excluded) == measured
}

// The folders and files of a study.
const (
	aggregateFolder = "aggregate"
	sweepFolder     = "sweep_aggregate"
	aggregateName   = "profile_export_aiperf_aggregate"
	collatedFile    = "profile_export_aiperf_collated.json"
	sweepName       = "profile_export_aiperf_sweep"
	designFile      = "sampling_design.json"

	postProcessErrors = "post_process_errors.json"
)

// SweepFile is the JSON file of a sweep, relative to the folder of the study.
const SweepFile = sweepFolder + "/" + sweepName + ".json"

// Write writes the files of a study into its folder.
func Write(dir string, r *Report) error {
	files := make(map[string][]byte) // by path below dir
	var errs []error
	add := func(path string, data []byte, err error) {
		files[path] = data
		errs = append(errs, err)
	}
	for i := range r.Cells() {
		c := &r.cells[i]
		if len(c.Good) == 0 {
			continue
		}
		folder := r.aggregateFolder(c)
		data, err := aggregateJSON(r, c)
		add(filepath.Join(folder, aggregateName+".json"), data, err)
		add(filepath.Join(folder, aggregateName+".csv"), aggregateCSV(r, c), nil)
		if len(c.Pooled) > 0 && r.Study.MultiRun.NumRuns > 1 {
			data, err := collatedJSON(r, c)
			add(filepath.Join(folder, collatedFile), data, err)
		}
	}
	if r.Study.Sweep != nil {
		data, err := sweepJSON(r)
		add(filepath.Join(sweepFolder, sweepName+".json"), data, err)
		add(filepath.Join(sweepFolder, sweepName+".csv"), sweepCSV(r), nil)
		if kind := r.Study.Sweep.Type; kind == sweep.Sobol || kind == sweep.LatinHypercube {
			data, err := designJSON(r)
			add(filepath.Join(sweepFolder, designFile), data, err)
		}
	}
	if r.Study.Sweep != nil && r.Study.Sweep.PostProcess != nil {
		path, data, err := r.derived()
		add(path, data, err)
	}
	if r.Study.Adaptive() {
		errs = append(errs, WriteHistory(dir, r.search(), r.Outcomes))
	}
	errs = append(errs, WriteSummary(dir, r), writeAll(dir, files))
	if r.Study.Sweep != nil && r.trials() > 1 && r.Study.Sweep.IterationOrder == sweep.Repeated {
		errs = append(errs, link(dir))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return export.MarkReady(dir, r.Cancelled)
}

// writeAll writes files, by path below dir.
func writeAll(dir string, files map[string][]byte) error {
	var errs []error
	for path, data := range files {
		if err := durable.MkdirAll(dir, path); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, durable.WriteFile(filepath.Join(dir, path), durable.Shared, data))
	}
	return errors.Join(errs...)
}

// derived returns the file that is derived from the results of the sweep, or one that says
// why it could not be.
func (r *Report) derived() (path string, data []byte, err error) {
	p := r.Study.Sweep.PostProcess
	content, err := derive(p, r.Outcomes)
	if err == nil {
		if data, err = indented(content); err == nil {
			return filepath.Join(sweepFolder, p.OutputFilename), data, nil
		}
	}
	r.Doubts = append(r.Doubts, err.Error())
	data, encoding := indented(map[string]string{"handler": p.Handler, "output_filename": p.OutputFilename, "error": err.Error()})
	return filepath.Join(sweepFolder, postProcessErrors), data, encoding
}

// HistoryFile is the log of a search, in the folder of its study.
const HistoryFile = "search_history.json"

// WriteHistory writes the log of a search.
func WriteHistory(dir string, s *search.Search, done []cell.Outcome) error {
	data, err := indented(s.History(done))
	if err != nil {
		return fmt.Errorf("encode history of search: %w", err)
	}
	return durable.WriteFile(filepath.Join(dir, HistoryFile), durable.Shared, data)
}

// link makes the sweep's folder also appear where AIPerf has it for sweeps that repeat
// all variations in turn.
func link(dir string) error {
	at := filepath.Join(dir, aggregateFolder, sweepFolder)
	if err := durable.MkdirAll(dir, filepath.Join(aggregateFolder, sweepFolder)); err != nil {
		return err
	}
	err := os.Symlink(filepath.Join("..", sweepFolder), at)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// trials returns how often every variation was to be performed.
func (r *Report) trials() int { return r.Study.MultiRun.NumRuns }

// aggregateFolder returns AIPerf's folder for the aggregate of a variation.
func (r *Report) aggregateFolder(c *cell.Result) string {
	s := r.Study.Sweep
	switch {
	case s == nil:
		return aggregateFolder
	case r.trials() > 1 && s.IterationOrder == sweep.Independent:
		return filepath.Join(c.Folder, aggregateFolder)
	}
	return filepath.Join(aggregateFolder, c.Folder)
}

// names returns the names of what is varied: short ones where they are distinct.
func (r *Report) names() (paths, names []string) {
	seen := make(map[string]int)
	for _, o := range r.Outcomes {
		for _, a := range o.Values {
			if _, known := seen["path "+a.Path]; !known && a.Path != "benchmark" && a.Path != "variables" {
				seen["path "+a.Path] = 1
				seen[sweep.Name(a.Path)]++
				paths = append(paths, a.Path)
			}
		}
	}
	for _, p := range paths {
		name := sweep.Name(p)
		if seen[name] > 1 {
			name = p
		}
		names = append(names, name)
	}
	if len(paths) == 0 {
		return []string{""}, []string{"variation"}
	}
	return paths, names
}

// parameters returns the values of a variation by name; scenarios have their label.
func (r *Report) parameters(c *cell.Result) map[string]any {
	paths, names := r.names()
	out := make(map[string]any)
	for i, p := range paths {
		if v, ok := c.Value(p); ok {
			out[names[i]] = v
		}
	}
	if len(out) == 0 {
		out["variation"] = c.Label
	}
	return out
}

// Short returns the values of a variation in one line.
func Short(v *vary.Variation) string {
	whole := slices.ContainsFunc(v.Values, func(a vary.Assignment) bool { return a.Path == "benchmark" || a.Path == "variables" })
	if whole || len(v.Values) == 0 || strings.HasPrefix(v.Label, "sample_") && len(v.Values) > 3 {
		return v.Label
	}
	return sweep.Short(v.Values)
}

// TrialName returns the name of a trial of a variation; trials are counted from 0.
func TrialName(v *vary.Variation, trial int) string {
	switch {
	case v.Label == "base":
		return fmt.Sprintf("run %d", trial+1)
	case trial > 0:
		return fmt.Sprintf("%s (run %d)", Short(v), trial+1)
	}
	return Short(v)
}
