package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
	"aiperfd/internal/store"
	"aiperfd/internal/study"
)

// Repeat is a run that is performed again.
type Repeat struct {
	Run     *run.Run
	results *export.Report     // nil = it has none, or is a study
	machine export.Environment // zero = it has no results
}

// OpenRepeat reads the run in a folder, and returns the document that repeats it: with the
// same seed, and without what belongs to the process and not to the measurement (folder,
// display and API). Secrets are not in it.
func OpenRepeat(dir string) (*Repeat, []byte, error) {
	r, err := store.ReadCopy(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.New("the folder is not that of a run; the folder of a run has a file .run.json")
	}
	if err != nil {
		return nil, nil, err
	}
	document := map[string]json.RawMessage{}
	if r.Kind() == run.KindSweep {
		text, err := study.Stored(dir)
		if err == nil {
			err = json.Unmarshal(text, &document)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read document of the study: %w", err)
		}
	} else {
		document["benchmark"] = r.Config
	}
	if document["randomSeed"] == nil {
		if document["randomSeed"], err = json.Marshal(r.Seed); err != nil {
			return nil, nil, err
		}
	}
	if document["benchmark"], err = measurementOf(document["benchmark"]); err != nil {
		return nil, nil, fmt.Errorf("read document of the run: %w", err)
	}
	out := &Repeat{Run: r}
	out.readResults(dir)
	data, err := plainjson.Marshal(document)
	return out, data, err
}

// measurementOf returns a benchmark section without its folder, the settings of the
// process and the placeholder of an API key.
func measurementOf(section json.RawMessage) (json.RawMessage, error) {
	var benchmark map[string]json.RawMessage
	if err := json.Unmarshal(section, &benchmark); err != nil {
		return nil, err
	}
	delete(benchmark, "runtime")
	for name, member := range map[string]string{"artifacts": "dir", "endpoint": "apiKey"} {
		var fields map[string]json.RawMessage
		if benchmark[name] == nil || json.Unmarshal(benchmark[name], &fields) != nil {
			continue // the loader reports what it cannot read
		}
		delete(fields, member)
		text, err := plainjson.Marshal(fields)
		if err != nil {
			return nil, err
		}
		benchmark[name] = text
	}
	return plainjson.Marshal(benchmark)
}

// readResults reads the results of the run, if there are any.
func (r *Repeat) readResults(dir string) {
	prefix, _ := results.Prefix(r.Run.Config) // without a prefix, the names are the usual ones
	if report, machine, err := results.Open(dir, prefix).Report(); err == nil {
		r.results, r.machine = report, machine
	}
}

// MissingSecrets returns an error that names the secrets of the run, if a document lacks
// some. err is the error of loading the document.
func (r *Repeat) MissingSecrets(d *config.Document, err error) error {
	var invalid *problem.Invalid
	hidden := errors.As(err, &invalid) &&
		slices.ContainsFunc(invalid.Problems, func(p problem.Problem) bool { return p.Code == problem.CodeRedacted })
	had := r.Run.Credentials
	if !hidden && (err != nil || !had.APIKey || d.Benchmark.Endpoint.APIKey.Reveal() != "") {
		return nil
	}
	var options []string
	if had.APIKey {
		options = append(options, "--api-key-file FILE (or AIPERFD_API_KEY)")
	}
	for _, name := range had.Headers {
		options = append(options, fmt.Sprintf("--header '%s:VALUE'", name))
	}
	if had.URLUserinfo {
		options = append(options, "--url with user and password")
	}
	if hidden && len(options) == 0 {
		options = append(options, "the options of the values that are "+redact.Placeholder)
	}
	return fmt.Errorf("run %s used secrets, which are never stored; give them again: %s", r.Run.ID, strings.Join(options, ", "))
}

// Lines says which run was repeated, and in what the runs differ. results is nil for a study.
func (r *Repeat) Lines(version string, now *run.Run, results *export.Report) []string {
	out := []string{fmt.Sprintf("Repeats     run %s of %s", r.Run.ID, r.Run.CreatedAt.UTC().Format(time.DateTime+"Z"))}
	differs := func(what, before, after string) {
		if before != after {
			out = append(out, fmt.Sprintf("Differs     %s: %s then, %s now", what, cmp.Or(before, "none"), cmp.Or(after, "none")))
		}
	}
	differs("aiperfd", r.Run.Version, version)
	differs("random seed", fmt.Sprint(r.Run.Seed), fmt.Sprint(now.Seed))
	differs("server", strings.Join(r.Run.Targets, ", "), strings.Join(now.Targets, ", "))
	differs("model", strings.Join(r.Run.Models, ", "), strings.Join(now.Models, ", "))
	if r.results == nil || results == nil {
		return out
	}
	if before := objectivesOf(r.Run.Summary); before != "" {
		differs("objectives", before, objectivesOf(now.Summary))
	}
	machine := export.CurrentEnvironment()
	if r.machine.Host != "" { // version 0.1 did not write it
		differs("host", r.machine.Host, machine.Host)
	}
	differs("machine", machineText(r.machine), machineText(machine))
	differs("Go", r.machine.Go, machine.Go)
	differs("token counts", r.results.Tokenizer, results.Tokenizer)
	differs("data", r.results.Dataset.Hash, results.Dataset.Hash)
	if hash := results.Dataset.Hash; hash != "" && hash == r.results.Dataset.Hash {
		out[0] += ", with the same data"
	}
	return out
}

// objectivesOf lists the objectives that a run was judged by.
func objectivesOf(s *run.Summary) string {
	var out []string
	if s != nil {
		for _, o := range s.SLOs {
			out = append(out, o.Objective)
		}
	}
	return strings.Join(out, ", ")
}

func machineText(m export.Environment) string {
	return fmt.Sprintf("%s/%s with %d processors (GOMAXPROCS %d)", m.OS, m.Arch, m.CPUs, m.Procs)
}
