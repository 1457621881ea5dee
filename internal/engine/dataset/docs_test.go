package dataset

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/dataset/text"
)

// documented returns the text of a section, and the first cells of its table.
func documented(t *testing.T, section string) (body string, cells []string) {
	t.Helper()
	var b strings.Builder
	if err := WriteDocs(&b); err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(b.String(), "\n## "+section+"\n\n")
	if !ok {
		t.Fatalf("there is no section %q", section)
	}
	body, _, _ = strings.Cut(rest, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(body, -1) {
		cells = append(cells, m[1])
	}
	return body, cells
}

func TestWriteDocs(t *testing.T) {
	var kinds []string
	for _, k := range Kinds() {
		kinds = append(kinds, k.Name)
		if body, _ := documented(t, k.Name); body == "" {
			t.Errorf("section %s is empty", k.Name)
		}
	}
	var corpora, samplings []string
	for _, c := range text.Corpora() {
		corpora = append(corpora, c.Name)
	}
	for _, s := range Samplings() {
		samplings = append(samplings, s.Name)
	}
	sections := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(documentation, -1)
	var names []string
	for _, m := range sections {
		names = append(names, m[1])
	}
	if want := slices.Concat(kinds, []string{"Corpora", "Sampling"}); !slices.Equal(names, want) {
		t.Errorf("sections %v, want %v", names, want)
	}
	if _, got := documented(t, "Corpora"); !slices.Equal(got, corpora) {
		t.Errorf("corpora %v, want %v", got, corpora)
	}
	if _, got := documented(t, "Sampling"); !slices.Equal(got, samplings) {
		t.Errorf("strategies %v, want %v", got, samplings)
	}
	if _, got := documented(t, "public"); len(got) != 42 {
		t.Errorf("%d public sets, want 42", len(got))
	}
}
