package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/redact"
)

// Format is one way to write a report.
type Format struct {
	Name  string                             // lower case, unique
	About string                             // what the file contains, as a sentence
	File  func(Names) string                 // which file it makes
	Write func(w io.Writer, r *Report) error // does not change r
	Made  func(r *Report) bool               // whether it is made of this report; nil = always
	Phase string                             // its member in the list of phases, if each phase has such a file too; empty = none has
}

// consoleFileWidth is the width of the console report in a file, in columns.
const consoleFileWidth = 140

// Formats returns the formats in the order in which they are written.
func Formats() []Format {
	return []Format{
		{
			Name: "json", About: "The summary: every metric with its statistics, the resolved configuration, errors and warnings. Absent with `artifacts.summary: false`.",
			File: func(n Names) string { return n.Summary(".json") }, Write: writeJSON, Made: func(r *Report) bool { return !r.Layout.NoSummary }, Phase: "metrics_json",
		},
		{
			Name: "csv", About: "The summary as tables.", File: func(n Names) string { return n.Summary(".csv") }, Write: writeCSV,
			Phase: "metrics_csv",
		},
		{
			Name: "console", About: "The report as `aiperfd profile --report full` prints it.", File: func(n Names) string { return n.Console },
			Write: func(w io.Writer, r *Report) error { return Console(w, r, ConsoleOptions{Width: consoleFileWidth}) },
		},
		{
			Name: "timeslices json", About: "Only with `artifacts.sliceDuration` (`--slice-duration`). The metrics of each time slice.",
			File: func(n Names) string { return n.Summary("_timeslices.json") }, Write: writeSlicesJSON, Made: sliced,
		},
		{
			Name: "timeslices csv", About: "The same as a table: one line per slice, metric and statistic.",
			File: func(n Names) string { return n.Summary("_timeslices.csv") }, Write: writeSlicesCSV, Made: sliced,
		},
		{
			Name: "server metrics json", File: func(n Names) string { return n.ServerMetrics + ".json" }, Write: WriteServerMetrics,
			About: "The metrics that servers expose, over the exact window of the profiling phases. Absent without a server that has them, as are the three below.",
			Made:  hasServerMetrics("json"),
		},
		{
			Name: "server metrics csv", About: "The same as tables.",
			File: func(n Names) string { return n.ServerMetrics + ".csv" }, Write: writeServerCSV, Made: hasServerMetrics("csv"),
		},
		{
			Name: "server metrics parquet", About: "Only with `serverMetrics.formats`. Every series at every reading. `server_metrics_export.jsonl`, which is written while the run goes on, has the values as servers write them.",
			File: func(n Names) string { return n.ServerMetrics + ".parquet" }, Write: writeServerTable, Made: hasServerMetrics("parquet"),
		},
		{
			Name: "agent summary", File: func(Names) string { return "agent_summary.json" }, Write: writeAgents, Made: replayed,
			About: "Only for recorded sessions. What their replay measured: jobs, how much longer than recorded they took, where the time went, hit rates of prefix caches.",
		},
		{
			Name: "trees", File: func(Names) string { return "trees.jsonl" }, Write: writeTrees, Made: replayed,
			About: "Only for recorded sessions. One line per play of a session, in the order in which they began.",
		},
		{
			Name: "lanes", File: func(Names) string { return "lanes.jsonl" }, Write: writeLanes, Made: laned,
			About: "Only for recorded sessions that are played a number at a time. One line per lane: its first session, the instant of the recording at which that was entered, the first request of each stream, and the primers.",
		},
		{
			Name: resultFormat, File: func(n Names) string { return n.Result }, Write: writeResult,
			About: "Everything that the other files have about the run as a whole and its phases, as one JSON object that " +
				"describes itself, with sketches of all distributions. `aiperfd export` regenerates the other files from it.",
		},
	}
}

// resultFormat is the name of the format that a report is read from.
const resultFormat = "result"

// marker is the content of the ready marker.
type marker struct {
	Ready     bool     `json:"ready"`
	Cancelled bool     `json:"was_cancelled"`
	Partial   bool     `json:"partial"`
	Failed    []string `json:"failed_exporters"`
}

// Write writes the files of a report into a folder that exists, each file complete
// and durable or not at all, and then the ready marker. A file that fails does not
// stop the others: failed says which and why, and the marker names its format. The
// error is for a folder that cannot be written at all.
func Write(dir string, r *Report, secrets *redact.Set) (failed []error, err error) {
	if err := begin(dir); err != nil {
		return nil, fmt.Errorf("begin export: %w", err)
	}
	r = Redacted(r, secrets)
	m := marker{Ready: true, Cancelled: r.Cancelled, Failed: []string{}}
	files := outputs(r)
	removeOthers(dir, NamesFor(r.Layout.Prefix), files)
	problems := writeAll(dir, files)
	var all []error
	for i, err := range problems {
		if err != nil {
			m.Failed = append(m.Failed, files[i].format)
			failed = append(failed, fmt.Errorf("%s: %w", files[i].format, cause(err)))
			all = append(all, fmt.Errorf("write %s: %w", files[i].name, cause(err)))
		}
	}
	if len(all) == len(files) {
		return failed, errors.Join(all...)
	}
	m.Failed = append(m.Failed, r.Layout.Incomplete...)
	m.Partial = len(m.Failed) > 0
	if err := finish(dir, m); err != nil {
		return failed, fmt.Errorf("finish export: %w", err)
	}
	return failed, nil
}

// regenerate writes the files of a report that was read into a folder that exists, without markers,
// and returns their names. Files that exist are replaced.
func regenerate(dir string, r *Report) (names []string, err error) {
	files := slices.DeleteFunc(outputs(r), func(o output) bool { return o.format == resultFormat })
	problems := writeAll(dir, files)
	for i, err := range problems {
		if err != nil {
			problems[i] = fmt.Errorf("write %s: %w", files[i].name, cause(err))
			continue
		}
		names = append(names, files[i].name)
	}
	return names, errors.Join(problems...)
}

// output is a file that is made of a report.
type output struct {
	format string // unique in a report
	name   string // relative to the folder, with slashes
	write  func(w io.Writer) error
}

// formatsOf returns the formats that a report has.
func formatsOf(r *Report) []Format {
	return slices.DeleteFunc(Formats(), func(f Format) bool { return f.Made != nil && !f.Made(r) })
}

// outputs returns the files of a report in the order in which they are written.
func outputs(r *Report) []output {
	var files []output
	n := NamesFor(r.Layout.Prefix)
	for _, f := range formatsOf(r) {
		files = append(files, output{f.Name, f.File(n), func(w io.Writer) error { return f.Write(w, r) }})
	}
	return append(files, phaseOutputs(r)...)
}

// writeAll writes files and returns the error of each.
func writeAll(dir string, files []output) []error {
	problems := make([]error, len(files))
	for i, f := range files {
		at := filepath.Join(dir, filepath.FromSlash(f.name))
		if problems[i] = durable.MkdirAll(dir, f.name); problems[i] != nil {
			continue
		}
		durable.RemoveLeftovers(at)
		problems[i] = durable.Replace(at, durable.Shared, f.write)
		if sub := filepath.Dir(at); problems[i] == nil && sub != filepath.Clean(dir) {
			problems[i] = errors.Join(durable.SyncDir(sub), durable.SyncDir(filepath.Dir(sub)))
		}
	}
	return problems
}

// removeOthers removes the files that an earlier run in the folder has left and this
// one does not replace, so that nobody takes them for this one's.
func removeOthers(dir string, n Names, files []output) {
	kept := make(map[string]bool, len(files))
	for _, f := range files {
		kept[filepath.Join(dir, filepath.FromSlash(f.name))] = true
	}
	var old []string
	for _, f := range Formats() {
		old = append(old, filepath.Join(dir, f.File(n)))
	}
	old = append(old, filepath.Join(dir, phaseManifest))
	for _, ext := range []string{".json", ".csv"} {
		in, _ := filepath.Glob(filepath.Join(dir, phaseFolder, "*", n.Summary(ext))) // a bad pattern is a prefix with brackets
		old = append(old, in...)
	}
	for _, name := range []string{phaseDevicesFile, phaseServersFile} {
		in, _ := filepath.Glob(filepath.Join(dir, phaseFolder, "*", name))
		old = append(old, in...)
	}
	for _, name := range old {
		if !kept[name] {
			_ = os.Remove(name) // mostly it does not exist
		}
	}
	folders, _ := filepath.Glob(filepath.Join(dir, phaseFolder, "*"))
	for _, name := range append(folders, filepath.Join(dir, phaseFolder)) {
		_ = os.Remove(name) // if it is empty
	}
}

// begin makes it known that files are about to change.
func begin(dir string) error {
	if err := os.Remove(filepath.Join(dir, ReadyMarker)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, ProcessingMarker), durable.Shared, []byte("{\"processing\":true}\n"))
}

// finish makes it known that the files are complete. Their names are durable
// before the marker is.
func finish(dir string, m marker) error {
	if err := durable.SyncDir(dir); err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(dir, ReadyMarker), durable.Shared, append(data, '\n')); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, ProcessingMarker)); err != nil {
		return err
	}
	return durable.SyncDir(dir)
}

// cause returns what went wrong without the path, which is of no use outside.
func cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return fmt.Errorf("%s: %w", p.Op, p.Err)
	case errors.As(err, &l):
		return fmt.Errorf("%s: %w", l.Op, l.Err)
	}
	return err
}

// MarkReady writes the ready marker of a folder whose files are complete.
func MarkReady(dir string, cancelled bool) error {
	if err := begin(dir); err != nil {
		return err
	}
	return finish(dir, marker{Ready: true, Cancelled: cancelled, Failed: []string{}})
}

// Abandon removes the marker of an export that was never finished, so that
// nobody waits for it.
func Abandon(dir string) error {
	err := os.Remove(filepath.Join(dir, ProcessingMarker))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
