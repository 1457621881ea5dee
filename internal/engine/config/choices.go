package config

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/suggest"
)

// Choice is a value of a closed list.
type Choice = schema.Choice

// Choices are the closed lists of values that are defined by the packages that
// implement them. A document can have no other values; with an empty list, it can
// have none.
type Choices struct {
	EndpointTypes []Choice
	Ranking       []string          // those of EndpointTypes that take a query and passages
	Forms         []string          // those of EndpointTypes whose request bodies are always forms
	Dialects      []Choice          // of all endpoint types
	Arrivals      []Choice          // types of phases, beside concurrency
	Shaped        []string          // those of Arrivals that have a smoothness
	Formats       []Choice          // of the files of datasets
	Traces        []string          // those of Formats that are recordings, which are replayed at their times
	Drawn         []string          // those of Formats whose conversations are drawn from the records
	Orders        map[string]string // of Formats whose default order is not the first of Samplings
	// Detect looks at the first record of a dataset. nil = formats must be given.
	Detect     func(DatasetFile) (Detected, error)
	Corpora    []Choice // texts of synthetic prompts
	Samplings  []Choice // orders in which conversations are drawn
	Objectives []string // tags of the metrics that can have an objective
	Metrics    []string // tags of all metrics
}

// DatasetFile is a dataset whose first record is looked at.
type DatasetFile struct {
	FS       fs.FS // holds Path; nil = the system
	Path     string
	Records  []json.RawMessage // instead of Path
	Format   string            // empty = unknown
	Columns  bool              // the document names columns
	Endpoint string            // endpoint type
}

// Detected is what the first record says of a dataset.
type Detected struct {
	Format string
	Timed  bool // it is a trace, and the record has a time
}

// list returns the list of a name, see [schema.Field].
func (c *Choices) list(name string) []Choice {
	switch name {
	case "endpointTypes":
		return c.EndpointTypes
	case "dialects":
		return c.Dialects
	case "phaseTypes":
		return slices.Concat([]Choice{{Name: Concurrency}}, c.Arrivals, []Choice{{Name: UserCentric}, {Name: FixedSchedule}, {Name: AgenticReplay}})
	case "formats":
		return c.Formats
	case "corpora":
		return c.Corpora
	case "samplings":
		return c.Samplings
	case "objectives":
		return named(c.Objectives)
	case "metrics":
		return named(c.Metrics)
	}
	return nil
}

// named returns choices without aliases.
func named(names []string) []Choice {
	list := make([]Choice, len(names))
	for i, name := range names {
		list[i].Name = name
	}
	return list
}

// IsShaped reports whether name, in any spelling, is a type of phases that has a
// smoothness.
func (c *Choices) IsShaped(name string) bool {
	return slices.ContainsFunc(c.Shaped, func(s string) bool { return suggest.Fold(s) == suggest.Fold(name) })
}

// isArrival reports whether arrivals at a rate start the sessions of phases of a type.
func (c *Choices) isArrival(name string) bool {
	return slices.ContainsFunc(c.Arrivals, func(a Choice) bool { return a.Name == name })
}

// Of returns the closed list of a field; nil = it has none.
func (c *Choices) Of(f schema.Field) []Choice {
	if f.List != "" {
		return c.list(f.List)
	}
	var list []Choice
	for name := range strings.FieldsSeq(f.Choices) {
		list = append(list, Choice{Name: name})
	}
	return list
}

// Expand replaces the names of closed lists in braces, as {arrivals}, by their values.
// It is for texts about fields whose values other packages define.
func (c *Choices) Expand(text string) string {
	names := func(list []Choice) string { return schema.ChoiceList(schema.ChoiceNames(list)) }
	return strings.NewReplacer(
		"{arrivals}", names(c.Arrivals), "{shaped}", schema.ChoiceList(c.Shaped), "{formats}", names(c.Formats),
		"{corpora}", names(c.Corpora), "{samplings}", names(c.Samplings),
	).Replace(text)
}
