// Package plot draws the results of runs and sweeps as PNG and SVG files: throughput
// against latency, Pareto fronts, requests over time, distributions. It reads the
// result files, those of NVIDIA AIPerf included, and needs no browser.
package plot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperfd/internal/engine/suggest"
)

// Options says what is drawn.
type Options struct {
	Paths   []string // folders with results; those of several runs are drawn together
	Output  string   // folder of the pictures; empty = plots in the first path
	Theme   Theme
	Formats []Format
	Names   []string // the plots that are wanted; none = all for which the results have data
}

// Output is what was drawn.
type Output struct {
	Files   []string // in the order of the plots
	Skipped []string // names of the plots for which the results have no data
}

// Make draws plots of the results in o.Paths: of one run over its time, or of several
// runs against each other. A plot named in o.Names that cannot be drawn is an error, and
// so is a folder without results.
func Make(o Options) (*Output, error) {
	runs, err := find(o.Paths)
	if err != nil {
		return nil, err
	}
	table, what := severalRuns(), "several runs"
	if len(runs) == 1 {
		table, what = oneRun(), "one run"
	}
	wanted, err := choose(table, o.Names, what)
	if err != nil {
		return nil, err
	}
	if o.Output == "" {
		o.Output = filepath.Join(o.Paths[0], "plots")
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return nil, fmt.Errorf("make folder of plots: %w", err)
	}
	data := &results{runs: runs}
	out := &Output{}
	for _, p := range wanted {
		figure, err := p.figure(data)
		if errors.Is(err, errNoData) && len(o.Names) == 0 {
			out.Skipped = append(out.Skipped, p.name)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", p.name, err)
		}
		for _, format := range o.Formats {
			file := filepath.Join(o.Output, p.name+"."+string(format))
			if err := figure.write(file, format, o.Theme); err != nil {
				return nil, fmt.Errorf("plot %s: %w", p.name, err)
			}
			out.Files = append(out.Files, file)
		}
	}
	if len(out.Files) == 0 {
		return nil, fmt.Errorf("%s: no plot can be drawn: %w", strings.Join(o.Paths, ", "), errNoData)
	}
	return out, nil
}

// choose returns the plots with these names, or all without names.
func choose(table []preset, names []string, what string) ([]preset, error) {
	if len(names) == 0 {
		return table, nil
	}
	known := make([]string, len(table))
	for i, p := range table {
		known[i] = p.name
	}
	var wanted []preset
	var problems []error
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			problems = append(problems, fmt.Errorf("%q is not a plot of %s%s; there are %s",
				name, what, suggest.DidYouMean(name, known), strings.Join(known, ", ")))
			continue
		}
		wanted = append(wanted, table[i])
	}
	return wanted, errors.Join(problems...)
}

// Describe returns the names and descriptions of all plots, for help texts.
func Describe() (one, several [][2]string) {
	list := func(table []preset) (all [][2]string) {
		for _, p := range table {
			all = append(all, [2]string{p.name, p.about})
		}
		return all
	}
	return list(oneRun()), list(severalRuns())
}
