package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// stallTimeout ends the download of a dataset when nothing arrives; its files may be of
// any size, so there is no other bound.
const stallTimeout = time.Minute

// maxListing bounds the list of the files of a dataset.
const maxListing = 64 << 20

// FindDataset finds a revision of a dataset in the cache. It does not use the network.
// The snapshot may have only some of the files of the dataset.
func (o *Options) FindDataset(id, revision string) (Snapshot, bool) {
	if o.Cache == "" || !IsID(id) || !IsRevision(revision) {
		return Snapshot{}, false
	}
	return o.cached(datasets, id, revision, "")
}

// Files returns the slash-separated names of the files of a snapshot, sorted.
func (s *Snapshot) Files() ([]string, error) {
	var names []string
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // a link to a blob that was deleted
		}
		name, err := filepath.Rel(s.dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	slices.Sort(names)
	return names, err
}

// FetchDataset downloads the files of a revision of a dataset that pick chooses from
// the names of all of them, as [Options.Fetch] does it for models. Files that are in the
// cache are not downloaded again.
func (o *Options) FetchDataset(ctx context.Context, id, revision string, pick func(files []string) ([]string, error)) (Snapshot, error) {
	f, err := o.newFetcher(datasets, id, revision)
	if err != nil {
		return Snapshot{}, err
	}
	defer f.client.CloseIdleConnections()
	commit, names, err := f.list(ctx, revision)
	if err != nil {
		return Snapshot{}, fmt.Errorf("list the files of %s at %s: %w", id, f.base.Host, err)
	}
	if names, err = pick(names); err != nil {
		return Snapshot{}, fmt.Errorf("dataset %s: %w", id, err)
	}
	s := o.snapshot(datasets, id, commit)
	for _, name := range names {
		if info, err := os.Stat(s.Path(name)); err == nil && info.Mode().IsRegular() {
			continue
		}
		if _, err := f.fetch(ctx, commit, []File{{Name: name, Most: math.MaxInt64 - 1}}); err != nil {
			return Snapshot{}, err
		}
	}
	if commit == revision {
		return s, nil
	}
	ref := filepath.Join(o.repo(datasets, id), "refs", filepath.FromSlash(revision))
	return s, write(ref, []byte(commit))
}

// list asks the hub for the commit of a revision and the names of its files.
func (f *fetcher) list(ctx context.Context, revision string) (commit string, names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	resp, err := f.ask(ctx, f.base.JoinPath("api", string(f.kind), f.id, "revision", url.PathEscape(revision)))
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", nil, refusal(resp)
	}
	data, err := readAtMost(resp.Body, maxListing)
	if err != nil {
		return "", nil, plain(err)
	}
	var listing struct {
		Commit string `json:"sha"`
		Files  []struct {
			Name string `json:"rfilename"`
		} `json:"siblings"`
	}
	if json.Unmarshal(data, &listing) != nil || !commitPattern.MatchString(listing.Commit) {
		return "", nil, errors.New("the server does not answer like a Hugging Face hub (sha and siblings)")
	}
	for _, file := range listing.Files {
		if fs.ValidPath(file.Name) && filepath.IsLocal(filepath.FromSlash(file.Name)) {
			names = append(names, file.Name)
		}
	}
	return listing.Commit, names, nil
}

// stalling is a content whose reading ends with an error when nothing arrives for the
// stallTimeout.
type stalling struct {
	io.Reader
	timer *time.Timer
}

func (s *stalling) Read(p []byte) (int, error) {
	s.timer.Reset(stallTimeout)
	return s.Reader.Read(p)
}
