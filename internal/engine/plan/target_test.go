package plan_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
)

// TestProviders: the base URL that a provider documents, and the whole URL, lead to
// the documented paths; the list of models is where the provider has it, or is not
// asked for.
func TestProviders(t *testing.T) {
	table, err := os.ReadFile("testdata/providers.txt")
	if err != nil {
		t.Fatal(err)
	}
	providers := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		cells := strings.Fields(line)
		if len(cells) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(cells) != 5 {
			t.Fatalf("%q has %d cells, want provider, base, type, request and models", line, len(cells))
		}
		provider, base, kind, request, models := cells[0], cells[1], cells[2], cells[3], cells[4]
		providers[provider] = true
		origin := base
		if u, err := url.Parse(base); err == nil {
			origin = u.Scheme + "://" + u.Host
		}
		for _, written := range []string{base, base + "/", origin + request} {
			if u, _ := url.Parse(base); u.RawQuery != "" && written == base+"/" {
				continue // the slash would be part of the query
			}
			target := compileTarget(t, written, kind)
			if got := target.URL.RequestURI(); got != request {
				t.Errorf("%s: %s with type %s requests %s, want %s", provider, written, kind, got, request)
			}
			got := "-"
			if list, ok := target.ModelList(); ok {
				got = list.RequestURI()
			}
			if got != models {
				t.Errorf("%s: %s with type %s lists models at %s, want %s", provider, written, kind, got, models)
			}
		}
	}
	if len(providers) < 20 {
		t.Errorf("the table has %d providers, want at least 20", len(providers))
	}
}

// TestHintOfURL: what to check after a 404 depends on the URL.
func TestHintOfURL(t *testing.T) {
	for _, tt := range []struct{ base, kind, message, want string }{
		{"http://h/v1/embeddings", "chat", "nothing here", "the URL is for embeddings; use --endpoint-type embeddings"},
		{"http://h/v1/chat/completions", "completions", "nothing here", "the URL is for chat; use --endpoint-type chat"},
		{"http://h/api/v3/responses?a=1", "chat", "nothing here", "the URL is for responses; use --endpoint-type responses"},
		{"http://h/v1/chat/completions", "chat", "nothing here", "the server has no such path: check --url, --endpoint-type and --custom-endpoint"},
		{"http://h/v1/embeddings", "nim_embeddings", "nothing here", "the server has no such path: check --url, --endpoint-type and --custom-endpoint"},
		{"http://h/v1beta/openai", "chat", "no such model", "check --model; the server lists its models at /v1beta/openai/models"},
		{"http://h/openai/deployments/D", "chat", "no such model", "check --model"},
	} {
		p := compilePlan(t, tt.base, tt.kind)
		if got := p.Hint(bench.NotFound, tt.message); got != tt.message+"; "+tt.want {
			t.Errorf("%s with type %s: %q, want it to end with %q", tt.base, tt.kind, got, tt.want)
		}
	}
}

func compileTarget(t *testing.T, base, kind string) *plan.Target {
	t.Helper()
	return &compilePlan(t, base, kind).Targets[0]
}

func compilePlan(t *testing.T, base, kind string) *plan.Plan {
	t.Helper()
	document, _, err := config.Load([]byte(`
benchmark:
  model: m
  endpoint: {url: "`+base+`", type: `+kind+`}
  dataset: {type: file, format: single_turn, records: [{text: one, texts: [one]}]}
  phases:
    - {name: profiling, kind: profiling, type: concurrency, concurrency: 1, requests: 2}
`), config.LoadOptions{Choices: plan.Choices()})
	if err != nil {
		t.Fatalf("%s, type %s: %v", base, kind, err)
	}
	p, err := plan.Compile(document)
	if err != nil {
		t.Fatalf("%s, type %s: %v", base, kind, err)
	}
	return p
}
