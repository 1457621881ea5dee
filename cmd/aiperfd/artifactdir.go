package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
)

// artifactDir makes the folder of a run: the one that was named, which is
// written over as AIPerf does, or artifacts/<model>-<endpoint>-<load>, with a
// number behind it if an earlier run lives there.
func artifactDir(d *config.Document, flags *config.Flags) (string, error) {
	const unset = "artifacts" // AIPerf's default, below which each run has a folder
	dir := d.Benchmark.Artifacts.Dir
	if dir == "" || (dir == unset && !flags.Given("--artifact-dir")) {
		base := filepath.Join(unset, autoName(&d.Benchmark))
		dir = base
		for n := 2; occupied(dir); n++ {
			dir = fmt.Sprintf("%s-%d", base, n)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make artifact folder: %w", err)
	}
	if err := os.Remove(filepath.Join(dir, export.ReadyMarker)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("take over artifact folder: %w", err)
	}
	return dir, nil
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
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, fmt.Sprintf("%s-openai-%s-%s", model, b.Endpoint.Type, load))
}
