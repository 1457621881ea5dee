package hub

import (
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/allow"
)

// fakeHub answers as the hub does: small files itself, "large" ones by a redirect
// to another host. It records which host received which Authorization header.
type fakeHub struct {
	files    map[string]string // by path below /org/name/resolve/main/
	private  bool
	mangle   func(http.Header, []byte) []byte
	got      []string // host name, path and Authorization of each request
	storage  *httptest.Server
	endpoint *httptest.Server
}

func newFakeHub(t *testing.T, files map[string]string) *fakeHub {
	t.Helper()
	h := &fakeHub{files: files, mangle: func(_ http.Header, b []byte) []byte { return b }}
	h.endpoint = httptest.NewServer(http.HandlerFunc(h.serve))
	h.storage = httptest.NewServer(http.HandlerFunc(h.store))
	t.Cleanup(h.endpoint.Close)
	t.Cleanup(h.storage.Close)
	return h
}

func (h *fakeHub) serve(w http.ResponseWriter, r *http.Request) {
	h.got = append(h.got, fmt.Sprintf("hub %s %q", r.URL.EscapedPath(), r.Header.Get("Authorization")))
	if h.private && r.Header.Get("Authorization") != "Bearer hf_secret" {
		w.Header().Set("X-Error-Code", "GatedRepo")
		http.Error(w, "Access is restricted", http.StatusUnauthorized)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/org/name/resolve/")
	_, name, _ := strings.Cut(rest, "/")
	content, known := h.files[name]
	if !ok || !known {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		http.Error(w, "Entry not found", http.StatusNotFound)
		return
	}
	w.Header().Set("X-Repo-Commit", commit)
	if strings.HasPrefix(content, "large") {
		w.Header().Set("X-Linked-Etag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(content))))
		w.Header().Set("Location", h.storage.URL+"/"+name+"?signature=canary")
		w.WriteHeader(http.StatusFound)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`W/"%x"`, sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))))
	body := h.mangle(w.Header(), []byte(content))
	w.Write(body)
}

func (h *fakeHub) store(w http.ResponseWriter, r *http.Request) {
	h.got = append(h.got, fmt.Sprintf("storage %s %q", r.URL.Path, r.Header.Get("Authorization")))
	w.Header().Set("ETag", `"of-the-storage"`)
	w.Write(h.mangle(w.Header(), []byte(h.files[strings.TrimPrefix(r.URL.Path, "/")])))
}

func wanted() []File {
	return []File{{Name: "tokenizer.json", Most: 1000}, {Name: "tokenizer_config.json", Most: 1000, Optional: true}, {Name: "chat_template.jinja", Most: 1000, Optional: true}}
}

// TestFetch: downloaded files are found without the network, in the layout of
// Python's library, and only the hub receives the token.
func TestFetch(t *testing.T) {
	h := newFakeHub(t, map[string]string{"tokenizer.json": "large tokenizer", "tokenizer_config.json": "{}"})
	h.private = true
	o := Options{Cache: filepath.Join(t.TempDir(), "hub"), Endpoint: h.endpoint.URL, Token: "hf_secret"}
	s, err := o.Fetch(t.Context(), "org/name", "main", wanted())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`hub /org/name/resolve/main/tokenizer.json "Bearer hf_secret"`,
		`storage /tokenizer.json ""`,
		`hub /org/name/resolve/` + commit + `/tokenizer_config.json "Bearer hf_secret"`,
		`hub /org/name/resolve/` + commit + `/chat_template.jinja "Bearer hf_secret"`,
	}
	if diff := cmp.Diff(want, h.got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("large tokenizer")))
	small := fmt.Sprintf("%x", sha1.Sum([]byte("blob 2\x00{}")))
	wantTree := map[string]string{
		"blobs/" + sum: "large tokenizer", "blobs/" + small: "{}", "refs/main": commit,
		"snapshots/" + commit + "/tokenizer.json":        "->../../blobs/" + sum,
		"snapshots/" + commit + "/tokenizer_config.json": "->../../blobs/" + small,
	}
	if diff := cmp.Diff(wantTree, tree(t, filepath.Join(o.Cache, "models--org--name"))); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
	again, ok := o.Find("org/name", "main", "tokenizer.json")
	if !ok || again != s {
		t.Errorf("Find = %+v, %v; want %+v", again, ok, s)
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if target, err := os.Readlink(path); err == nil {
			out[rel] = "->" + target
			return nil
		}
		data, err := os.ReadFile(path)
		out[rel] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// TestFetchFaults: no partial file stays, and no message contains a secret.
func TestFetchFaults(t *testing.T) {
	small := map[string]string{"tokenizer.json": "small"}
	tests := []struct {
		name  string
		files map[string]string
		set   func(*fakeHub, *Options)
		want  string
	}{
		{"no tokenizer", nil, func(*fakeHub, *Options) {}, "there is no such file"},
		{"gated", small, func(h *fakeHub, o *Options) { h.private, o.Token = true, "" }, "HTTP 401: it does not exist, is private or is gated; set HF_TOKEN"},
		{"offline", small, func(_ *fakeHub, o *Options) { o.Offline = "HF_HUB_OFFLINE" }, "HF_HUB_OFFLINE is set"},
		{"no cache", small, func(_ *fakeHub, o *Options) { o.Cache = "" }, "set HF_HOME"},
		{"endpoint", small, func(_ *fakeHub, o *Options) { o.Endpoint = "ftp://x" }, "HF_ENDPOINT is not an http or https URL"},
		{"too large", map[string]string{"tokenizer.json": strings.Repeat("x", 1001)}, func(*fakeHub, *Options) {}, "too large"},
		{"damaged", map[string]string{"tokenizer.json": "large"}, func(h *fakeHub, _ *Options) {
			h.mangle = func(http.Header, []byte) []byte { return []byte("larger") }
		}, "does not match its hash"},
		{"no hub", small, func(h *fakeHub, _ *Options) {
			h.mangle = func(o http.Header, b []byte) []byte { o.Del("X-Repo-Commit"); return b }
		}, "does not answer like a Hugging Face hub"},
		{"etag that leads out of the cache", small, func(h *fakeHub, _ *Options) {
			h.mangle = func(o http.Header, b []byte) []byte { o.Set("ETag", `"../../../../etc"`); return b }
		}, "does not answer like a Hugging Face hub"},
		{"storage that is gone", map[string]string{"tokenizer.json": "large"}, func(h *fakeHub, _ *Options) { h.storage.Close() }, "connection refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newFakeHub(t, tt.files)
			o := Options{Cache: t.TempDir(), Endpoint: h.endpoint.URL, Token: "hf_secret"}
			tt.set(h, &o)
			_, err := o.Fetch(t.Context(), "org/name", "main", wanted())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q in it", err, tt.want)
			}
			if strings.Contains(err.Error(), "hf_secret") || strings.Contains(err.Error(), "canary") {
				t.Errorf("the error tells a secret: %v", err)
			}
			if tt.name != "no cache" && len(tree(t, o.Cache)) > 0 {
				t.Errorf("files were left: %v", tree(t, o.Cache))
			}
		})
	}
}

// TestFetchWhereAllowed: the hub cannot redirect to an address that is not allowed.
func TestFetchWhereAllowed(t *testing.T) {
	h := newFakeHub(t, map[string]string{"config.json": "{}", "model": "large file"})
	storage := netip.MustParseAddrPort(h.storage.Listener.Addr().String())
	o := Options{Cache: t.TempDir(), Endpoint: h.endpoint.URL, Allow: allow.New(allow.Options{Open: true, Own: []netip.AddrPort{storage}})}
	if _, err := o.Fetch(t.Context(), "org/name", "main", []File{{Name: "config.json", Most: 100}}); err != nil {
		t.Error(err)
	}
	_, err := o.Fetch(t.Context(), "org/name", "main", []File{{Name: "model", Most: 100}})
	if err == nil || !strings.Contains(err.Error(), storage.String()+" is not an allowed target") || strings.Contains(err.Error(), "canary") {
		t.Errorf("Fetch: %v, want the address refused", err)
	}
	if len(h.got) != 2 {
		t.Errorf("requests: %q, want none to the storage", h.got)
	}
}
