package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
)

// artifactRoot is AIPerf's default folder, which contains one folder per run.
const artifactRoot = "artifacts"

// Folder is the artifact folder of a run in the foreground.
type Folder struct {
	Path  string
	named bool // by the user, not by autoName
	reuse bool // the folder of an earlier run of the same name
	// resumed is the id of the study that an earlier process has begun in the folder; ""
	// = there is none.
	resumed string
}

// MakeFolder creates the folder of a run: the one that the document names, whose
// files are overwritten as AIPerf does, or else a new one with a name derived from
// the run. The default of artifacts.dir counts as a name only if given is true.
func MakeFolder(d *config.Document, given bool) (*Folder, error) {
	f := newFolder(d, given)
	if !f.named {
		f.Path = f.free(f.Path)
	}
	return f, f.claim()
}

// newFolder returns the folder that a document names or gets, without looking at the disk.
func newFolder(d *config.Document, given bool) *Folder {
	f := &Folder{Path: d.Benchmark.Artifacts.Dir, reuse: d.Benchmark.Artifacts.Overwrite}
	f.named = f.Path != "" && (f.Path != artifactRoot || given)
	if !f.named {
		var models []string
		for _, m := range d.Benchmark.Models.Items {
			models = append(models, m.Name)
		}
		f.Path = filepath.Join(artifactRoot, autoName(&d.Benchmark, models))
	}
	return f
}

// claim makes the folder, with the mode that the umask gives, and takes it over from a run
// that had it. A folder that exists keeps its mode.
func (f *Folder) claim() error {
	if err := os.MkdirAll(f.Path, 0o777); err != nil {
		return fmt.Errorf("make artifact folder: %w", err)
	}
	if err := os.Remove(filepath.Join(f.Path, export.ReadyMarker)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("take over artifact folder: %w", err)
	}
	return nil
}

// rename names an automatically named folder after the models of the run, which
// the server may have reported, once all files in it are written. A folder that
// cannot be renamed keeps its name.
func (f *Folder) rename(b *config.Benchmark, models []string) {
	base, name := filepath.Base(f.Path), autoName(b, models)
	if f.named || base == name || strings.HasPrefix(base, name+"-") {
		return
	}
	if path := f.free(filepath.Join(artifactRoot, name)); os.Rename(f.Path, path) == nil {
		f.Path = path
	}
}

// free returns a folder, with a number appended if an earlier run has used it and its files
// are not to be replaced.
func (f *Folder) free(base string) string {
	dir := base
	for n := 2; !f.reuse && occupied(dir); n++ {
		dir = fmt.Sprintf("%s-%d", base, n)
	}
	return dir
}

// occupied reports whether a folder contains the results of a run.
func occupied(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, export.ReadyMarker))
	return err == nil
}

// autoName returns AIPerf's name of the folder of a run.
func autoName(b *config.Benchmark, models []string) string {
	model := "model"
	if len(models) > 0 {
		model = strings.ReplaceAll(models[0], "/", "_")
	}
	if len(models) > 1 {
		model += "_multi"
	}
	load := ""
	for i := range b.Phases {
		if b.Phases[i].Kind == string(bench.Profiling) {
			load = loadName(&b.Phases[i])
			break
		}
	}
	const most = 200 // bytes; file systems allow 255, the number that free adds included
	rest := fmt.Sprintf("-openai-%s-%s", b.Endpoint.Type, load)
	model = strings.ToValidUTF8(model[:min(len(model), most-len(rest))], "")
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, model+rest)
}

// loadName returns AIPerf's name of the load of a phase. Loads without a name of AIPerf have
// that of their type.
func loadName(p *config.Phase) string {
	switch {
	case p.Type == config.FixedSchedule:
		return config.FixedSchedule
	case p.Users != nil && p.Rate != nil:
		return fmt.Sprintf("user_centric-users%d-qps%v", *p.Users, *p.Rate)
	}
	var parts []string
	if p.Concurrency != nil {
		parts = append(parts, fmt.Sprintf("concurrency%d", *p.Concurrency))
	}
	if p.Rate != nil {
		parts = append(parts, fmt.Sprintf("request_rate%v", *p.Rate))
	}
	if p.SessionRate != nil {
		parts = append(parts, fmt.Sprintf("session_rate%v", *p.SessionRate))
	}
	if p.RateSeries != nil {
		parts = append(parts, "rate_series")
	}
	return cmp.Or(strings.Join(parts, "-"), p.Type)
}
