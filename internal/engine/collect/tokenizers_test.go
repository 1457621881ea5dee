package collect

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/plan"
)

const (
	cachedCommit = "0123456789abcdef0123456789abcdef01234567"
	otherCommit  = "fedcba9876543210fedcba9876543210fedcba98"
)

// put writes a file and the folders above it.
func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wordLevel is a tokenizer.json with the first n words of "a b c d".
func wordLevel(n int) string {
	vocab := []string{`"?":0`, `"a":1`, `"b":2`, `"c":3`, `"d":4`}
	return `{"model":{"type":"WordLevel","vocab":{` + strings.Join(vocab[:n+1], ",") + `},"unk_token":"?"},"pre_tokenizer":{"type":"WhitespaceSplit"}}`
}

// hubCache is a working directory and a hub's cache.
func hubCache(t *testing.T) (cache string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, "org/folder/tokenizer.json", wordLevel(1))
	put(t, "org/checkpoint/model.safetensors", "weights")
	put(t, "org/broken/tokenizer.json", "{}")
	put(t, "afile", wordLevel(2))
	put(t, "t.json", wordLevel(3))
	cache = filepath.Join(dir, "hub")
	for repo, file := range map[string]string{"org--checkpoint": wordLevel(4), "org--folder": wordLevel(4), "org--strange": `{"model":{"type":"Markov"}}`, "openai--gpt-oss-20b": wordLevel(2)} {
		put(t, filepath.Join(cache, "models--"+repo, "refs", "main"), cachedCommit)
		put(t, filepath.Join(cache, "models--"+repo, "snapshots", cachedCommit, "tokenizer.json"), file)
	}
	put(t, filepath.Join(cache, "models--org--checkpoint", "refs", "v2"), otherCommit)
	put(t, filepath.Join(cache, "models--org--checkpoint", "snapshots", otherCommit, "tokenizer.json"), wordLevel(3))
	return cache
}

// TestFindTokenizer: places are searched in a fixed order for a name.
func TestFindTokenizer(t *testing.T) {
	const standsIn = "built-in o200k_base"
	tests := []struct {
		name, revision string
		explicit       bool
		method         string // begins the method
		size           int    // of the vocabulary; 0 = not looked at
		missing        string // part of the reason
		err            string // part of the error
	}{
		{name: "builtin", method: standsIn},
		{name: "cl100k_base", method: "built-in cl100k_base"},
		{name: "gpt-4o-mini", method: "built-in o200k_base", size: 200019},
		{name: "gpt-4", method: "built-in cl100k_base"},
		{name: "openai/gpt-oss-20b", method: "openai/gpt-oss-20b@0123456789ab, tokenizer.json wordlevel sha256:", size: 3},
		{name: "openai/gpt-oss-120b", method: "built-in o200k_harmony"},
		{name: "org/folder", method: "tokenizer.json wordlevel", size: 2},
		{name: "./org/folder", explicit: true, method: "tokenizer.json wordlevel", size: 2},
		{name: "t.json", explicit: true, method: "tokenizer.json wordlevel", size: 4},
		{name: "afile", explicit: true, method: "tokenizer.json wordlevel", size: 3},
		{name: "afile", method: standsIn, missing: "not in "},
		{name: "org/checkpoint", method: "org/checkpoint@0123456789ab, tokenizer.json wordlevel sha256:", size: 5},
		{name: "org/checkpoint", revision: "v2", method: "org/checkpoint@fedcba987654, tokenizer.json", size: 4},
		{name: "org/checkpoint", revision: otherCommit, method: "org/checkpoint@fedcba987654", size: 4},
		{name: "org/checkpoint", revision: "v3", explicit: true, method: standsIn, missing: "hub at revision v3"},
		{name: "org/model", explicit: true, method: standsIn, missing: "not in "},
		{name: "nothing", explicit: true, err: "hub; pass --allow-download, or run: hf download nothing tokenizer.json; without --tokenizer the built-in o200k_base counts"},
		{name: "Checkpoint", method: "org/checkpoint@0123456789ab", size: 5},
		{name: "org/strange", explicit: true, method: standsIn, missing: `unsupported type "Markov"`},
		{name: "org/nothing", explicit: true, method: standsIn, missing: "not in "},
		{name: "/models/llama", method: standsIn, missing: "is neither a file nor the name of a model"},
		{name: "/models/llama", explicit: true, err: "no such file"},
		{name: "./org/checkpoint", explicit: true, err: "no such file"},
		{name: "gone.json", explicit: true, err: "no such file"},
		{name: "org/broken", method: standsIn, missing: "member model is missing"},
		{name: "org/broken", explicit: true, err: "member model is missing"},
	}
	cache := hubCache(t)
	for _, tt := range tests {
		t.Run(tt.name+"@"+tt.revision, func(t *testing.T) {
			plan := &plan.Plan{Models: plan.Models{Names: []string{"org/model"}}, Tokens: plan.Tokens{Revision: "main", Explicit: tt.explicit}}
			if tt.revision != "" {
				plan.Tokens.Revision = tt.revision
			}
			x := options(plan, hub.Options{Cache: cache, Endpoint: "http://127.0.0.1:1"}, nil)
			got, err := x.findTokenizer(t.Context(), tt.name)
			if tt.err != "" || err != nil {
				if err == nil || tt.err == "" || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q in it", err, tt.err)
				}
				return
			}
			if !strings.HasPrefix(got.method, tt.method) || tt.size != 0 && got.VocabSize() != tt.size {
				t.Errorf("method %q, size %d; want %q, %d", got.method, got.VocabSize(), tt.method, tt.size)
			}
			if broken := strings.Contains(tt.missing, "unsupported") || strings.Contains(tt.missing, "model is missing"); got.broken != broken {
				t.Errorf("broken = %v, want %v", got.broken, broken)
			}
			if !strings.Contains(got.missing, tt.missing) || tt.missing == "" && got.missing != "" {
				t.Errorf("missing = %q, want %q in it", got.missing, tt.missing)
			}
		})
	}
}

// options returns options whose warnings are appended to warnings.
func options(p *plan.Plan, h hub.Options, warnings *[]string) TokenOptions {
	return TokenOptions{Plan: p, Hub: h, Log: zerolog.Nop(), Status: func(string) {}, Warn: func(_, detail string) {
		if warnings != nil {
			*warnings = append(*warnings, detail)
		}
	}}
}

// TestTokenizersOfUntrustedDocuments: files are opened only within the bounds.
func TestTokenizersOfUntrustedDocuments(t *testing.T) {
	cache := hubCache(t)
	open := func(name string) (io.ReadCloser, error) {
		if name != "org/folder/tokenizer.json" && name != "/data/t.json" {
			return nil, fs.ErrPermission
		}
		return io.NopCloser(strings.NewReader(wordLevel(1))), nil
	}
	for name, want := range map[string]string{
		"org/folder": "tokenizer.json wordlevel", "/data/t.json": "tokenizer.json wordlevel", "t.json": "error: not a file that this document may name",
		"afile": "error: not in the Hugging Face cache; ", "org/checkpoint": "org/checkpoint@0123456789ab",
	} {
		x := options(&plan.Plan{Tokens: plan.Tokens{Revision: "main", Explicit: true, Open: open}}, hub.Options{Cache: cache}, nil)
		tok, err := x.findTokenizer(t.Context(), name)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = tok.method
		}
		if strings.Contains(got, cache) {
			t.Errorf("%s: the answer tells where the cache is: %s", name, got)
		}
		if detail, isError := strings.CutPrefix(want, "error: "); isError && !strings.Contains(got, detail) || !isError && !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestTokenizerOfEachModel: the prompts of each model are counted with its tokenizer.
func TestTokenizerOfEachModel(t *testing.T) {
	cache := hubCache(t)
	plan := &plan.Plan{
		Measure: plan.Measure{Kind: endpoint.Kind{Caps: bench.Caps{ProducesTokens: true, TokenizesInput: true}}},
		Models:  plan.Models{Names: []string{"org/folder", "org/checkpoint", "org/nothing", "org/none"}},
		Tokens:  plan.Tokens{Names: []string{"org/folder", "org/checkpoint", "org/nothing", "org/none"}, Revision: "main"},
	}
	tokens, err := OpenTokens(t.Context(), options(plan, hub.Options{Cache: cache}, nil))
	if err != nil {
		t.Fatal(err)
	}
	for model, size := range map[string]int{"org/folder": 2, "org/checkpoint": 5, "org/nothing": 200019, "somebody's": 2} {
		if got := tokens.all.of(model).VocabSize(); got != size {
			t.Errorf("tokenizer of %s has %d tokens, want %d", model, got, size)
		}
	}
	for model, want := range map[string]bench.Tokens{"org/folder": 1, "org/nothing": 2} {
		rec := &bench.Record{Model: model, Stamps: bench.Stamps{Wrote: 1}, Answer: bench.Answer{Choices: []bench.Choice{{Text: "hello-world"}}}}
		tokens.count(&load.Finished{Record: rec, Conversation: &bench.Conversation{Turns: []bench.Turn{{}}}})
		if rec.OutputTokens == nil || *rec.OutputTokens != want {
			t.Errorf("%s counts %v output tokens, want %d", model, rec.OutputTokens, want)
		}
	}
	want := `no local tokenizer for "org/nothing", "org/none": prompt lengths use the built-in o200k_base and may be 10–20 % off; pass --tokenizer or --allow-download`
	if got := tokens.substitute.warning(false).Detail; got != want {
		t.Errorf("text = %q\nwant   %q", got, want)
	}
	method := "server-reported usage, otherwise tokenizer.json wordlevel"
	if got := tokens.Method(); !strings.HasPrefix(got, method) || !strings.Contains(got, "; built-in o200k_base; org/checkpoint@0123456789ab") {
		t.Errorf("method = %q", got)
	}
}

// TestRevisionWithoutEffect: only models on the hub have revisions.
func TestRevisionWithoutEffect(t *testing.T) {
	cache := hubCache(t)
	for name, want := range map[string]int{"org/folder": 1, "cl100k_base": 1, "org/checkpoint": 0, "org/nothing": 0} {
		var warnings []string
		p := &plan.Plan{Models: plan.Models{Names: []string{"m"}}, Tokens: plan.Tokens{Names: []string{name}, Revision: "v2"}}
		if _, err := OpenTokens(t.Context(), options(p, hub.Options{Cache: cache}, &warnings)); err != nil || len(warnings) != want {
			t.Errorf("%s: warnings %v, error %v; want %d", name, warnings, err, want)
		}
	}
}

// TestSubstituteText: one line with the substitute, the difference, and the remedy.
func TestSubstituteText(t *testing.T) {
	tokens := func(n bench.Tokens) *bench.Tokens { return &n }
	s := &substitute{names: `"org/m"`, first: "org/m", reason: "not in /c/hub", explicit: true}
	if got, want := s.warning(false).Detail, `no tokenizer "org/m" (not in /c/hub): prompt lengths use the built-in o200k_base and may be 10–20 % off; pass --allow-download, or run: hf download org/m tokenizer.json`; got != want {
		t.Errorf("text = %q\nwant   %q", got, want)
	}
	if got, want := s.warning(true).Detail, "prompt and output lengths use the built-in o200k_base"; !strings.Contains(got, want) {
		t.Errorf("text = %q, want %q in it", got, want)
	}
	b := &substitute{names: `"org/m"`, first: "org/m", reason: "unsupported type", broken: true}
	if got, want := b.warning(false).Detail, `no tokenizer "org/m" (unsupported type): prompt lengths use the built-in o200k_base and may be 10–20 % off; pass --tokenizer with a tokenizer.json`; got != want {
		t.Errorf("text = %q\nwant   %q", got, want)
	}
	s.compare(tokens(500), tokens(600))
	s.compare(tokens(600), tokens(624))
	s.compare(nil, tokens(1000))
	s.compare(tokens(1000), nil)
	s.explicit = false
	if got, want := s.warning(false).Detail, `prompts are 11 % longer on the server (612 tokens, not 550; chat template included); counted with the built-in o200k_base, no local tokenizer for "org/m"; pass --tokenizer or --allow-download`; got != want {
		t.Errorf("text = %q\nwant   %q", got, want)
	}
	equal := &substitute{names: `"org/m"`, first: "org/m"}
	equal.compare(tokens(550), tokens(550))
	for _, outputs := range []bool{false, true} {
		if got, want := equal.warning(outputs), (bench.Warning{Code: "tokenizer-builtin", Detail: `prompt lengths match the server (550 tokens); counted with the built-in o200k_base, no local tokenizer for "org/m"`}); got != want {
			t.Errorf("warning = %q\nwant      %q", got, want)
		}
	}
}

// TestFetchTokenizer: the network is used only if the user allows it, and a failed
// download is a reason, not an error.
func TestFetchTokenizer(t *testing.T) {
	for _, tt := range []struct {
		fetch   bool
		offline string
		want    string
	}{
		{false, "", "not in "}, {true, "HF_HUB_OFFLINE", "download: HF_HUB_OFFLINE is set"}, {true, "", "connection refused"},
	} {
		x := options(&plan.Plan{Tokens: plan.Tokens{Revision: "main", Fetch: tt.fetch}}, hub.Options{Cache: t.TempDir(), Endpoint: "http://127.0.0.1:1", Offline: tt.offline}, nil)
		tok, err := x.findTokenizer(t.Context(), "org/m")
		if err != nil || !strings.Contains(tok.missing, tt.want) || !tt.fetch && strings.Contains(tok.missing, "refused") {
			t.Errorf("missing = %v, error %v; want %q", tok, err, tt.want)
		}
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/org/m/resolve/main/tokenizer.json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("X-Repo-Commit", cachedCommit)
		w.Header().Set("ETag", `"of-no-known-form"`)
		io.WriteString(w, wordLevel(2))
	}))
	defer server.Close()
	cache := t.TempDir()
	for range 2 { // the second time it is there
		x := options(&plan.Plan{Tokens: plan.Tokens{Revision: "main", Fetch: true}}, hub.Options{Cache: cache, Endpoint: server.URL}, nil)
		tok, err := x.findTokenizer(t.Context(), "org/m")
		if err != nil || tok.missing != "" || tok.VocabSize() != 3 || !strings.HasPrefix(tok.method, "org/m@0123456789ab, tokenizer.json") {
			t.Fatalf("fetched: %+v, error %v", tok, err)
		}
	}
	if asked != 3 {
		t.Errorf("the hub was asked %d times, want 3: once for each file", asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x := options(&plan.Plan{Tokens: plan.Tokens{Revision: "main", Fetch: true}}, hub.Options{Cache: t.TempDir(), Endpoint: "http://127.0.0.1:1"}, nil)
	if _, err := x.findTokenizer(ctx, "org/m"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestChatTemplate: prompt lengths include the template in the folder of the
// tokenizer; if they cannot, the result has a warning.
func TestChatTemplate(t *testing.T) {
	const words = `{"model":{"type":"WordLevel","vocab":{"?":0},"unk_token":"?"},"pre_tokenizer":{"type":"WhitespaceSplit"}}`
	const template = `{"chat_template": "{{ bos_token }} {% for m in messages %}{{ m.role }} : {{ m.content }} end {% endfor %}go", "bos_token": "<s>"}`
	conversation := &load.Finished{
		Record:       &bench.Record{Turn: 1},
		Conversation: &bench.Conversation{System: "be brief", Turns: []bench.Turn{{Texts: []string{"a b"}}, {Texts: []string{"c", "d"}}}},
		History:      []bench.Exchange{{Turn: bench.Turn{Texts: []string{"a b"}}, Answer: bench.Choice{Text: "x y z"}}},
	}
	tests := []struct {
		name     string
		files    map[string]string
		kind     string
		overhead int
		count    bench.Tokens // of the conversation
		warning  string
	}{
		{"in the config", map[string]string{"tokenizer_config.json": template}, "chat", 5, 23, ""},
		{"a file of its own", map[string]string{"tokenizer_config.json": template, "chat_template.jinja": "{{ messages[0].content }} x"}, "chat", 1, 3, ""},
		{"none", nil, "chat", 0, 9, "prompt lengths exclude the chat template (tokenizer.json wordlevel sha256:"},
		{"broken", map[string]string{"chat_template.jinja": "{% for %}"}, "chat", 0, 9, "read template"},
		{"refuses everything", map[string]string{"chat_template.jinja": "{{ raise_exception('no') }}"}, "chat", 0, 9, "no"},
		{"refuses this one", map[string]string{"chat_template.jinja": "{% if messages|length > 1 %}{{ raise_exception('too long') }}{% endif %}{{ messages[0].content }}"}, "chat", 0, 9, ""},
		{"without the message", map[string]string{"chat_template.jinja": "x"}, "chat", 0, 9, "the template leaves the message out"},
		{"no conversation", map[string]string{"tokenizer_config.json": template}, "embeddings", 0, 9, "has no effect: requests of type embeddings"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "tokenizer.json"), words)
			put(t, filepath.Join(dir, "mine.json"), words)
			for name, content := range tt.files {
				put(t, filepath.Join(dir, name), content)
			}
			for _, name := range []string{dir, filepath.Join(dir, "tokenizer.json"), filepath.Join(dir, "mine.json")} {
				kind, _ := endpoint.Lookup(tt.kind)
				var warnings []string
				tokens, err := OpenTokens(t.Context(), options(&plan.Plan{
					Measure: plan.Measure{Kind: kind}, Models: plan.Models{Names: []string{"m"}}, Tokens: plan.Tokens{Names: []string{name}, Revision: "main", Explicit: true, Template: true},
				}, hub.Options{}, &warnings))
				if err != nil {
					t.Fatal(err)
				}
				if got := tokens.all.first.SpecialTokensToAdd(); got != tt.overhead {
					t.Errorf("adds %d tokens, want %d", got, tt.overhead)
				}
				tokens.caps.System, tokens.caps.History = true, true
				tokens.client(conversation, tokens.all.first)
				if got := conversation.Record.ClientInput; got == nil || *got != tt.count {
					t.Errorf("the conversation has %v tokens, want %d", got, tt.count)
				}
				if tt.name == "in the config" {
					body := &load.Finished{Record: &bench.Record{}, Conversation: &bench.Conversation{Turns: []bench.Turn{
						{Payload: []byte(`{"model": "m", "messages": [{"role": "user", "content": "word"}]}`), InputTokens: 1},
					}}}
					tokens.client(body, tokens.all.first)
					if got, want := body.Record.ClientInput, bench.Tokens(tokens.all.first.Count("word")+tt.overhead); got == nil || *got != want {
						t.Errorf("a complete body has %v tokens, want %d", got, want)
					}
				}
				if len(warnings) > 1 || (len(warnings) == 1) != (tt.warning != "") || tt.warning != "" && !strings.Contains(warnings[0], tt.warning) {
					t.Errorf("warnings = %v, want %q", warnings, tt.warning)
				}
				if refused := tokens.refused.Load(); (refused > 0) != (tt.name == "refuses this one") {
					t.Errorf("%d conversations were refused", refused)
				}
			}
		})
	}
}
