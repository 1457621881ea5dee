package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks: links and pictures of pages lead to files and headings that exist.
func TestLinks(t *testing.T) {
	t.Chdir("../..")
	var list []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	link := regexp.MustCompile(`(?:\]\(|src="|srcset=")([^)"\s]+)[)"]`)
	checked := 0
	for _, name := range list {
		for _, m := range link.FindAllStringSubmatch(text(t, name), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			checked++
			path := name
			if target != "" {
				path = filepath.Join(filepath.Dir(name), target)
			}
			switch _, err := os.Stat(path); {
			case err != nil:
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			case anchor != "" && !anchors(text(t, path))[anchor]:
				t.Errorf("%s links to %s, and there is no such heading", name, m[1])
			}
		}
	}
	if checked < 50 {
		t.Errorf("%d links were checked", checked)
	}
}

func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// anchors returns the names of a page's headings as GitHub makes them.
func anchors(page string) map[string]bool {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	names := map[string]bool{}
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			name := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(rest)), "")
			names[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return names
}
