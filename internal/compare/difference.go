package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of the differences of configurations.
const (
	maxDifferences = 1000
	maxText        = 256 // bytes of a text that are shown
)

// Difference is a value of the configuration that is not the same in all runs.
type Difference struct {
	Pointer string  `json:"pointer" example:"/phases/0/concurrency"` // into the document of GET /api/runs/{id}/config
	Values  []Field `json:"values"`                                  // of the runs whose configuration has it
}

// Field is a value of the configuration of one run.
type Field struct {
	Run   string `json:"run"`   // id
	Value any    `json:"value"` // a text longer than 256 bytes is cut
}

// leaf is a value without members: its JSON text.
type leaf struct{ pointer, text string }

// changes are the values that are not the same in all configurations.
type changes struct {
	runs     []Input
	values   map[string][]string // JSON texts by pointer, one for each run, empty = it has none
	pointers []string            // of those that are not the same, in order
}

// changesOf compares the configurations of runs.
func changesOf(runs []Input) (*changes, error) {
	values := map[string][]string{}
	for i := range runs {
		leaves, err := flatten(runs[i].Run.Config)
		if err != nil {
			return nil, fmt.Errorf("decode configuration of run %s: %w", runs[i].Run.ID, err)
		}
		for _, l := range leaves {
			if values[l.pointer] == nil {
				values[l.pointer] = make([]string, len(runs))
			}
			values[l.pointer][i] = l.text
		}
	}
	var pointers []string
	for pointer, texts := range values {
		if slices.ContainsFunc(texts, func(text string) bool { return text != texts[0] }) {
			pointers = append(pointers, pointer)
		}
	}
	slices.Sort(pointers)
	return &changes{runs, values, pointers}, nil
}

// at returns the differences at some of the pointers, and whether there are more of them.
func (c *changes) at(pointers []string) (out []Difference, more bool) {
	most := min(len(pointers), maxDifferences)
	out = make([]Difference, 0, most)
	for _, pointer := range pointers[:most] {
		d := Difference{Pointer: pointer}
		for i, text := range c.values[pointer] {
			if text != "" {
				d.Values = append(d.Values, Field{c.runs[i].Run.ID, shown(text)})
			}
		}
		out = append(out, d)
	}
	return out, most < len(pointers)
}

// flatten returns the leaves of a JSON document; an empty one has none.
func flatten(document json.RawMessage) ([]leaf, error) {
	if len(document) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	var out []leaf
	var walk func(pointer string, v any) error
	walk = func(pointer string, v any) error {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				if err := walk(pointer+"/"+escape(name), member); err != nil {
					return err
				}
			}
			if len(v) > 0 {
				return nil
			}
		case []any:
			for i, item := range v {
				if err := walk(pointer+"/"+strconv.Itoa(i), item); err != nil {
					return err
				}
			}
			if len(v) > 0 {
				return nil
			}
		}
		text, err := json.Marshal(v)
		out = append(out, leaf{pointer, string(text)})
		return err
	}
	return out, walk("", root)
}

// escape returns a name as a token of a JSON pointer (RFC 6901).
func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// shown returns the value of a JSON text; long texts are cut.
func shown(text string) any {
	var v string
	if json.Unmarshal([]byte(text), &v) != nil || text == "null" {
		return json.RawMessage(text)
	}
	if len(v) > maxText {
		v = strings.ToValidUTF8(v[:maxText], "") + "…"
	}
	return v
}
