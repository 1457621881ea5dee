package plan

import (
	"slices"
	"strings"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/text"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/metric"
)

// Choices returns the closed lists of values of documents, from the tables of the
// packages that implement them.
func Choices() config.Choices {
	var c config.Choices
	add := func(list *[]config.Choice, name string, aliases ...string) {
		*list = append(*list, config.Choice{Name: name, Aliases: aliases})
	}
	for _, k := range endpoint.Kinds() {
		add(&c.EndpointTypes, k.Name, k.Aliases...)
		if k.Caps.Ranks {
			c.Ranking = append(c.Ranking, k.Name)
		}
		if strings.HasPrefix(k.ContentType, "multipart/form-data") {
			c.Forms = append(c.Forms, k.Name)
		}
		for _, name := range k.Dialects {
			if !slices.ContainsFunc(c.Dialects, func(d config.Choice) bool { return d.Name == name }) {
				add(&c.Dialects, name)
			}
		}
	}
	slices.SortFunc(c.Dialects, func(a, b config.Choice) int { return strings.Compare(a.Name, b.Name) })
	for _, k := range arrival.Kinds() {
		add(&c.Arrivals, k.Name)
		if k.Shaped {
			c.Shaped = append(c.Shaped, k.Name)
		}
	}
	for _, k := range dataset.Kinds() {
		if k.File {
			add(&c.Formats, k.Name)
		}
	}
	for _, k := range text.Corpora() {
		add(&c.Corpora, k.Name)
	}
	for _, k := range dataset.Samplings() {
		add(&c.Samplings, k.Name)
	}
	for _, d := range metric.Defs() {
		if d.Kind == metric.PerRecord {
			c.Objectives = append(c.Objectives, d.Tag)
		}
	}
	return c
}
