package hub

import (
	"context"
	"crypto/sha1" //nolint:gosec // git identifies blobs by SHA-1
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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

// Fetch downloads files of a revision into the cache, in huggingface_hub's
// layout, and returns the snapshot. Each file appears whole or not at all. The
// token is sent only to the endpoint. Errors name the hub's host and the likely
// reason; they never contain the token or a redirected URL.
func (o *Options) Fetch(ctx context.Context, id, revision string, files []File) (Snapshot, error) {
	switch {
	case o.Offline != "":
		return Snapshot{}, fmt.Errorf("%s is set", o.Offline)
	case o.Cache == "":
		return Snapshot{}, errors.New("there is no folder for the cache: set HF_HOME")
	case !IsID(id) || !IsRevision(revision):
		return Snapshot{}, fmt.Errorf("%q at revision %q is not the name of a model on the hub", id, revision)
	}
	base, err := url.Parse(o.Endpoint)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return Snapshot{}, errors.New("HF_ENDPOINT is not an http or https URL")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	f := newFetcher(base, o.Token)
	defer f.client.CloseIdleConnections()
	s := Snapshot{ID: id}
	for _, file := range files {
		at := revision
		if s.Commit != "" {
			at = s.Commit // all files of one commit
		}
		got, err := f.get(ctx, id, at, file)
		if errors.Is(err, errAbsent) && file.Optional {
			continue
		}
		if err != nil {
			return Snapshot{}, fmt.Errorf("fetch %s of %s from %s: %w", file.Name, id, base.Host, err)
		}
		if s.Commit == "" {
			s.Commit = got.commit
			s.dir = filepath.Join(o.repo(id), "snapshots", s.Commit)
		}
		if err := o.keep(&s, file.Name, got); err != nil {
			return Snapshot{}, fmt.Errorf("write %s of %s to the cache: %w", file.Name, id, err)
		}
	}
	if s.Commit != revision {
		ref := filepath.Join(o.repo(id), "refs", filepath.FromSlash(revision))
		if err := write(ref, []byte(s.Commit)); err != nil {
			return Snapshot{}, fmt.Errorf("write the revision of %s to the cache: %w", id, err)
		}
	}
	return s, nil
}

// fetcher sends requests to one hub.
type fetcher struct {
	base   *url.URL
	token  Token
	client *http.Client
}

func newFetcher(base *url.URL, token Token) *fetcher {
	return &fetcher{base: base, token: token, client: &http.Client{
		// get follows redirects, and does not send the token to other hosts.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: answerTimeout}).DialContext,
			TLSHandshakeTimeout: answerTimeout, ResponseHeaderTimeout: answerTimeout, DisableCompression: true,
		},
	}}
}

// fetched is a file with its metadata from the hub.
type fetched struct {
	content      []byte
	commit, etag string
}

var (
	errAbsent = errors.New("the model has no such file")
	etags     = regexp.MustCompile(`^[0-9A-Za-z_-]{8,128}$`)
)

// get downloads one file. The first response names the commit and the file's hash,
// even if it redirects to the storage of large files.
func (f *fetcher) get(ctx context.Context, id, revision string, file File) (*fetched, error) {
	at := f.base.JoinPath(id, "resolve", url.PathEscape(revision), file.Name)
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
	if got.content, err = readAtMost(resp.Body, file.Most); err != nil {
		return nil, plain(err)
	}
	switch {
	case !commitPattern.MatchString(got.commit) || !etags.MatchString(got.etag):
		return nil, errors.New("the server does not answer like a Hugging Face hub (X-Repo-Commit and ETag)")
	case !intact(got.content, got.etag):
		return nil, errors.New("the content does not match its hash")
	}
	return nil, nil
}

// ask sends one request. Only requests to the hub carry the token.
func (f *fetcher) ask(ctx context.Context, at *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, plain(err)
	}
	req.Header.Set("User-Agent", "aiperfd")
	if f.token != "" && sameOrigin(at, f.base) {
		req.Header.Set("Authorization", "Bearer "+string(f.token))
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
		return errors.New("the model has no such revision")
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("HTTP %d: the model does not exist, is private or is gated; set HF_TOKEN to a token that may read it", resp.StatusCode)
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

// intact compares a content with its hash: SHA-256 for large files, git's SHA-1 of a
// blob for others. Hashes of another form are not checked.
func intact(content []byte, etag string) bool {
	switch len(etag) {
	case hex.EncodedLen(sha256.Size):
		return fmt.Sprintf("%x", sha256.Sum256(content)) == etag
	case hex.EncodedLen(sha1.Size):
		blob := append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...)
		return fmt.Sprintf("%x", sha1.Sum(blob)) == etag //nolint:gosec // see the import
	}
	return true
}

// keep writes a file under its hash, and a link in the snapshot.
func (o *Options) keep(s *Snapshot, name string, got *fetched) error {
	blob := filepath.Join(o.repo(s.ID), "blobs", got.etag)
	if err := write(blob, got.content); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	link := filepath.Join(s.dir, name)
	rel, err := filepath.Rel(s.dir, blob)
	if err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if os.Symlink(rel, link) == nil {
		return nil
	}
	return write(link, got.content) // a file system without links
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
