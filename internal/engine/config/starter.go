// This file has documents to begin with, under the names of AIPerf's templates.

package config

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// Starter is a document to begin with.
type Starter struct {
	Name        string
	Title       string
	Category    string
	Tags        []string
	Description string // sentences
	Text        string // YAML
}

//go:embed templates/*.yaml
var starterFiles embed.FS

// Starters returns the templates by category and name; the simplest come first.
func Starters() []Starter {
	names, err := fs.Glob(starterFiles, "templates/*.yaml")
	if err != nil {
		panic("list templates: " + err.Error()) // the pattern is a constant
	}
	all := make([]Starter, 0, len(names))
	for _, name := range names {
		text, err := starterFiles.ReadFile(name)
		if err != nil {
			panic("read template: " + err.Error()) // it is part of the program
		}
		all = append(all, parseStarter(strings.TrimSuffix(path.Base(name), ".yaml"), string(text)))
	}
	slices.SortStableFunc(all, func(a, b Starter) int {
		return slices.Index(StarterCategories(), a.Category) - slices.Index(StarterCategories(), b.Category)
	})
	return all
}

// StarterCategories returns the categories in their order.
func StarterCategories() []string {
	return []string{"Getting Started", "Load Testing", "Datasets", "Sweeps", "Advanced", "Multimodal", "Specialized Endpoints"}
}

// parseStarter reads the comment at the top: the title, category, tags, and the description.
func parseStarter(name, text string) Starter {
	t := Starter{Name: name, Text: text}
	head, _, _ := strings.Cut(text, "\n\n")
	for i, line := range strings.Split(head, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		switch key, value, _ := strings.Cut(line, ": "); {
		case i == 0:
			t.Title = line
		case key == "category":
			t.Category = value
		case key == "tags":
			t.Tags = strings.Split(value, ", ")
		case line != "":
			t.Description = strings.TrimSpace(t.Description + " " + line)
		}
	}
	return t
}

// FindStarter returns the template of a name, in any spelling.
func FindStarter(name string) (Starter, error) {
	all := Starters()
	names := make([]string, len(all))
	for i, t := range all {
		if suggest.Fold(t.Name) == suggest.Fold(name) {
			return t, nil
		}
		names[i] = t.Name
	}
	return Starter{}, fmt.Errorf("there is no template %q%s (see --list)", name, suggest.DidYouMean(name, names))
}

// Matches reports whether name, title, tags or description contain a text, in any case.
func (t Starter) Matches(text string) bool {
	all := strings.Join(append([]string{t.Name, t.Title, t.Category, t.Description}, t.Tags...), "\n")
	return strings.Contains(strings.ToLower(all), strings.ToLower(text))
}

// For returns the text with another model and another URL; empty = those of the template.
func (t Starter) For(model, url string) string {
	text := t.Text
	for _, field := range []struct{ pattern, name, value string }{{`model`, "model", model}, {`urls?`, "url", url}} {
		if field.value == "" {
			continue
		}
		line := regexp.MustCompile(`(?m)^( +)` + field.pattern + `: .*$`)
		at := line.FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		text = text[:at[0]] + text[at[2]:at[3]] + field.name + ": " + string(tree.Quote(field.value)) + text[at[1]:]
	}
	return text
}
