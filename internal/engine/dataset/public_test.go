package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/tokenizer"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// cache makes a Hugging Face cache with a dataset.
func cache(t *testing.T, id, revision string, files map[string]string) hub.Options {
	t.Helper()
	dir := t.TempDir()
	repo := filepath.Join(dir, "datasets--"+strings.ReplaceAll(id, "/", "--"))
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(repo, "refs", filepath.FromSlash(revision)), commit)
	for name, text := range files {
		write(filepath.Join(repo, "snapshots", commit, filepath.FromSlash(name)), text)
	}
	return hub.Options{Cache: dir}
}

// prompts returns the texts of a pass, conversations separated by |.
func prompts(ctx context.Context, o source.Options, r PublicRequest) (string, source.Description, error) {
	s, err := openPublic(ctx, o, r, agentic.Spec{})
	if err != nil {
		return "", source.Description{}, err
	}
	defer s.Close()
	var all []string
	for {
		entry, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return strings.Join(all, "|"), s.Describe(), nil
		}
		if err != nil {
			return "", source.Description{}, err
		}
		c, err := entry.Make()
		if err != nil {
			return "", source.Description{}, err
		}
		var texts []string
		for _, turn := range c.Turns {
			texts = append(texts, turn.Texts...)
		}
		all = append(all, strings.Join(texts, "/"))
	}
}

func TestCached(t *testing.T) {
	tests := []struct {
		name    string
		request PublicRequest
		id, at  string
		files   map[string]string
		want    string
	}{
		{"shards", PublicRequest{Name: "aimo"}, "AI-MO/NuminaMath-TIR", "main", map[string]string{
			"README.md": "x", "data/train-00000-of-00002.jsonl": `{"problem":"a"}`, "data/train-00001-of-00002.jsonl": "{\"problem\":\"b\"}\n{\"problem\":null}\n", "data/test-00000-of-00001.jsonl": `{"problem":"no"}`,
		}, "a|b"},
		{"subset of the row", PublicRequest{Name: "spec-al-gsm8k"}, "openai/gsm8k", "main", map[string]string{
			"main/test-00000-of-00001.jsonl": `{"question":"a"}`, "socratic/test-00000-of-00001.jsonl": `{"question":"no"}`,
		}, "a"},
		{"other subset and split", PublicRequest{Name: "spec_al_gsm8k", Subset: "socratic", Split: "train"}, "openai/gsm8k", "main", map[string]string{
			"main/train-00000-of-00001.jsonl": `{"question":"no"}`, "socratic/train-00000-of-00001.jsonl": `{"question":"a"}`,
		}, "a"},
		{"turns", PublicRequest{Name: "spec_al_mtbench"}, "HuggingFaceH4/mt_bench_prompts", "main", map[string]string{"raw/question.jsonl": `{"prompt":["a","b"]}`}, "a/b"},
		{"template", PublicRequest{Name: "blazedit_5k"}, "vdaita/edit_5k_char", "main", map[string]string{"data/train.json": `[{"code":"CODE","change_request":"CHANGE"}]`},
			"Given a code file, please apply the change requests and generate the new file.\n\nOriginal file:\n```python\nCODE\n```\n\nChange request:\nCHANGE\n\nPlease generate the new code file in the \"New file\" section below."},
		{"ShareGPT", PublicRequest{Name: "sharegpt"}, "anon8231489123/ShareGPT_Vicuna_unfiltered", "main", map[string]string{
			"ShareGPT_V3_unfiltered_cleaned_split.json": `[{"conversations":[{"from":"human","value":"one two three four"},{"from":"gpt","value":"five six seven eight"}]},{"conversations":[]}]`, "other.json": "[]",
		}, "one two three four"},
		{"any dataset", PublicRequest{Name: "hf:org/set", Split: "train_sft", Subset: "en"}, "org/set", "main", map[string]string{
			"en/train_sft.csv": "instruction,input\na,b\n", "en/train.csv": "instruction\nno\n", "de/train_sft.csv": "instruction\nno\n",
		}, "a"},
		{"Parquet of the hub", PublicRequest{Name: "hf:org/set"}, "org/set", "refs/convert/parquet", map[string]string{"default/train/0000.jsonl": `{"text":"a"}`}, "a"},
		{"a revision", PublicRequest{Name: "hf:org/set", Revision: "v1"}, "org/set", "v1", map[string]string{"train.jsonl": `{"text":"a"}`}, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.request.Hub = cache(t, tt.id, tt.at, tt.files)
			got, about, err := prompts(t.Context(), source.Options{Tokenizer: tokenizer.Builtin()}, tt.request)
			if err != nil || got != tt.want {
				t.Errorf("prompts %q, error %v; want %q", got, err, tt.want)
			}
			if about.Path != tt.id || about.Revision != commit {
				t.Errorf("described as %s at %s", about.Path, about.Revision)
			}
		})
	}
}

// Filters choose rows by the values of their columns.
func TestFilters(t *testing.T) {
	r := PublicRequest{Name: "hf:org/set", Hub: cache(t, "org/set", "main", map[string]string{
		"train.jsonl": `{"text": "a", "level": "easy", "n": 1}` + "\n" + `{"text": "b", "level": "Easy", "n": 2}` + "\n" + `{"text": "c", "level": "hard", "n": 1}`,
	})}
	for _, tt := range []struct {
		filters    map[string]string
		want, fail string
	}{
		{map[string]string{"level": "easy"}, "a|b", ""},
		{map[string]string{"level": "easy", "n": "1"}, "a", ""},
		{map[string]string{"level": "none"}, "", "none of 3 records is used: 3 whose level is not none"},
		{map[string]string{"lvel": "easy"}, "", `there is no column "lvel" to filter by; the columns are level, n, text`},
	} {
		got, _, err := prompts(t.Context(), source.Options{Filters: tt.filters}, r)
		if got != tt.want || (err == nil) != (tt.fail == "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%v: %q, %v; want %q, %s", tt.filters, got, err, tt.want, tt.fail)
		}
	}
}

func TestRefused(t *testing.T) {
	two := map[string]string{"a/train-0.jsonl": "{}", "b/train-0.jsonl": "{}"}
	tests := []struct {
		name    string
		request PublicRequest
		files   map[string]string // of org/set
		want    string
	}{
		{"unknown", PublicRequest{Name: "aimi"}, nil, `unknown dataset "aimi"; accepted: sharegpt, aimo, `},
		{"not read", PublicRequest{Name: "exgentic"}, nil, "exgentic is not supported: its rows are spans of agents, a format that is not read yet"},
		{"no corpus", PublicRequest{Name: "weka:set"}, nil, `"weka:set" is not the id of a dataset: must be weka:ORG/NAME`},
		{"a corpus that is not there", PublicRequest{Name: "semianalysis_cc_traces_weka_061326"}, nil, "hf download --repo-type dataset semianalysisai/cc-traces-weka-061326"},
		{"a corpus of tables", PublicRequest{Name: "weka:org/set"}, map[string]string{"train.parquet": "x"}, "no file has one of the extensions"},
		{"no id", PublicRequest{Name: "hf:set"}, nil, `"hf:set" is not the id of a dataset: must be hf:ORG/NAME`},
		{"an id that leads out", PublicRequest{Name: "hf:../set"}, nil, "is not the id of a dataset"},
		{"elsewhere", PublicRequest{Name: "spec_bench"}, nil, "it is not on the Hugging Face hub: download https://raw.githubusercontent.com/"},
		{"not there", PublicRequest{Name: "aimo"}, nil, "AI-MO/NuminaMath-TIR is not in the Hugging Face cache (/"},
		{"how to get it", PublicRequest{Name: "aimo"}, nil, "pass --allow-download, or download it: hf download --repo-type dataset AI-MO/NuminaMath-TIR"},
		{"not allowed there", PublicRequest{Name: "aimo", Fetch: true}, nil, "HF_HUB_OFFLINE is set"},
		{"no split", PublicRequest{Name: "hf:org/set", Split: "validation"}, two, `no split "validation"; there are train`},
		{"no subset", PublicRequest{Name: "hf:org/set", Subset: "c"}, two, `no subset "c"; there are a, b`},
		{"which subset", PublicRequest{Name: "hf:org/set"}, two, "several subsets: name one with --hf-subset: a, b"},
		{"no data", PublicRequest{Name: "hf:org/set"}, map[string]string{"README.md": "x", "dataset_infos.json": "{}"}, "no file has one of the extensions .parquet, .arrow"},
		{"a part", PublicRequest{Name: "hf:org/set"}, map[string]string{"train-00001-of-00003.jsonl": "{}"}, "the copy is incomplete: 1 of 3 files train-…"},
		{"no prompt", PublicRequest{Name: "hf:org/set"}, map[string]string{"train.jsonl": `{"x":1}`}, "train.jsonl:1: no column for the prompt: name it (--prompt-column); the columns are x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.request.Hub = cache(t, "org/set", "main", tt.files)
			tt.request.Hub.Offline = "HF_HUB_OFFLINE"
			_, _, err := prompts(t.Context(), source.Options{}, tt.request)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v\nwant one with %s", err, tt.want)
			}
		})
	}
}

func TestLocalCopy(t *testing.T) {
	o := source.Options{File: file.File{Path: "q.jsonl", FS: fstest.MapFS{"q.jsonl": {Data: []byte(`{"turns":["a","b"],"category":"x"}`)}}}}
	got, about, err := prompts(t.Context(), o, PublicRequest{Name: "spec_bench"})
	if err != nil || got != "a" || about.Path != "q.jsonl" || about.Revision != "" {
		t.Errorf("prompts %q of %+v, error %v", got, about, err)
	}
}

// A corpus of sessions is found by its name in the cache of the hub, as lines of JSON, or read from a local copy.
func TestCorpus(t *testing.T) {
	trace := func(id string, out int) string {
		return fmt.Sprintf(`{"id": %q, "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [`+
			`{"t": 0, "type": "s", "model": "m", "in": 64, "out": %d, "hash_ids": [1]}]}`, id, out)
	}
	text := trace("A", 64) + "\n" + trace("B", 900) + "\n"
	open := func(o source.Options, name string, files map[string]string) (ids []string, about source.Description) {
		t.Helper()
		request := PublicRequest{Name: name, Hub: cache(t, "semianalysisai/cc-traces-weka-062126", "main", files)}
		o.Tokenizer = tokenizer.Builtin()
		s, err := openPublic(t.Context(), o, request, agentic.Spec{MaxContext: 500})
		if err != nil {
			t.Fatal(err)
		}
		for {
			e, err := s.Next(t.Context())
			if errors.Is(err, io.EOF) {
				return ids, s.Describe()
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := e.Make()
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, c.ID)
		}
	}
	files := map[string]string{"README.md": "x", "data/train-00000-of-00001.jsonl": text, "data/train-00000-of-00001.parquet": "x"}
	for _, name := range []string{"semianalysis_cc_traces_weka_062126", "semianalysis_cc_traces_weka_with_subagents", "weka:semianalysisai/cc-traces-weka-062126"} {
		ids, about := open(source.Options{}, name, files)
		if !slices.Equal(ids, []string{"A"}) || about.Path != "semianalysisai/cc-traces-weka-062126" || about.Revision != commit {
			t.Errorf("%s: traces %v of %s at %s", name, ids, about.Path, about.Revision)
		}
		want := []string{"records that are not used: 1 with a request of more than 500 tokens"}
		if strings.HasSuffix(name, "subagents") {
			want = append(want, "the name of this corpus is that of another one in other tools; use semianalysis_cc_traces_weka_062126")
		}
		if !slices.Equal(about.Warnings, want) {
			t.Errorf("%s: %q", name, about.Warnings)
		}
	}
	o := source.Options{File: file.File{Path: "t.jsonl", FS: fstest.MapFS{"t.jsonl": {Data: []byte(text)}}}}
	if ids, about := open(o, "semianalysis_cc_traces_weka_062126", nil); !slices.Equal(ids, []string{"A"}) || about.Path != "t.jsonl" {
		t.Errorf("local copy: traces %v of %s", ids, about.Path)
	}
}

// With permission, only the files of the split are downloaded, and only once.
func TestFetched(t *testing.T) {
	var asked []string
	files := map[string]string{"main/train-00000-of-00001.jsonl": `{"question":"no"}`, "main/test-00000-of-00001.jsonl": `{"question":"a"}`}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if r.URL.Path == "/api/datasets/openai/gsm8k/revision/main" {
			var siblings []map[string]string
			for name := range files {
				siblings = append(siblings, map[string]string{"rfilename": name})
			}
			if err := json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": siblings}); err != nil {
				t.Error(err)
			}
			return
		}
		content, ok := files[strings.TrimPrefix(r.URL.Path, "/datasets/openai/gsm8k/resolve/"+commit+"/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(content))))
		fmt.Fprint(w, content)
	}))
	defer server.Close()
	r := PublicRequest{Name: "spec_al_gsm8k", Fetch: true, Hub: hub.Options{Cache: t.TempDir(), Endpoint: server.URL}}
	for range 2 {
		got, about, err := prompts(t.Context(), source.Options{}, r)
		if err != nil || got != "a" || about.Revision != commit {
			t.Fatalf("prompts %q of %+v, error %v", got, about, err)
		}
	}
	want := []string{"/api/datasets/openai/gsm8k/revision/main", "/datasets/openai/gsm8k/resolve/" + commit + "/main/test-00000-of-00001.jsonl"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	server.Close()
	r.Hub.Cache = t.TempDir()
	if _, _, err := prompts(t.Context(), source.Options{}, r); err == nil || !strings.Contains(err.Error(), "list the files of openai/gsm8k") {
		t.Errorf("without a hub: error %v", err)
	}
}

// Every name of AIPerf 0.13 is read or refused with a reason.
func TestSets(t *testing.T) {
	var names []string
	for _, s := range publicSets() {
		names = append(names, s.Name)
		switch {
		case s.Doc == "" && s.Not == "":
			t.Errorf("%s has neither a description nor a reason", s.Name)
		case s.Not == "" && s.Read.New == nil && !IsCorpus(s.Name):
			t.Errorf("%s cannot be read", s.Name)
		case s.Not == "" && (s.Repo == "") == (s.Local == ""):
			t.Errorf("%s: must be on the hub or elsewhere", s.Name)
		case s.Repo != "" && !hub.IsID(s.Repo):
			t.Errorf("%s: %s is not an id", s.Name, s.Repo)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != 42 {
		t.Errorf("%d names, want the 42 of AIPerf", len(names))
	}
	if n := strings.Count(publicRows(), "\n"); n != 42 {
		t.Errorf("%d names are documented, want 42", n)
	}
}

func FuzzChoose(f *testing.F) {
	f.Add("data/train-00000-of-00001.parquet\nen/test.csv", "en", "test")
	f.Add("a/b/c.jsonl.gz", "", "train")
	f.Fuzz(func(t *testing.T, names, subset, split string) {
		files := strings.Split(names, "\n")
		chosen, err := choose(files, subset, split)
		if err == nil && len(chosen) == 0 {
			t.Error("nothing was chosen, without an error")
		}
		for _, c := range chosen {
			if !slices.Contains(files, c) {
				t.Errorf("%q was not among the files", c)
			}
		}
	})
}
