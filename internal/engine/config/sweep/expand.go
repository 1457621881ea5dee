package sweep

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/config/vary"
	"aiperfd/internal/engine/plainjson"
)

// MaxVariations is the largest number of variations of a sweep.
const MaxVariations = 1000

// Expand returns the variations of a valid block in their order; nil for an adaptive
// search, whose variations follow from results. seed is that of the study.
func (b *Block) Expand(seed int64) []vary.Variation {
	var out []vary.Variation
	switch b.Type {
	case Grid:
		out = b.grid()
	case Zip:
		out = b.zip()
	case Scenarios:
		out = b.scenarios()
	case Sobol, LatinHypercube:
		out = b.sampled(seed)
	case Paired:
		out = []vary.Variation{{Label: "A", Folder: "a"}, {Label: "B", Folder: "b"}}
	case Adaptive:
		return nil
	}
	names := make(map[string]int)
	for i := range out {
		v := &out[i]
		v.Index = i
		// Sampled points can be equal, and so can names without characters that a file
		// system does not take.
		if names[v.Folder]++; names[v.Folder] > 1 {
			v.Folder += "_" + strconv.Itoa(names[v.Folder])
		}
	}
	return out
}

// sorted returns the parameters in the order of their paths.
func (b *Block) sorted() Parameters {
	out := slices.Clone(b.Parameters)
	slices.SortFunc(out, func(x, y Parameter) int { return strings.Compare(x.Path, y.Path) })
	return out
}

// grid returns the product of the lists; the last path changes fastest.
func (b *Block) grid() []vary.Variation {
	out := []vary.Variation{{}}
	for _, p := range b.sorted() {
		var next []vary.Variation
		for _, v := range out {
			for _, value := range p.Values {
				values := append(slices.Clip(v.Values), vary.Assignment{Path: p.Path, Value: value})
				next = append(next, vary.Variation{Values: values})
			}
		}
		out = next
	}
	return named(out)
}

// zip returns the n-th values of all lists together.
func (b *Block) zip() []vary.Variation {
	params := b.sorted()
	out := make([]vary.Variation, len(params[0].Values))
	for i := range out {
		for _, p := range params {
			out[i].Values = append(out[i].Values, vary.Assignment{Path: p.Path, Value: p.Values[i]})
		}
	}
	return named(out)
}

// named gives variations the labels and folders that follow from their values.
func named(list []vary.Variation) []vary.Variation {
	for i := range list {
		list[i].Label, list[i].Folder = Label(list[i].Values), Folder(list[i].Values)
	}
	return list
}

func (b *Block) scenarios() []vary.Variation {
	var out []vary.Variation
	for i, s := range b.Runs {
		v := vary.Variation{Label: s.Name, Folder: fileName(s.Name)}
		if v.Label == "" {
			v.Label = "scenario_" + strconv.Itoa(i)
		}
		if v.Folder == "" {
			v.Folder = "variation_" + strconv.Itoa(i)
		}
		if s.Variables.value != nil {
			v.Values = append(v.Values, vary.Assignment{Path: "variables", Value: s.Variables.value})
		}
		if s.Benchmark.value != nil {
			v.Values = append(v.Values, vary.Assignment{Path: "benchmark", Value: s.Benchmark.value})
		}
		v.Values = append(v.Values, s.Values...)
		out = append(out, v)
	}
	return out
}

// Label returns AIPerf's label of a variation: path=value, separated by commas.
func Label(values []vary.Assignment) string {
	parts := make([]string, len(values))
	for i, a := range values {
		parts[i] = a.Path + "=" + Text(a.Value)
	}
	return strings.Join(parts, ", ")
}

// Folder returns AIPerf's name for the folder of a variation: concurrency_4, or
// isl_512__concurrency_4.
func Folder(values []vary.Assignment) string {
	parts := make([]string, len(values))
	for i, a := range values {
		parts[i] = Name(a.Path) + "_" + Text(a.Value)
	}
	return fileName(strings.Join(parts, "__"))
}

// Short returns the values of a variation by short names: "isl 512, concurrency 4".
func Short(values []vary.Assignment) string {
	parts := make([]string, len(values))
	for i, a := range values {
		parts[i] = Name(a.Path) + " " + Text(a.Value)
	}
	return strings.Join(parts, ", ")
}

// Name returns the short name of a path: the last name in it that says what is varied.
func Name(path string) string {
	names := strings.Split(path, ".")
	last := names[len(names)-1]
	if len(names) < 2 {
		return last
	}
	switch last {
	case "mean":
		return names[len(names)-2]
	case "stddev":
		return names[len(names)-2] + "_stddev"
	}
	return last
}

// Text returns a value as labels show it.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	data, err := plainjson.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// fileName removes what a name of a folder cannot have.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\<>:"|?*`, r) {
			return -1
		}
		return r
	}, s)
	s = strings.ReplaceAll(s, "..", "")
	const most = 150 // bytes; file systems allow 255
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	if strings.Trim(s, ". ") == "" {
		return ""
	}
	return s
}
