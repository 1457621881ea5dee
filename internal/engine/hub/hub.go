// Package hub finds files of models in the cache of Python's huggingface_hub on this
// machine, and downloads files from the hub into that cache. It has no state and
// starts no goroutines. Only downloads use the network.
package hub

import (
	"cmp"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aiperfd/internal/engine/allow"
)

// Options locate the files of models. With the zero value nothing is found, and the
// network is not used.
type Options struct {
	Cache    string      // folder with models--org--name; empty = there is none
	Endpoint string      // base URL of the hub; empty = downloads are not allowed
	Token    Token       // sent only to the endpoint; may be empty
	Allow    *allow.List // addresses to which downloads may connect; nil = all
	Offline  string      // name of the environment variable that forbids the network; empty = none does
}

// Token is an access token. It formats as <redacted>.
type Token string

// String implements fmt.Stringer.
func (t Token) String() string { return "<redacted>" }

// GoString implements fmt.GoStringer.
func (t Token) GoString() string { return "<redacted>" }

// defaultEndpoint is the public hub.
const defaultEndpoint = "https://huggingface.co"

// FromEnvironment reads the variables of huggingface_hub: HF_HUB_CACHE (or
// HUGGINGFACE_HUB_CACHE), HF_HOME, XDG_CACHE_HOME, HF_ENDPOINT, HF_TOKEN (or
// HUGGING_FACE_HUB_TOKEN), HF_TOKEN_PATH, HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE.
// An empty variable is not set.
func FromEnvironment(getenv func(string) string) Options {
	home := getenv("HOME")
	place := func(name string) string {
		value := os.Expand(getenv(name), getenv)
		if rest, ok := strings.CutPrefix(value, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) && home != "" {
			value = home + rest
		}
		return value
	}
	base := place("HF_HOME")
	if base == "" {
		cache := place("XDG_CACHE_HOME")
		if cache == "" && home != "" {
			cache = filepath.Join(home, ".cache")
		}
		if cache != "" {
			base = filepath.Join(cache, "huggingface")
		}
	}
	o := Options{
		Cache:    cmp.Or(place("HF_HUB_CACHE"), place("HUGGINGFACE_HUB_CACHE")),
		Endpoint: strings.TrimRight(cmp.Or(getenv("HF_ENDPOINT"), defaultEndpoint), "/"),
		Token:    Token(strings.TrimSpace(cmp.Or(getenv("HF_TOKEN"), getenv("HUGGING_FACE_HUB_TOKEN")))),
	}
	tokenFile := place("HF_TOKEN_PATH")
	if base != "" {
		o.Cache = cmp.Or(o.Cache, filepath.Join(base, "hub"))
		tokenFile = cmp.Or(tokenFile, filepath.Join(base, "token"))
	}
	const most = 4096 // bytes of a token
	if data, err := readFile(tokenFile, most); err == nil && o.Token == "" {
		o.Token = Token(strings.TrimSpace(string(data)))
	}
	for _, name := range []string{"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"} {
		if o.Offline == "" && !slices.Contains([]string{"", "0", "no", "off", "false"}, strings.ToLower(getenv(name))) {
			o.Offline = name
		}
	}
	return o
}

var (
	idPattern       = regexp.MustCompile(`^[A-Za-z0-9_][\w.-]*(/[A-Za-z0-9_][\w.-]*)?$`)
	revisionPattern = regexp.MustCompile(`^[A-Za-z0-9_][\w./-]*$`)
	commitPattern   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// IsID reports whether a name can be that of a model on the hub: "org/name", or "name"
// for some old models.
func IsID(name string) bool {
	return len(name) <= 192 && idPattern.MatchString(name) && !strings.Contains(name, "..") && !strings.Contains(name, "--") &&
		!strings.HasSuffix(name, ".git")
}

// IsRevision reports whether a name can be that of a branch, a tag or a commit.
func IsRevision(name string) bool {
	return len(name) <= 192 && revisionPattern.MatchString(name) && filepath.IsLocal(name)
}

// Snapshot is a model or a dataset at one commit in the cache.
type Snapshot struct {
	ID     string // org/name
	Commit string // usually 40 hexadecimal digits
	dir    string
}

// Find finds a revision of a model that has a file. A name without an
// organisation also finds the only model of that name in the cache. It does not
// use the network.
func (o *Options) Find(id, revision, file string) (Snapshot, bool) {
	if o.Cache == "" || !IsID(id) || !IsRevision(revision) {
		return Snapshot{}, false
	}
	if s, ok := o.cached(models, id, revision, file); ok || strings.Contains(id, "/") {
		return s, ok
	}
	var found []Snapshot
	folders, err := os.ReadDir(o.Cache)
	if err != nil {
		return Snapshot{}, false
	}
	for _, f := range folders {
		org, name, ok := strings.Cut(strings.TrimPrefix(f.Name(), "models--"), "--")
		if !ok || !strings.HasPrefix(f.Name(), "models--") || !strings.EqualFold(name, id) {
			continue
		}
		if s, ok := o.cached(models, org+"/"+name, revision, file); ok {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		return Snapshot{}, false
	}
	return found[0], true
}

// cached finds a revision that has a file, or, with an empty name, any.
func (o *Options) cached(kind kind, id, revision, file string) (Snapshot, bool) {
	repo := o.repo(kind, id)
	commit := revision
	const most = 256 // bytes of a file with the name of a commit
	if ref, err := readFile(filepath.Join(repo, "refs", filepath.FromSlash(revision)), most); err == nil {
		commit = strings.TrimSpace(string(ref))
	}
	if !IsRevision(commit) {
		return Snapshot{}, false
	}
	s := o.snapshot(kind, id, commit)
	info, err := os.Stat(s.Path(file))
	return s, err == nil && info.Mode().IsRegular() == (file != "")
}

// kind is a kind of repository on the hub, as it is spelled in the cache.
type kind string

// The kinds of repositories.
const (
	models   kind = "models"
	datasets kind = "datasets"
)

// String returns the word for one of the kind.
func (k kind) String() string { return strings.TrimSuffix(string(k), "s") }

// page returns the address below which repositories of the kind are.
func (k kind) page(base *url.URL) *url.URL {
	if k == models {
		return base
	}
	return base.JoinPath(string(k))
}

func (o *Options) repo(kind kind, id string) string {
	return filepath.Join(o.Cache, string(kind)+"--"+strings.ReplaceAll(id, "/", "--"))
}

func (o *Options) snapshot(kind kind, id, commit string) Snapshot {
	return Snapshot{ID: id, Commit: commit, dir: filepath.Join(o.repo(kind, id), "snapshots", filepath.FromSlash(commit))}
}

// Path returns the path of a file of a snapshot, which has a slash-separated name.
func (s *Snapshot) Path(file string) string { return filepath.Join(s.dir, filepath.FromSlash(file)) }

// Read returns a file of a snapshot, of at most so many bytes.
func (s *Snapshot) Read(file string, most int64) ([]byte, error) {
	return readFile(s.Path(file), most)
}

var (
	errIrregular = errors.New("not a regular file")
	errTooLarge  = errors.New("the file is too large")
)

// readFile reads a regular file of at most so many bytes.
func readFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, most)
}

func readAtMost(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
