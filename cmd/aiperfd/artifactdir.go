package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/export"
)

// artifactRoot is AIPerf's default folder, below which each run has one of its own.
const artifactRoot = "artifacts"

// artifactDir makes the folder of a run: the one that was named, which is written
// over as AIPerf does, or one that is named after the run.
func artifactDir(d *config.Document, flags *flags.Flags) (dir string, named bool, err error) {
	dir = d.Benchmark.Artifacts.Dir
	named = dir != "" && (dir != artifactRoot || flags.Given("--artifact-dir"))
	if !named {
		dir = freeDir(&d.Benchmark)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", named, fmt.Errorf("make artifact folder: %w", err)
	}
	if err := os.Remove(filepath.Join(dir, export.ReadyMarker)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", named, fmt.Errorf("take over artifact folder: %w", err)
	}
	return dir, named, nil
}

// freeDir returns artifacts/<model>-<endpoint>-<load>, with a number behind it if
// an earlier run lives there.
func freeDir(b *config.Benchmark) string {
	base := filepath.Join(artifactRoot, autoName(b))
	dir := base
	for n := 2; occupied(dir); n++ {
		dir = fmt.Sprintf("%s-%d", base, n)
	}
	return dir
}

// rename gives the folder of a run the name of the model that the server named,
// once all files in it are written. A folder that cannot be renamed keeps its
// name.
func (o *oneShot) rename() {
	if o.named || o.doc.Benchmark.Runtime.APIPort != nil { // the API still reads from it
		return
	}
	b := &o.doc.Benchmark
	if filepath.Base(o.dir) == autoName(b) || strings.HasPrefix(filepath.Base(o.dir), autoName(b)+"-") {
		return
	}
	if dir := freeDir(b); os.Rename(o.dir, dir) == nil {
		o.dir = dir
	}
}

func occupied(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, export.ReadyMarker))
	return err == nil
}

// autoName is AIPerf's name of a run's folder.
func autoName(b *config.Benchmark) string {
	model := "model"
	if len(b.Models.Items) > 0 {
		model = strings.ReplaceAll(b.Models.Items[0].Name, "/", "_")
	}
	if len(b.Models.Items) > 1 {
		model += "_multi"
	}
	load := ""
	for _, p := range b.Phases {
		if p.Kind != string(bench.Profiling) {
			continue
		}
		var parts []string
		if p.Concurrency != nil {
			parts = append(parts, fmt.Sprintf("concurrency%d", *p.Concurrency))
		}
		if p.Rate != nil {
			parts = append(parts, fmt.Sprintf("request_rate%v", *p.Rate))
		}
		load = strings.Join(parts, "-")
		break
	}
	const most = 200 // bytes; file systems allow 255, the number that freeDir adds included
	rest := fmt.Sprintf("-openai-%s-%s", b.Endpoint.Type, load)
	model = strings.ToValidUTF8(model[:min(len(model), most-len(rest))], "")
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, model+rest)
}
