package collect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file is continued in a next part before it grows beyond its size. A write stays whole,
// also one that is longer than a part.
func TestCreateParts(t *testing.T) {
	dir := t.TempDir()
	p, err := createParts(filepath.Join(dir, "r.jsonl"), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"1234\n", "5678\n", "9\n", strings.Repeat("x", 20) + "\n", "a\n"} {
		if n, err := p.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", text, n, err)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(data)
	}
	want := map[string]string{
		"r.jsonl": "1234\n5678\n", "r.part0002.jsonl": "9\n", "r.part0003.jsonl": strings.Repeat("x", 20) + "\n", "r.part0004.jsonl": "a\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
