package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An object of pools becomes a list of records that name their pool.
func TestPools(t *testing.T) {
	const doc = `benchmark: {model: m, phases: {requests: 200}, dataset: {type: file, format: random_pool,
  records: {query: [{text: a}, {text: b, pool: own}], passages: [{text: c}]}}}`
	d, _, err := Load([]byte(doc), LoadOptions{Choices: someChoices()})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range d.Benchmark.Datasets[0].Records {
		raw, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(raw))
	}
	want := []string{`{"text":"a","pool":"query"}`, `{"text":"b","pool":"own"}`, `{"text":"c","pool":"passages"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if n := d.Benchmark.Datasets[0].Entries; n != 200 {
		t.Errorf("entries = %d, want the number of requests", n)
	}
}

// What Choices say of a format sets the defaults; an error of the detection is a problem
// of the path.
func TestDetected(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "chats.csv")
	if err := os.WriteFile(path, []byte("text\na\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked DatasetFile
	c := someChoices()
	c.Orders = map[string]string{"single_turn": "shuffle"}
	c.Detect = func(f DatasetFile) (Detected, error) {
		asked = f
		return Detected{Format: "single_turn"}, nil
	}
	doc := "benchmark: {model: m, phases: {requests: 200}, dataset: {type: file, path: " + path + "}}"
	d, _, err := Load([]byte(doc), LoadOptions{Choices: c, Untrusted: true, DataRoots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	if got := &d.Benchmark.Datasets[0]; got.Format != "single_turn" || got.Sampling != "shuffle" {
		t.Errorf("format %s in the order %s, want what was detected", got.Format, got.Sampling)
	}
	if text, err := fs.ReadFile(asked.FS, asked.Path); err != nil || asked.Path != "chats.csv" || string(text) != "text\na\n" {
		t.Errorf("the file that was looked at is %q: %q, %v", asked.Path, text, err)
	}
	if _, err := asked.FS.Open("other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another file of an untrusted document: %v", err)
	}
	c.Detect = func(DatasetFile) (Detected, error) { return Detected{}, errors.New("looks like nothing") }
	_, _, err = Load([]byte(doc), LoadOptions{Choices: c})
	if err == nil || !strings.Contains(err.Error(), "benchmark/dataset/path: looks like nothing") {
		t.Errorf("error = %v", err)
	}
}
