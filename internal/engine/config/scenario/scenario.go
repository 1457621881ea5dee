// Package scenario has the named sets of rules that make results of different people comparable: which settings a run
// must have, over which data, and what must have happened for its result to count. A scenario is data, in a version
// that does not change; the digest of its text identifies it.
package scenario

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// Scenario is a version of a set of rules.
type Scenario struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	About   string  `json:"about"`
	Rules   []Rule  `json:"rules"` // on the document, in the order in which they are applied
	Corpora Corpora `json:"corpora"`
	Limits  Limits  `json:"limits"`

	Text   string `json:"-"` // the file
	SHA256 string `json:"-"` // of the text, in hexadecimal
}

// Rule says what a field of a document must be. It has one of Equals, AtLeast, Absent and Expected.
type Rule struct {
	// Field is a path: phase. begins those of each profiling phase, dataset. those of the dataset, the others are below
	// the benchmark section; randomSeed is that of the document.
	Field   string          `json:"field"`
	Equals  json.RawMessage `json:"equals"`  // the value, which is filled in
	AtLeast *float64        `json:"atLeast"` // the smallest number
	Fill    *float64        `json:"fill"`    // the number that is filled in, with AtLeast
	Absent  bool            `json:"absent"`  // it must not be given, or be false
	// Expected is filled in unless it is null. Another value is accepted, and the result does not count.
	Expected json.RawMessage `json:"expected"`
	Check    string          `json:"check"`  // id of the check that fails with another value than Expected: kept, ratios or settings
	Unless   string          `json:"unless"` // the rule does not hold if this field is true
	Why      string          `json:"why"`
}

// Corpora are the sessions over which a scenario is run.
type Corpora struct {
	Names  []string       `json:"names"` // of public datasets; the first is named in messages
	Why    string         `json:"why"`
	Traces map[string]int `json:"traces"` // how many a repository has, where that is published
}

// Limits are what a run must keep for its result to count. Shares are from 0 to 1.
type Limits struct {
	Duration float64 `json:"duration"` // seconds in which requests are sent; at least
	Silence  float64 `json:"silence"`  // seconds without any event; at most
	Overflow float64 `json:"overflow"` // requests that exceeded the context of the server; at most
	Errors   float64 `json:"errors"`   // failed requests; at most
	Cold     float64 `json:"cold"`     // streams whose primer failed; at most
	Lanes    float64 `json:"lanes"`    // lanes with a session, and the share of the time in which so many have one; at least
	Output   float64 `json:"output"`   // answers of the length that was asked for; at least
	Input    float64 `json:"input"`    // prompts whose length is the server's; at least
	Coverage float64 `json:"coverage"` // time from the first request to the last answer; at least
}

// ID returns the name with the version.
func (s *Scenario) ID() string { return s.Name + "@" + s.Version }

//go:embed rules/*.yaml
var files embed.FS

// all reads the embedded scenarios once.
var all = sync.OnceValue(func() []*Scenario {
	entries, err := files.ReadDir("rules")
	if err != nil {
		panic(err) // it is embedded
	}
	var list []*Scenario
	for _, e := range entries {
		text, err := files.ReadFile("rules/" + e.Name())
		if err != nil {
			panic(err)
		}
		s, err := parse(text)
		if err != nil || s.ID()+".yaml" != e.Name() {
			panic(fmt.Sprintf("scenario %s: %v", e.Name(), err)) // a test reads them
		}
		list = append(list, s)
	}
	return list
})

// All returns the scenarios by name, then by version.
func All() []*Scenario { return slices.Clone(all()) }

// Find returns a scenario by its name, in its newest version, or by name and version: NAME@VERSION.
func Find(name string) (*Scenario, error) {
	var found *Scenario
	var names []string
	for _, s := range all() {
		if suggest.Fold(s.Name) == suggest.Fold(name) || suggest.Fold(s.ID()) == suggest.Fold(name) {
			found = s // the newest is the last one
		}
		names = append(names, s.ID())
	}
	if found == nil {
		return nil, fmt.Errorf("must be one of %s%s", strings.Join(names, ", "), suggest.DidYouMean(name, names))
	}
	return found, nil
}

// parse reads a scenario and checks that each rule says one thing.
func parse(text []byte) (*Scenario, error) {
	root, _, err := tree.Parse(text, "yaml", 10_000)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	s := &Scenario{Text: string(text), SHA256: hex.EncodeToString(sum[:])}
	d := json.NewDecoder(bytes.NewReader(root.JSON()))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, err
	}
	for _, r := range s.Rules {
		n := 0
		for _, says := range []bool{r.Equals != nil, r.AtLeast != nil, r.Absent, r.Expected != nil} {
			if says {
				n++
			}
		}
		if n != 1 || r.Field == "" || r.Why == "" {
			return nil, fmt.Errorf("the rule on %s must have a reason and one of equals, atLeast, absent and expected", r.Field)
		}
	}
	if len(s.Corpora.Names) == 0 {
		return nil, errors.New("it names no corpus")
	}
	return s, nil
}
