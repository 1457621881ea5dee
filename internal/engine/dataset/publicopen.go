package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/hub"
)

// PublicRequest names a public dataset.
type PublicRequest struct {
	Name     string      // of a row of [publicSets], or hf:ORG/NAME
	Subset   string      // empty = that of the row
	Split    string      // empty = that of the row
	Revision string      // branch, tag or commit; empty = main
	Fetch    bool        // download what is not in the cache
	Hub      hub.Options // locates the cache
}

// converted is the revision with the Parquet files that the hub makes of datasets in
// other forms.
const converted = "refs/convert/parquet"

// openPublic opens a public dataset. A path in the options is a local copy of its data, which
// is read instead.
func openPublic(ctx context.Context, o source.Options, r PublicRequest, sessions agentic.Spec) (source.Source, error) {
	set, err := FindPublic(r.Name)
	if err != nil {
		return nil, err
	}
	set.Subset, set.Split = cmp.Or(r.Subset, set.Subset), cmp.Or(r.Split, set.Split)
	open := func() (source.Source, error) { return source.OpenFile(ctx, &set.Read, o) }
	if set.Agentic {
		open = func() (source.Source, error) { return agentic.Open(ctx, o, sessions) }
	}
	if o.File.Path != "" {
		return open()
	}
	found, err := set.locate(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("dataset %s: %w", r.Name, err)
	}
	o.File.Files = found.paths()
	s, err := open()
	if err != nil {
		return nil, err
	}
	return &cachedSource{Source: s, found: found, doubt: set.Doubt}, nil
}

// cachedSource is a source that describes where it comes from.
type cachedSource struct {
	source.Source
	found located
	doubt string // empty = there is none
}

// Describe implements source.Source.
func (o *cachedSource) Describe() source.Description {
	d := o.Source.Describe()
	d.Path = o.found.snapshot.ID
	d.Revision = o.found.snapshot.Commit
	if o.doubt != "" {
		d.Warnings = append(d.Warnings, o.doubt)
	}
	return d
}

// located is a dataset in the cache.
type located struct {
	snapshot hub.Snapshot
	files    []string // of the subset and the split
}

func (l *located) paths() []string {
	var paths []string
	for _, f := range l.files {
		paths = append(paths, l.snapshot.Path(f))
	}
	return paths
}

// locate finds the files of a set in the cache, or downloads them.
func (s *PublicSet) locate(ctx context.Context, r PublicRequest) (located, error) {
	if s.Repo == "" {
		return located{}, fmt.Errorf("it is not on the Hugging Face hub: download %s and pass the file with --input-file", s.Local)
	}
	revisions := []string{cmp.Or(r.Revision, "main")}
	if r.Revision == "" && s.File == "" {
		revisions = append(revisions, converted)
	}
	var problems []error
	for _, revision := range revisions {
		found, err := s.cached(r, revision)
		if err == nil {
			return found, nil
		}
		problems = append(problems, err)
	}
	if !r.Fetch {
		return located{}, fmt.Errorf("%w; pass --allow-download, or download it: hf download --repo-type dataset %s", problems[0], s.Repo)
	}
	problems = problems[:0]
	for _, revision := range revisions {
		snapshot, err := r.Hub.FetchDataset(ctx, s.Repo, revision, s.choose)
		if err == nil {
			return s.chosen(snapshot)
		}
		problems = append(problems, err)
		if ctx.Err() != nil {
			break
		}
	}
	return located{}, errors.Join(problems...)
}

// cached finds the files of a set in the cache.
func (s *PublicSet) cached(r PublicRequest, revision string) (located, error) {
	snapshot, ok := r.Hub.FindDataset(s.Repo, revision)
	if !ok {
		return located{}, fmt.Errorf("%s is not in the Hugging Face cache (%s)", s.Repo, cmp.Or(r.Hub.Cache, "HF_HOME is not set"))
	}
	return s.chosen(snapshot)
}

// chosen returns the files of a set in a snapshot.
func (s *PublicSet) chosen(snapshot hub.Snapshot) (located, error) {
	files, err := snapshot.Files()
	if err == nil {
		files, err = s.choose(files)
	}
	if err != nil {
		return located{}, fmt.Errorf("%s at %s: %w", s.Repo, snapshot.Commit, err)
	}
	return located{snapshot, files}, nil
}

// choose returns the files of a set among those of its repository.
func (s *PublicSet) choose(files []string) ([]string, error) {
	if s.Agentic { // a trace is a line; there may be tables of the same traces beside
		files = slices.DeleteFunc(slices.Clone(files), func(f string) bool {
			for _, packed := range []string{".gz", ".zst"} {
				f = strings.TrimSuffix(f, packed)
			}
			return !slices.Contains([]string{".jsonl", ".ndjson", ".json"}, path.Ext(f))
		})
	}
	if s.File == "" {
		return choose(files, s.Subset, s.Split)
	}
	if !slices.Contains(files, s.File) {
		return nil, fmt.Errorf("no file %s", s.File)
	}
	return []string{s.File}, nil
}
