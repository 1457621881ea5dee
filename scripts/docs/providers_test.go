package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProviderCommands: the commands of the documentation that benchmark a server of a
// provider send requests with the path, the query and the headers that the provider
// documents, and no others, beside those for metrics. Each is run against a server on loopback in its place.
func TestProviderCommands(t *testing.T) {
	t.Chdir("../..")
	program := build(t)
	const key = "key-of-the-example"
	want := map[string][]string{
		"https://NAME.openai.azure.com/openai/deployments/my-deployment": {
			"POST /openai/deployments/my-deployment/chat/completions?api-version=2024-10-21 api-key=" + key + " x-team=search",
		},
		"https://NAME.openai.azure.com/openai/v1": {
			"GET /openai/v1/models api-key=" + key,
			"POST /openai/v1/chat/completions api-key=" + key,
		},
		"https://generativelanguage.googleapis.com/v1beta/openai": {
			"GET /v1beta/openai/models authorization=Bearer " + key,
			"POST /v1beta/openai/chat/completions authorization=Bearer " + key,
		},
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, page := range append(pages, "README.md") {
		for _, line := range commandLines(text(t, page)) {
			args := words(line)
			at := slices.IndexFunc(args, func(s string) bool {
				return strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "https://localhost")
			})
			if args[0] != "profile" || at < 0 {
				continue
			}
			base := args[at]
			seen[base] = true
			if diff := cmp.Diff(want[base], sent(t, program, args, at, key)); diff != "" {
				t.Errorf("%s: aiperfd %s (-want +got):\n%s", page, line, diff)
			}
		}
	}
	for base := range want {
		if !seen[base] {
			t.Errorf("no page has a command for %s", base)
		}
	}
}

// sent runs a command with a server of its own in the place of args[at], and returns the
// requests that the server gets, sorted and without repeats.
func sent(t *testing.T, program string, args []string, at int, key string) []string {
	t.Helper()
	var mu sync.Mutex
	requests := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := r.Method + " " + r.URL.RequestURI()
		for _, name := range []string{"Api-Key", "Authorization", "X-Api-Key", "X-Team"} {
			if value := r.Header.Get(name); value != "" {
				line += fmt.Sprintf(" %s=%s", strings.ToLower(name), value)
			}
		}
		if !strings.HasSuffix(r.URL.Path, "/metrics") {
			mu.Lock()
			requests[line] = true
			mu.Unlock()
		}
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := slices.Clone(args)
	run[at] = regexp.MustCompile(`^https://[^/]+`).ReplaceAllLiteralString(run[at], server.URL)
	cmd := exec.CommandContext(t.Context(), program, append(run, "--tokenizer", "builtin", "--isl", "10")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("aiperfd %s: %v\n%s", strings.Join(run, " "), err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(maps.Keys(requests))
}
