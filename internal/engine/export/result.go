package export

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plainjson"
)

// resultSchema is the version of the document.
const resultSchema = "aiperfd/1"

// resultDocument is the file. The fields of a report that need a form of their own are
// beside it.
type resultDocument struct {
	Schema string `json:"schema"`
	plainReport
	InputConfig json.RawMessage       `json:"input_config"`
	Metrics     flatMetrics           `json:"metrics"`
	Warmup      flatMetrics           `json:"warmup_metrics,omitzero"` // nil = no warm-up
	Phases      []resultPhase         `json:"phases"`
	Definitions map[string]definition `json:"definitions"` // of all tags
	Environment Environment           `json:"environment"`
}

// plainReport is a report without its methods.
type plainReport Report

// resultPhase is a phase of a report.
type resultPhase struct {
	Stats phaseStats `json:"stats"`
	plainPhase
	Metrics flatMetrics   `json:"metrics"`
	Slices  []resultSlice `json:"slices,omitempty"`
}

type plainPhase PhaseReport

// resultSlice is a time slice of a phase.
type resultSlice struct {
	Slice
	Metrics resultMetrics `json:"metrics"`
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

// writeResult writes result.json: a report as one file, of which every other file of a report can be
// made again. It describes its metrics itself, and has the sketches of their values, so that several
// runs can be merged.
func writeResult(w io.Writer, r *Report) error {
	input, err := plainjson.Marshal(r.InputConfig)
	if err != nil {
		return err
	}
	d := resultDocument{
		Schema: resultSchema, plainReport: plainReport(*r), InputConfig: input, Metrics: flatMetrics(r.Results), Warmup: flatMetrics(r.Warmup), Phases: []resultPhase{},
		Definitions: map[string]definition{}, Environment: CurrentEnvironment(),
	}
	d.define(r.Results)
	d.define(r.Warmup)
	for i := range r.Phases {
		p := &r.Phases[i]
		out := resultPhase{Stats: phaseStats(p.Stats), plainPhase: plainPhase(*p), Metrics: flatMetrics(p.Results)}
		d.define(p.Results)
		for _, s := range p.Slices {
			out.Slices = append(out.Slices, resultSlice{s, resultMetrics(s.Results)})
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
func (d *resultDocument) define(rs metric.Results) {
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

// ReadResult reads what writeResult wrote. The report is the same, except that its configuration is
// JSON.
func ReadResult(r io.Reader) (*Report, error) {
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
	if kind.Schema != resultSchema {
		return nil, fmt.Errorf("read result: schema is %q, not %q", kind.Schema, resultSchema)
	}
	var d resultDocument
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	out := Report(d.plainReport)
	out.InputConfig, out.Results, out.Warmup = d.InputConfig, metric.Results(d.Metrics), metric.Results(d.Warmup)
	for i := range d.Phases {
		p := PhaseReport(d.Phases[i].plainPhase)
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

// ConvertResult makes the other files of a report of its result.json, in a folder that is
// created if it does not exist, and returns their names. from is the file, or the folder
// of a run. Files that exist are replaced.
func ConvertResult(from, to string) ([]string, error) {
	path, err := findResult(from)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := ReadResult(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return nil, err
	}
	return regenerate(to, r)
}

// findResult returns the path of the result that from names.
func findResult(from string) (string, error) {
	info, err := os.Stat(from)
	if err != nil || !info.IsDir() {
		return from, err
	}
	path := filepath.Join(from, NamesFor("").Result)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	found, err := filepath.Glob(filepath.Join(from, "*_"+NamesFor("").Result))
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%s has the results of several runs: %q; name one", from, found)
	}
	return "", fmt.Errorf("%s has no result.json", from)
}
