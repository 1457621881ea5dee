package plan

import (
	"context"
	"slices"
	"strings"

	"aiperfd/internal/engine/arrival"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/dataset/text"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/metric/catalogue"
)

// Choices returns the closed lists of values of documents, from the tables of the
// packages that implement them.
func Choices() config.Choices {
	c := config.Choices{Orders: map[string]string{}}
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
			c.Formats = append(c.Formats, config.Choice{Name: k.Name, Parts: k.Format.Parts})
			addFormat(&c, k.Format)
		}
	}
	for _, k := range text.Corpora() {
		add(&c.Corpora, k.Name)
	}
	for _, k := range dataset.Samplings() {
		add(&c.Samplings, k.Name)
	}
	for _, d := range catalogue.Defs() {
		c.Metrics = append(c.Metrics, d.Tag)
		if d.Kind == catalogue.PerRecord {
			c.Objectives = append(c.Objectives, d.Tag)
		}
	}
	c.Detect = detect
	return c
}

// addFormat adds what the defaults of datasets depend on.
func addFormat(c *config.Choices, f *source.Format) {
	if f.Trace {
		c.Traces = append(c.Traces, f.Name)
	}
	if f.Draws {
		c.Drawn = append(c.Drawn, f.Name)
	}
	if f.Sampling != "" {
		c.Orders[f.Name] = f.Sampling
	}
}

// detect looks at the first record of a dataset. It reads regular files only, so that it
// does not wait.
func detect(d config.DatasetFile) (config.Detected, error) {
	f := file.File{FS: d.FS, Path: d.Path, Records: d.Records}
	if d.FS != nil {
		f.MaxBytes = file.UntrustedMaxBytes
	}
	known := source.Known{Format: d.Format, Columns: d.Columns}
	if kind, ok := endpoint.Lookup(d.Endpoint); ok {
		known.Bodies = !kind.Messages
	}
	name, timed, err := source.Detect(context.Background(), f, known, dataset.Formats())
	return config.Detected{Format: name, Timed: timed}, err
}
