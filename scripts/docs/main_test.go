package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommitted: the pages in docs/ are those that the code makes.
func TestCommitted(t *testing.T) {
	t.Chdir("../..")
	for _, p := range pages() {
		t.Run(p.name, func(t *testing.T) {
			want, err := p.render()
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join("docs", p.name))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("docs/%s is not up to date: run make generate", p.name)
			}
		})
	}
}

// TestRun: all pages are written, and a second time the same.
func TestRun(t *testing.T) {
	t.Chdir("../..")
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := run(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range pages() {
		a, errA := os.ReadFile(filepath.Join(first, p.name))
		b, errB := os.ReadFile(filepath.Join(second, p.name))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if string(a) != string(b) {
			t.Errorf("%s differs between two runs", p.name)
		}
		text := string(a)
		if !strings.HasPrefix(text, "# ") || !strings.Contains(text, "generated from") {
			t.Errorf("%s begins with %.80q, want a title and where it comes from", p.name, text)
		}
	}
	endpoints, err := os.ReadFile(filepath.Join(first, "endpoints.md"))
	if err != nil {
		t.Fatal(err)
	}
	if row := "| `chat` | `openai-chat` | `/v1/chat/completions` | yes |"; !strings.Contains(string(endpoints), row) {
		t.Errorf("endpoints.md lacks %q", row)
	}
}
