package measure

import (
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/sketch"
)

// mostModels bounds the models that a set tells apart.
const mostModels = 32

// OtherModels is the model of records whose own is not one of the first 32 of
// [Options.Models], because the dataset names it.
const OtherModels = "other"

// modelFold accumulates the records of a model.
type modelFold struct {
	name string
	*fold
}

// newModels returns what accumulates the records of each model; nil with less than two.
func newModels(s *Set) (out []modelFold) {
	if len(s.opts.Models) < 2 {
		return nil
	}
	for _, name := range append(slices.Clone(s.opts.Models[:min(len(s.opts.Models), mostModels)]), OtherModels) {
		if indexModel(out, name) < 0 {
			out = append(out, modelFold{name, newFold(s)})
		}
	}
	return out
}

func indexModel(models []modelFold, name string) int {
	return slices.IndexFunc(models, func(m modelFold) bool { return m.name == name })
}

// modelOf returns what accumulates the model of a record; nil = models are not told apart.
func modelOf(s *Set, r *bench.Record) *fold {
	if len(s.models) == 0 {
		return nil
	}
	i := indexModel(s.models, r.Model)
	if i < 0 {
		i = indexModel(s.models, OtherModels)
	}
	return s.models[i].fold
}

// Model is what a set has of the records of one model.
type Model struct {
	Name string
	fold *fold
	set  *Set
}

// categoryOf returns what accumulates the category of a record; nil = its dataset has none. The
// first 32 categories have results of their own, the others those of [OtherModels] together.
func categoryOf(s *Set, r *bench.Record) *fold {
	if r.Category == "" {
		return nil
	}
	return s.categories[growCategories(s, r.Category)].fold
}

// growCategories makes room for a category and returns its index.
func growCategories(s *Set, name string) int {
	if i := indexModel(s.categories, name); i >= 0 {
		return i
	}
	if len(s.categories) >= mostModels && name != OtherModels {
		return growCategories(s, OtherModels)
	}
	s.categories = append(s.categories, modelFold{name, newFold(s)})
	return len(s.categories) - 1
}

// CategoryResults returns the metrics of finished phases together for each category of the
// dataset, by name; nil if it has none. Rates are divided by the windows of the phases together.
func CategoryResults(parts ...Part) (out []NamedResults) {
	for _, p := range parts {
		for _, c := range p.Set.categories {
			growCategories(parts[0].Set, c.name)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	names := parts[0].Set.categories
	all := grouped(parts, func(s *Set) (folds []*fold) {
		for _, c := range names {
			folds = append(folds, s.categories[growCategories(s, c.name)].fold)
		}
		return folds
	})
	for i, rs := range all {
		out = append(out, NamedResults{names[i].name, rs})
	}
	slices.SortFunc(out, func(a, b NamedResults) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// AcceptedDrafts returns how many steps of speculative decoding have accepted each number of
// draft tokens, over finished phases; nil if no answer has reported it.
func AcceptedDrafts(parts ...Part) map[int]int64 {
	var out map[int]int64
	for _, p := range parts {
		for accepted, steps := range p.Set.tally.AcceptedDrafts {
			if steps == 0 {
				continue
			}
			if out == nil {
				out = make(map[int]int64)
			}
			out[accepted] += steps
		}
	}
	return out
}

// ByModel returns the models of a set in the order of [Options.Models], and of
// [OtherModels] if there are such records; nil with less than two models.
func ByModel(s *Set) (out []Model) {
	for _, m := range s.models {
		if c := &m.tally; m.name != OtherModels || c.Success+c.Errors+c.Cancelled+c.CancelledByTest > 0 {
			out = append(out, Model{m.name, m.fold, s})
		}
	}
	return out
}

// NamedResults are the metrics of a group of records that has a name.
type NamedResults struct {
	Name    string         `json:"name"`
	Results metric.Results `json:"metrics"`
}

// ModelResults returns the metrics of finished phases together, for each of the models that
// [ByModel] returns; nil with less than two models. Rates are divided by the windows of the
// phases together.
func ModelResults(parts ...Part) (out []NamedResults) {
	all := grouped(parts, func(s *Set) (folds []*fold) {
		for _, m := range s.models {
			folds = append(folds, m.fold)
		}
		return folds
	})
	for i, rs := range all {
		name := parts[0].Set.models[i].name
		used := slices.ContainsFunc(parts, func(p Part) bool {
			return slices.ContainsFunc(ByModel(p.Set), func(m Model) bool { return m.Name == name })
		})
		if used {
			out = append(out, NamedResults{name, rs})
		}
	}
	return out
}

// Counters returns a copy of the counters.
func (m Model) Counters() catalogue.Counters { return cloned(&m.fold.tally.Counters) }

// Histogram is [Set.Histogram] for the records of the model.
func (m Model) Histogram(tag string) (*sketch.Sketch, bool) {
	i, ok := m.set.byTag[tag]
	if !ok {
		return nil, false
	}
	sample := m.fold.samples[i]
	if sample.sketch != nil {
		return sample.sketch.Clone(), true
	}
	sample.toSketch(m.set.series[i].row.SketchDiv)
	return sample.sketch, true
}
