// Package vary defines a variation of a sweep: the places of a document that differ, with their
// values. It is data: package config applies it to documents, package study performs the results.
package vary

import (
	"encoding/json"
	"slices"
)

// Assignment gives one place of a document a value.
type Assignment struct {
	// Path is the place: phases.profiling.rate, datasets.main.prompts.isl.mean,
	// variables.users, or the name of a field of the profiling phase, such as concurrency.
	// The paths benchmark and variables merge an object into the document.
	Path string `json:"path"`
	// of JSON: nil, bool, float64, json.Number, string, []any, map[string]any; texts may be templates
	Value any `json:"value"`
}

// Variation is a document with some values replaced.
type Variation struct {
	Index  int          `json:"index"`  // ≥ 0, unique and ascending within a study
	Label  string       `json:"label"`  // for people and files: phases.profiling.concurrency=4
	Folder string       `json:"folder"` // name of its folder: concurrency_4; unique within a study
	Values []Assignment `json:"values"` // what is varied; shown in tables and files
	// Settings are assigned after Values. They say how the variation is measured, for
	// example for how many requests, and are not part of its identity.
	Settings []Assignment `json:"settings,omitempty"`
}

// Value returns the assigned value of a path.
func (v *Variation) Value(path string) (value any, ok bool) {
	i := slices.IndexFunc(v.Values, func(a Assignment) bool { return a.Path == path })
	if i < 0 {
		return nil, false
	}
	return v.Values[i].Value, true
}

// Number returns the assigned value of a path as a number.
func (v *Variation) Number(path string) (float64, bool) {
	value, _ := v.Value(path)
	switch x := value.(type) {
	case float64:
		return x, true
	case int:
		return float64(x), true
	case json.Number:
		f, err := x.Float64()
		return f, err == nil
	}
	return 0, false
}
