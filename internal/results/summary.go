package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/verdict"
)

// maxSummary bounds a summary, in bytes.
const maxSummary = 256 << 20

// Summary is the summary of a run, by us or by AIPerf.
type Summary struct {
	Metrics map[string]Metric // by tag
	// Client says which metrics the load generator distorted; its zero value = not known.
	Client struct {
		Verdict verdict.Level
		Reasons []verdict.Reason
	}
	Kept   *export.KeptRecords // nil = the record files have all requests
	Config json.RawMessage     // the document of the run; nil = the summary has none
}

// Metric is a block of statistics: avg, p50, …
type Metric struct {
	Unit  string
	Stats map[string]float64
}

// Find returns the runs in a folder and below it that have a summary, in the order of the folders.
func Find(root string) ([]*Results, error) {
	var found []*Results
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || isPhase(root, name) {
			return err
		}
		dir, base := filepath.Split(name)
		names, ok := namesOf(base)
		if !ok {
			return nil
		}
		r := &Results{Dir: filepath.Clean(dir), Names: names}
		if ok, err = r.hasSummary(); ok {
			found = append(found, r)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return found, nil
}

// namesOf returns the names of the files beside a summary; false = no summary has this name.
func namesOf(summary string) (export.Names, bool) {
	usual := export.NamesFor("")
	if summary == usual.JSON {
		return usual, true
	}
	n := export.NamesFor(summary)
	return n, n.JSON == summary
}

// isPhase reports whether a summary is that of one phase of a run.
func isPhase(root, name string) bool {
	below, err := filepath.Rel(root, name)
	return err == nil && slices.Contains(strings.Split(filepath.ToSlash(below), "/"), "phases")
}

// hasSummary reports whether the file with the name of a summary is one. One with a prefix
// (artifacts.prefix) is none beside one without, and needs a configuration.
func (r *Results) hasSummary() (bool, error) {
	usual := export.NamesFor("").JSON
	if r.Names.JSON == usual {
		return true, nil
	}
	if _, err := os.Stat(filepath.Join(r.Dir, usual)); !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	data, err := readBounded(filepath.Join(r.Dir, r.Names.JSON))
	if err != nil {
		return false, err
	}
	var members map[string]json.RawMessage
	return json.Unmarshal(data, &members) == nil && members["input_config"] != nil, nil
}

// Summary returns the summary of the run. What is missing in it is zero.
func (r *Results) Summary() (*Summary, error) {
	var members map[string]json.RawMessage
	if err := r.Decode(r.Names.JSON, &members); err != nil {
		return nil, err
	}
	s := &Summary{Metrics: make(map[string]Metric), Config: members["input_config"]}
	for tag, raw := range members {
		if m, ok := ReadMetric(raw); ok {
			s.Metrics[tag] = m
		}
	}
	if raw := members["client"]; raw != nil {
		_ = json.Unmarshal(raw, &s.Client) // what cannot be read is unknown
	}
	var kept export.KeptRecords
	if raw := members["record_files"]; raw != nil && json.Unmarshal(raw, &kept) == nil {
		s.Kept = &kept
	}
	return s, nil
}

// ReadMetric reads a block of statistics. Other members of a summary are none.
func ReadMetric(raw json.RawMessage) (Metric, bool) {
	var block map[string]any
	if json.Unmarshal(raw, &block) != nil {
		return Metric{}, false
	}
	unit, ok := block["unit"].(string)
	if !ok {
		return Metric{}, false
	}
	m := Metric{Unit: unit, Stats: make(map[string]float64)}
	for name, v := range block {
		if x, ok := v.(float64); ok {
			m.Stats[name] = x
		}
	}
	return m, true
}

// Decode decodes a file of the run that has one JSON document.
func (r *Results) Decode(name string, to any) error {
	path := filepath.Join(r.Dir, name)
	data, err := readBounded(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSummary+1))
	if err == nil && len(data) > maxSummary {
		err = fmt.Errorf("%s: larger than %d bytes", path, maxSummary)
	}
	return data, err
}
