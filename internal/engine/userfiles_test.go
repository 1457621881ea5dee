package engine_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/run"
)

// Files of the document are rendered when the run starts, and hold no secret.
func TestUserFiles(t *testing.T) {
	const document = `
variables: {scenario: baseline, users: 2, key: "${secret:KEY}", tiny: "${secret:TINY}"}
benchmark:
  model: m
  endpoint: {url: "http://user:password-1@localhost:8000"}
  dataset: {isl: 16, osl: 4}
  phases: {concurrency: "{{ users }}", requests: 2}
  artifacts:
    user_files:
      - {path: about.json, content: {users: "{{ users * 2 }}", name: "{{ scenario }}", model: "{{ model }}", list: ["{{ namespace }}", 1.5], epoch: "{{ epoch }}"}}
      - {path: deep/er/about.yaml, format: yaml, content: {job: "{{ job_name }}", on: "{{ users > 1 }}"}}
      - path: README.md
        content: |
          # {{ scenario }} at {{ endpoint_url }}
          key {{ key }} and {{ tiny }}
          {% for i in range(users) %}{{ i }} {% endfor %}
`
	doc, _, err := config.Load([]byte(document), config.LoadOptions{Choices: plan.Choices(), LookupSecret: func(name string) (string, bool) {
		return map[string]string{"KEY": "sk-canary-0001", "TINY": "q9"}[name], true
	}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Millisecond, time.Millisecond), nil)
		r, err := b.engine.Submit(t.Context(), doc, run.Submission{Via: "cli"})
		if err != nil {
			t.Fatal(err)
		}
		if r = b.wait(r.ID); r.State != bench.StateCompleted {
			t.Fatalf("state %v, error %+v", r.State, r.Error)
		}
		var about struct {
			Users, Epoch int
			Name, Model  string
			List         []any
		}
		if err := json.Unmarshal([]byte(b.file(r.ID, "about.json")), &about); err != nil {
			t.Fatal(err)
		}
		if about.Users != 4 || about.Name != "baseline" || about.Model != "m" || len(about.List) != 2 || about.Epoch < 1 {
			t.Errorf("about.json: %+v", about)
		}
		want := "job: " + filepath.Base(b.store.Dir(r.ID)) + "\n\"on\": true\n"
		if got := b.file(r.ID, "deep/er/about.yaml"); got != want && got != strings.ReplaceAll(want, `"on"`, "on") {
			t.Errorf("about.yaml: %q, want %q", got, want)
		}
		if got, want := b.file(r.ID, "README.md"), "# baseline at http://<redacted>@localhost:8000\nkey <redacted> and <redacted>\n0 1 \n"; got != want {
			t.Errorf("README.md: %q, want %q", got, want)
		}
	})
}
