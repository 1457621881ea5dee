package hub

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// datasetHub answers for the dataset org/set at one commit.
func datasetHub(t *testing.T, files map[string]string) (server *httptest.Server, asked *[]string) {
	t.Helper()
	asked = new([]string)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.EscapedPath())
		if r.URL.Path == "/api/datasets/org/set/revision/main" {
			answer := map[string]any{"sha": commit}
			var siblings []map[string]string
			for name := range files {
				siblings = append(siblings, map[string]string{"rfilename": name})
			}
			answer["siblings"] = siblings
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
			return
		}
		content, ok := files[strings.TrimPrefix(r.URL.Path, "/datasets/org/set/resolve/"+commit+"/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(content))))
		fmt.Fprint(w, strings.Replace(content, "torn", "", 1))
	}))
	t.Cleanup(server.Close)
	return server, asked
}

// Only the files that are chosen are downloaded, once, and found again offline.
func TestFetchDataset(t *testing.T) {
	server, asked := datasetHub(t, map[string]string{"README.md": "read", "data/train-0.parquet": "zero", "data/train-1.parquet": "one", "../evil": "x", "/evil": "x"})
	o := Options{Cache: t.TempDir(), Endpoint: server.URL}
	if _, ok := o.FindDataset("org/set", "main"); ok {
		t.Error("a dataset was found in an empty cache")
	}
	train := func(files []string) ([]string, error) {
		slices.Sort(files)
		if diff := cmp.Diff([]string{"README.md", "data/train-0.parquet", "data/train-1.parquet"}, files); diff != "" {
			t.Errorf("files of the hub (-want +got):\n%s", diff)
		}
		return files[1:], nil
	}
	for range 2 {
		s, err := o.FetchDataset(t.Context(), "org/set", "main", train)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(s.Path("data/train-1.parquet")); err != nil || string(data) != "one" || s.Commit != commit {
			t.Errorf("file %q at %s, error %v", data, s.Commit, err)
		}
	}
	want := []string{
		"/api/datasets/org/set/revision/main",
		"/datasets/org/set/resolve/" + commit + "/data/train-0.parquet", "/datasets/org/set/resolve/" + commit + "/data/train-1.parquet",
		"/api/datasets/org/set/revision/main",
	}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	o = Options{Cache: o.Cache}
	s, ok := o.FindDataset("org/set", "main")
	if !ok {
		t.Fatal("the dataset was not found in the cache")
	}
	files, err := s.Files()
	if diff := cmp.Diff([]string{"data/train-0.parquet", "data/train-1.parquet"}, files); diff != "" || err != nil {
		t.Errorf("error %v, files (-want +got):\n%s", err, diff)
	}
	if _, err := os.Stat(filepath.Join(o.Cache, "datasets--org--set", "refs", "main")); err != nil {
		t.Errorf("the cache has no reference: %v", err)
	}
}

func TestFetchDatasetFaults(t *testing.T) {
	all := func(files []string) ([]string, error) { return files, nil }
	tests := []struct {
		name, id, content, want string
		pick                    func([]string) ([]string, error)
	}{
		{"unknown", "org/other", "x", "list the files of org/other at 127.0.0.1", all},
		{"no id", "../x", "x", "is not the name of a dataset on the hub", all},
		{"torn", "org/set", "torn content", "the content does not match its hash", all},
		{"nothing fits", "org/set", "x", "dataset org/set: no split", func([]string) ([]string, error) { return nil, errors.New("no split") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, _ := datasetHub(t, map[string]string{"a.jsonl": tt.content})
			o := Options{Cache: t.TempDir(), Endpoint: server.URL}
			_, err := o.FetchDataset(t.Context(), tt.id, "main", tt.pick)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
			if left := tree(t, o.Cache); len(left) > 0 {
				t.Errorf("files were left: %v", left)
			}
		})
	}
}
