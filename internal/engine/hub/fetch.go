package hub

import (
	"context"
	"crypto/sha1" //nolint:gosec // git identifies blobs by SHA-1
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// File is one file to download.
type File struct {
	Name     string
	Most     int64 // bytes
	Optional bool  // it is not an error if the model has none
}

// Bounds of fetching.
const (
	fetchTimeout  = 5 * time.Minute // all files of a model
	answerTimeout = 30 * time.Second
	maxRedirects  = 5
)

// Fetch downloads files of a revision of a model into the cache, in huggingface_hub's
// layout, and returns the snapshot. Each file appears whole or not at all. The
// token is sent only to the endpoint. Errors name the hub's host and the likely
// reason; they never contain the token or a redirected URL.
func (o *Options) Fetch(ctx context.Context, id, revision string, files []File) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	f, err := o.newFetcher(models, id, revision)
	if err != nil {
		return Snapshot{}, err
	}
	defer f.client.CloseIdleConnections()
	return f.fetch(ctx, revision, files)
}

// fetcher downloads files of one model or dataset.
type fetcher struct {
	*Options
	kind   kind
	id     string
	base   *url.URL // of the hub
	client *http.Client
}

// newFetcher checks the options.
func (o *Options) newFetcher(kind kind, id, revision string) (*fetcher, error) {
	switch {
	case o.Offline != "":
		return nil, fmt.Errorf("%s is set", o.Offline)
	case o.Cache == "":
		return nil, errors.New("there is no folder for the cache: set HF_HOME")
	case !IsID(id) || !IsRevision(revision):
		return nil, fmt.Errorf("%q at revision %q is not the name of a %s on the hub", id, revision, kind)
	}
	base, err := url.Parse(o.Endpoint)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, errors.New("HF_ENDPOINT is not an http or https URL")
	}
	return &fetcher{Options: o, kind: kind, id: id, base: base, client: &http.Client{
		// get follows redirects, and does not send the token to other hosts.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: answerTimeout, Control: o.Allow.Control}).DialContext,
			TLSHandshakeTimeout: answerTimeout, ResponseHeaderTimeout: answerTimeout, DisableCompression: true,
		},
	}}, nil
}

// fetch downloads files that are not in the cache.
func (f *fetcher) fetch(ctx context.Context, revision string, files []File) (Snapshot, error) {
	s := Snapshot{ID: f.id}
	for _, file := range files {
		at := revision
		if s.Commit != "" {
			at = s.Commit // all files of one commit
		}
		got, err := f.get(ctx, at, file)
		if errors.Is(err, errAbsent) && file.Optional {
			continue
		}
		if err != nil {
			return Snapshot{}, fmt.Errorf("fetch %s of %s from %s: %w", file.Name, f.id, f.base.Host, err)
		}
		if s.Commit == "" {
			s = f.snapshot(f.kind, f.id, got.commit)
		}
		if err := f.keep(&s, file.Name, got); err != nil {
			return Snapshot{}, fmt.Errorf("write %s of %s to the cache: %w", file.Name, f.id, err)
		}
	}
	if s.Commit != revision {
		ref := filepath.Join(f.repo(f.kind, f.id), "refs", filepath.FromSlash(revision))
		if err := write(ref, []byte(s.Commit)); err != nil {
			return Snapshot{}, fmt.Errorf("write the revision of %s to the cache: %w", f.id, err)
		}
	}
	return s, nil
}

// fetched is a downloaded file with its metadata from the hub.
type fetched struct {
	temporary    string // path of the content, in the folder of blobs
	commit, etag string
}

var (
	errAbsent = errors.New("there is no such file")
	etags     = regexp.MustCompile(`^[0-9A-Za-z_-]{8,128}$`)
)

// get downloads one file. The first response names the commit and the file's hash,
// even if it redirects to the storage of large files.
func (f *fetcher) get(ctx context.Context, revision string, file File) (*fetched, error) {
	at := f.kind.page(f.base).JoinPath(f.id, "resolve", url.PathEscape(revision), file.Name)
	got := &fetched{}
	for hop := 0; ; hop++ {
		resp, err := f.ask(ctx, at)
		if err != nil {
			return nil, err
		}
		if hop == 0 {
			got.commit = resp.Header.Get("X-Repo-Commit")
		}
		if got.etag == "" && sameOrigin(at, f.base) {
			got.etag = etagOf(resp.Header)
		}
		next, err := f.read(resp, file, got)
		if err != nil || next == nil {
			return got, err
		}
		if hop == maxRedirects {
			return nil, fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if next = at.ResolveReference(next); next.Scheme != "https" && next.Scheme != f.base.Scheme {
			return nil, errors.New("the hub redirects to an insecure address")
		}
		at = next
	}
}

// read reads the content of a response, or the address to which it redirects.
func (f *fetcher) read(resp *http.Response, file File, got *fetched) (next *url.URL, err error) {
	defer resp.Body.Close()
	if got.commit == "" {
		got.commit = resp.Header.Get("X-Repo-Commit") // a renamed model redirects first
	}
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400 && resp.Header.Get("Location") != "":
		next, err = url.Parse(resp.Header.Get("Location"))
		if err != nil {
			return nil, errors.New("the hub redirects to something that is not a URL")
		}
		return next, nil
	case code != http.StatusOK:
		return nil, refusal(resp)
	}
	if !commitPattern.MatchString(got.commit) || !etags.MatchString(got.etag) {
		return nil, errors.New("the server does not answer like a Hugging Face hub (X-Repo-Commit and ETag)")
	}
	timer := time.AfterFunc(stallTimeout, func() { resp.Body.Close() })
	got.temporary, err = f.save(&stalling{resp.Body, timer}, file.Most, got.etag)
	if !timer.Stop() && err != nil {
		err = fmt.Errorf("nothing arrived for %v", stallTimeout)
	}
	return nil, plain(err)
}

// save writes a content of at most so many bytes to a temporary file, and compares it
// with its hash.
func (f *fetcher) save(content io.Reader, most int64, etag string) (path string, err error) {
	blobs := filepath.Join(f.repo(f.kind, f.id), "blobs")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return "", err
	}
	t, err := os.CreateTemp(blobs, ".aiperfd-*.incomplete")
	if err != nil {
		return "", err
	}
	size, err := io.Copy(t, io.LimitReader(content, most+1))
	if err == nil && size > most {
		err = errTooLarge
	}
	if err == nil {
		err = intact(t, size, etag)
	}
	if err = errors.Join(err, t.Chmod(0o644), t.Close()); err != nil {
		return "", errors.Join(err, os.Remove(t.Name()))
	}
	return t.Name(), nil
}

// ask sends one request. Only requests to the hub carry the token.
func (f *fetcher) ask(ctx context.Context, at *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, plain(err)
	}
	req.Header.Set("User-Agent", "aiperfd")
	if f.Token != "" && sameOrigin(at, f.base) {
		req.Header.Set("Authorization", "Bearer "+string(f.Token))
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	return resp, nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// plain removes the URL from an error, because redirected URLs are signed.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err
}

// refusal returns the reason for a response without the file.
func refusal(resp *http.Response) error {
	code := resp.Header.Get("X-Error-Code")
	switch {
	case code == "EntryNotFound":
		return errAbsent
	case code == "RevisionNotFound":
		return errors.New("there is no such revision")
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("HTTP %d: it does not exist, is private or is gated; set HF_TOKEN to a token that may read it", resp.StatusCode)
	case resp.StatusCode == http.StatusNotFound:
		return errAbsent
	}
	return fmt.Errorf("HTTP %d", resp.StatusCode)
}

// etagOf returns the hash of a file from the headers of the hub.
func etagOf(h http.Header) string {
	etag := h.Get("X-Linked-Etag")
	if etag == "" {
		etag = h.Get("ETag")
	}
	return strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
}

// intact compares a content of a size with its hash: SHA-256 for large files, git's
// SHA-1 of a blob for others. Hashes of another form are not checked.
func intact(content io.ReadSeeker, size int64, etag string) error {
	var sum hash.Hash
	switch len(etag) {
	case hex.EncodedLen(sha256.Size):
		sum = sha256.New()
	case hex.EncodedLen(sha1.Size):
		sum = sha1.New() //nolint:gosec // see the import
		fmt.Fprintf(sum, "blob %d\x00", size)
	default:
		return nil
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(sum, content); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != etag {
		return errors.New("the content does not match its hash")
	}
	return nil
}

// keep puts a file under its hash, and a link in the snapshot.
func (f *fetcher) keep(s *Snapshot, name string, got *fetched) error {
	blob := filepath.Join(filepath.Dir(got.temporary), got.etag)
	if err := os.Rename(got.temporary, blob); err != nil {
		return errors.Join(err, os.Remove(got.temporary))
	}
	link := s.Path(name)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	rel, err := filepath.Rel(filepath.Dir(link), blob)
	if err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if os.Symlink(rel, link) == nil {
		return nil
	}
	return os.Rename(blob, link) // a file system without links
}

// write writes a file atomically, by renaming a temporary one.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".aiperfd-*.incomplete")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
