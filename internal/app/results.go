package app

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// report prints the results and returns the outcome of the run.
func (p *Profile) report(r *run.Run, results *export.Report) error {
	if results != nil { // else the run ended before it measured anything
		if err := p.print(results); err != nil {
			return err
		}
	}
	p.printRepeat(r, results)
	switch {
	case r.State == bench.StateCancelled:
		return &OutcomeError{Cancelled, "cancelled; the results are partial"}
	case r.State != bench.StateCompleted && r.Error != nil && r.Error.Code == run.ExportFailed:
		return &OutcomeError{Failed, fmt.Sprintf("the files in %s are missing or incomplete: %s", p.Folder.Path, r.Error.Message)}
	case results == nil && badInput(r):
		return &OutcomeError{BadInput, r.Error.Message}
	case r.State != bench.StateCompleted:
		return &OutcomeError{Failed, cmp.Or(r.StateReason, "run failed")}
	case results != nil && !metric.SLOsPassed(results.SLOs.Run):
		return &OutcomeError{MissedSLO, "the run missed an objective: " + missed(results.SLOs.Run)}
	case p.Document.Benchmark.Client.Strict && r.Client != nil && r.Client.Verdict == verdict.Invalid:
		return &OutcomeError{InvalidClient, "the client could not keep up: " + verdict.Why(verdict.Decisive(r.Client.Reasons))}
	}
	return nil
}

// badInput reports whether a run failed because its dataset or tokenizer cannot be used.
func badInput(r *run.Run) bool {
	return r.State != bench.StateCompleted && r.Error != nil &&
		(r.Error.Code == run.DatasetFailed || r.Error.Code == run.TokenizerFailed)
}

// printRepeat says which run was repeated.
func (p *Profile) printRepeat(r *run.Run, results *export.Report) {
	if p.Repeat == nil {
		return
	}
	for _, line := range p.Repeat.Lines(p.Version, r, results) {
		fmt.Fprintln(p.Out, line)
	}
}

// missed lists the objectives that are not met.
func missed(rs []metric.SLOResult) string {
	var out []string
	for i := range rs {
		if !rs[i].Met {
			out = append(out, strings.TrimSuffix(rs[i].Line(), ", missed"))
		}
	}
	return strings.Join(out, "; ")
}

// screenErrors is the number of kinds of errors that are printed; the files
// contain all.
const screenErrors = 20

// print writes the results, in the width and the colours of the terminal.
func (p *Profile) print(r *export.Report) error {
	names := export.NamesFor(prefixOf(p.Document))
	options := export.ConsoleOptions{
		Width: terminal.Columns(os.Stdout), Color: terminal.Colored(os.Stdout), ASCII: terminal.ASCIIOnly(os.Getenv),
		Detail: cmp.Or(export.Detail(p.Document.Benchmark.Runtime.Report), export.Brief), Errors: screenErrors,
		Traces: p.Document.Benchmark.Artifacts.ShowTraceTiming,
		Folder: p.Folder.Path + string(filepath.Separator), ReportFile: names.Console,
	}
	if _, err := os.Stat(filepath.Join(p.Folder.Path, names.Console)); err != nil {
		options.ReportFile = "" // the files could not be written
	}
	if options.Detail != export.Brief {
		for _, f := range []export.File{
			{Label: "CSV Export", Path: names.CSV}, {Label: "JSON Export", Path: names.JSON}, {Label: "Records Export", Path: names.Records}, {Label: "Records Parquet Export", Path: names.Tables},
			{Label: "Raw Records", Path: names.Raw}, {Label: "Inputs", Path: names.Inputs}, {Label: "Outputs JSON", Path: names.Outputs}, {Label: "Log File", Path: names.Log},
		} {
			f.Path = filepath.Join(p.Folder.Path, f.Path)
			if _, err := os.Stat(f.Path); err == nil {
				options.Files = append(options.Files, f)
			}
		}
	}
	return export.Console(p.Out, r, options)
}

func prefixOf(d *config.Document) string {
	if d.Benchmark.Artifacts.Prefix == nil {
		return ""
	}
	return *d.Benchmark.Artifacts.Prefix
}
