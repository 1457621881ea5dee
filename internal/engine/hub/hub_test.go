package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("hf_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const public = "https://huggingface.co"
	tests := []struct {
		name string
		env  map[string]string
		want Options
	}{
		{"home", map[string]string{"HOME": "/h"}, Options{Cache: "/h/.cache/huggingface/hub", Endpoint: public}},
		{"nothing", nil, Options{Endpoint: public}},
		{"XDG_CACHE_HOME", map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/x"}, Options{Cache: "/x/huggingface/hub", Endpoint: public}},
		{"HF_HOME", map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/x", "HF_HOME": "~/hf"}, Options{Cache: "/h/hf/hub", Endpoint: public}},
		{"HF_HUB_CACHE", map[string]string{"HOME": "/h", "HF_HOME": "/hf", "HF_HUB_CACHE": "$HOME/c"}, Options{Cache: "/h/c", Endpoint: public}},
		{"old name", map[string]string{"HF_HOME": "/hf", "HUGGINGFACE_HUB_CACHE": "/c"}, Options{Cache: "/c", Endpoint: public}},
		{"endpoint", map[string]string{"HF_ENDPOINT": "https://mirror/"}, Options{Endpoint: "https://mirror"}},
		{"token", map[string]string{"HF_HOME": dir, "HF_TOKEN": "hf_env"}, Options{Cache: filepath.Join(dir, "hub"), Endpoint: public, Token: "hf_env"}},
		{"token file", map[string]string{"HF_HOME": dir}, Options{Cache: filepath.Join(dir, "hub"), Endpoint: public, Token: "hf_file"}},
		{"HF_TOKEN_PATH", map[string]string{"HF_TOKEN_PATH": filepath.Join(dir, "token")}, Options{Endpoint: public, Token: "hf_file"}},
		{"offline", map[string]string{"HF_HUB_OFFLINE": "1"}, Options{Endpoint: public, Offline: "HF_HUB_OFFLINE"}},
		{"not offline", map[string]string{"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "False"}, Options{Endpoint: public}},
		{"transformers offline", map[string]string{"TRANSFORMERS_OFFLINE": "yes"}, Options{Endpoint: public, Offline: "TRANSFORMERS_OFFLINE"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := FromEnvironment(func(name string) string { return tt.env[name] })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTokenIsRedacted(t *testing.T) {
	o := Options{Token: "hf_secret"}
	for _, verb := range []string{"%v", "%+v", "%s", "%q", "%#v"} {
		if text := fmt.Sprintf(verb, o); strings.Contains(text, "hf_secret") {
			t.Errorf("%s shows %s", verb, text)
		}
	}
}

const (
	commit  = "0123456789abcdef0123456789abcdef01234567"
	another = "89abcdef0123456789abcdef0123456789abcdef"
)

// layout writes a cache as Python's huggingface_hub does; members are files of a
// repository folder, or links if the content begins with "->".
func layout(t *testing.T, repos map[string]map[string]string) Options {
	t.Helper()
	dir := t.TempDir()
	for repo, files := range repos {
		for name, content := range files {
			path := filepath.Join(dir, repo, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			target, link := strings.CutPrefix(content, "->")
			err := error(nil)
			if link {
				err = os.Symlink(target, path)
			} else {
				err = os.WriteFile(path, []byte(content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return Options{Cache: dir}
}

func TestFind(t *testing.T) {
	const file = "tokenizer.json"
	o := layout(t, map[string]map[string]string{
		"models--org--name": {
			"blobs/aaaa": "first", "blobs/bbbb": "second",
			"refs/main": commit, "refs/v1": another, "refs/refs/pr/2": another,
			"snapshots/" + commit + "/" + file: "->../../blobs/aaaa", "snapshots/" + another + "/" + file: "->../../blobs/bbbb",
		},
		"models--gpt2":          {"refs/main": commit, "snapshots/" + commit + "/" + file: "bare"},
		"models--org--weights":  {"refs/main": commit, "snapshots/" + commit + "/config.json": "{}"},
		"models--a--twice":      {"refs/main": commit, "snapshots/" + commit + "/" + file: "a"},
		"models--b--Twice":      {"refs/main": commit, "snapshots/" + commit + "/" + file: "b"},
		"models--org--broken":   {"refs/main": commit, "snapshots/" + commit + "/" + file: "->../../blobs/gone"},
		"models--org--escaping": {"refs/main": "../../models--org--name/snapshots/" + commit},
		"datasets--org--data":   {"refs/main": commit, "snapshots/" + commit + "/" + file: "data"},
	})
	tests := []struct{ id, revision, want, found string }{
		{"org/name", "main", "first", "org/name"},
		{"org/name", "v1", "second", "org/name"},
		{"org/name", "refs/pr/2", "second", "org/name"},
		{"org/name", another, "second", "org/name"},
		{"org/name", "v2", "", ""},
		{"org/name", "../refs", "", ""},
		{"gpt2", "main", "bare", "gpt2"},
		{"NAME", "main", "first", "org/name"},
		{"twice", "main", "", ""},
		{"data", "main", "", ""},
		{"org/weights", "main", "", ""},
		{"org/broken", "main", "", ""},
		{"org/escaping", "main", "", ""},
		{"org/nothing", "main", "", ""},
		{"../name", "main", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.id+"@"+tt.revision, func(t *testing.T) {
			s, ok := o.Find(tt.id, tt.revision, file)
			if ok != (tt.want != "") {
				t.Fatalf("Find = %v, %v; want found = %v", s, ok, tt.want != "")
			}
			if !ok {
				return
			}
			got, err := s.Read(file, 100)
			if err != nil || string(got) != tt.want || s.ID != tt.found {
				t.Errorf("%q, %v of %s; want %q of %s", got, err, s.ID, tt.want, tt.found)
			}
			if _, err := s.Read(file, int64(len(tt.want)-1)); err == nil {
				t.Error("a file beyond the bound was read")
			}
		})
	}
	if _, ok := (&Options{}).Find("org/name", "main", file); ok {
		t.Error("something was found without a cache")
	}
}

func TestIsID(t *testing.T) {
	for name, want := range map[string]bool{
		"org/name": true, "gpt2": true, "a-b/c.d_e-1": true,
		"": false, "/x": false, "a/b/c": false, "../x": false, "a..b": false, "a--b/c": false, "a b": false, "a/": false, "x.git": false, "-a/b": false, ".a": false,
	} {
		if got := IsID(name); got != want {
			t.Errorf("IsID(%q) = %v, want %v", name, got, want)
		}
	}
}
