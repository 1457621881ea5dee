package config

import (
	"slices"
	"strings"
	"testing"
)

func TestTemplates(t *testing.T) {
	all := Starters()
	if len(all) != 27 || all[0].Name != "minimal" {
		t.Fatalf("%d templates, the first is %s", len(all), all[0].Name)
	}
	for _, s := range all {
		if s.Title == "" || s.Description == "" || len(s.Tags) == 0 || !slices.Contains(StarterCategories(), s.Category) {
			t.Errorf("%s: title %q, category %q, tags %q, description %q", s.Name, s.Title, s.Category, s.Tags, s.Description)
		}
		text := s.For("a: b", "http://h:9")
		if s.Name == "multi_url_load_balancing" && strings.Contains(text, "8001") {
			t.Errorf("%s keeps its URLs:\n%s", s.Name, text)
		}
		if !strings.Contains(text, `  model: "a: b"`) || !strings.Contains(text, `    url: "http://h:9"`) {
			t.Errorf("%s has neither model nor URL:\n%s", s.Name, text)
		}
		if s.For("", "") != s.Text {
			t.Errorf("%s changes without a model and a URL", s.Name)
		}
	}
}
