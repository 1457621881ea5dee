// Package native writes and reads result.json: a report as one file, of which every
// other file of a report can be made again. It describes its metrics itself, and has the
// sketches of their values, so that several runs can be merged.
package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plainjson"
)

// Schema is the version of the document.
const Schema = "aiperfd/1"

// Format returns the format of result.json.
func Format() export.Format {
	return export.Format{
		Name:  "result",
		About: "Everything that the other files have about the run as a whole and its phases, as one JSON object that describes itself, with sketches of all distributions. `aiperfd export` regenerates the other files from it.",
		File:  func(n export.Names) string { return n.Result }, Write: Write,
	}
}

// document is the file. The fields of a report that need a form of their own are
// beside it.
type document struct {
	Schema string `json:"schema"`
	report
	InputConfig json.RawMessage       `json:"input_config"`
	Metrics     flatMetrics           `json:"metrics"`
	Warmup      flatMetrics           `json:"warmup_metrics,omitzero"` // nil = no warm-up
	Phases      []phase               `json:"phases"`
	Definitions map[string]definition `json:"definitions"` // of all tags
	Environment Environment           `json:"environment"`
}

// report is a report without its methods.
type report export.Report

// phase is a phase of a report.
type phase struct {
	Stats stats `json:"stats"`
	phaseReport
	Metrics flatMetrics `json:"metrics"`
	Slices  []slice     `json:"slices,omitempty"`
}

type phaseReport export.PhaseReport

// slice is a time slice of a phase.
type slice struct {
	export.Slice
	Metrics metrics `json:"metrics"`
}

// definition says what a metric is.
type definition struct {
	Header         string `json:"header"`
	Unit           string `json:"unit"`
	Doc            string `json:"definition"`
	Group          string `json:"group,omitempty"`
	Origin         string `json:"origin"` // aiperf or aiperfd
	LargerIsBetter bool   `json:"larger_is_better"`
}

// Environment describes the machine of the client.
type Environment struct {
	Host  string `json:"host,omitempty"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPUs  int    `json:"cpus"`
	Procs int    `json:"gomaxprocs"`
	Go    string `json:"go"`
}

// Write writes a report.
func Write(w io.Writer, r *export.Report) error {
	input, err := plainjson.Marshal(r.InputConfig)
	if err != nil {
		return err
	}
	d := document{
		Schema: Schema, report: report(*r), InputConfig: input, Metrics: flatMetrics(r.Results), Warmup: flatMetrics(r.Warmup), Phases: []phase{},
		Definitions: map[string]definition{}, Environment: CurrentEnvironment(),
	}
	d.define(r.Results)
	d.define(r.Warmup)
	for i := range r.Phases {
		p := &r.Phases[i]
		out := phase{Stats: stats(p.Stats), phaseReport: phaseReport(*p), Metrics: flatMetrics(p.Results)}
		d.define(p.Results)
		for _, s := range p.Slices {
			out.Slices = append(out.Slices, slice{s, metrics(s.Results)})
			d.define(s.Results)
		}
		d.Phases = append(d.Phases, out)
	}
	data, err := plainjson.Marshal(d)
	if err == nil {
		_, err = w.Write(append(data, '\n'))
	}
	return err
}

// define adds the definitions of metrics.
func (d *document) define(rs metric.Results) {
	for i := range rs {
		def := rs[i].Def
		d.Definitions[def.Tag] = definition{
			Header: def.Header, Unit: def.Unit, Doc: def.Doc, Group: string(def.Group), Origin: def.Origin,
			LargerIsBetter: def.Flags&catalogue.LargerIsBetter != 0,
		}
	}
}

// ReadEnvironment reads on which machine a file was written.
func ReadEnvironment(data []byte) (Environment, error) {
	var d struct {
		Environment Environment `json:"environment"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return d.Environment, fmt.Errorf("read result: %w", err)
	}
	return d.Environment, nil
}

// CurrentEnvironment describes this machine.
func CurrentEnvironment() Environment {
	host, _ := os.Hostname() // without a name, it is absent
	return Environment{
		Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0), Go: runtime.Version(),
	}
}

// Read reads what Write wrote. The report is that of Write, except that its
// configuration is JSON.
func Read(r io.Reader) (*export.Report, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	var kind struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	if kind.Schema != Schema {
		return nil, fmt.Errorf("read result: schema is %q, not %q", kind.Schema, Schema)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	out := export.Report(d.report)
	out.InputConfig, out.Results, out.Warmup = d.InputConfig, metric.Results(d.Metrics), metric.Results(d.Warmup)
	for i := range d.Phases {
		p := export.PhaseReport(d.Phases[i].phaseReport)
		p.Stats, p.Results = d.Phases[i].Stats.phase(), metric.Results(d.Phases[i].Metrics)
		if name := p.Stats.Name; !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) {
			return nil, fmt.Errorf("read result: the phase %q cannot name a folder", name)
		}
		for _, s := range d.Phases[i].Slices {
			s.Phase, s.Results = p.Stats.Name, metric.Results(s.Metrics)
			p.Slices = append(p.Slices, s.Slice)
		}
		out.Phases = append(out.Phases, p)
	}
	const most = 12 // decimals, as in a document
	if n := out.Layout.CSVDigits; n != nil && (*n < 0 || *n > most) {
		return nil, errors.New("read result: csv_precision is not from 0 to 12")
	}
	return &out, nil
}
