package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/tests.md names exists.
func TestNamedTestsExist(t *testing.T) {
	text, err := os.ReadFile("../../docs/tests.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".txtar"), strings.HasSuffix(path, ".mjs"):
			exists[d.Name()] = true
		case strings.Contains(path, ".test.ts"):
			exists[strings.TrimPrefix(filepath.ToSlash(path), "../../web/src/")] = true
		case strings.HasSuffix(path, "_test.go"):
			source, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(source, -1) {
				exists[string(m[1])] = true
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+|\\w+\\.(?:txtar|mjs)|[\\w/]+\\.test\\.tsx?)`").FindAllSubmatch(text, -1)
	if len(named) < 60 {
		t.Fatalf("found %d names only", len(named))
	}
	for _, m := range named {
		if name := string(m[1]); !exists[name] {
			t.Errorf("docs/tests.md names %s, which does not exist", name)
		}
	}
}
