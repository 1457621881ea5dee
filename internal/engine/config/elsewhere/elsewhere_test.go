package elsewhere

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryOption: each option of each tool, as its program has them, is in a row.
func TestEveryOption(t *testing.T) {
	for i, file := range []string{"vllm", "guidellm", "genai-perf"} {
		tool := Tools()[i]
		if len(tool.Rows) < 20 || !strings.HasPrefix(tool.Name, strings.TrimSuffix(file, "-perf")) {
			t.Fatalf("%s: %d rows of %q", file, len(tool.Rows), tool.Name)
		}
		names, err := os.ReadFile("testdata/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			word := regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(name) + `($|[^\w-]|=$)`)
			if strings.HasSuffix(name, "=") {
				word = regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(name))
			}
			if !slices.ContainsFunc(tool.Rows, func(r Row) bool { return word.MatchString(r.Theirs) || word.MatchString(r.Differs) }) {
				t.Errorf("no row of %s has %s", tool.Name, name)
			}
		}
		for _, r := range tool.Rows {
			if r.Ours == "" || r.Ours == None && strings.Contains(r.Differs, " | ") {
				t.Errorf("%s: the row of %s says nothing", tool.Name, r.Theirs)
			}
		}
	}
}

func TestHint(t *testing.T) {
	for _, c := range []struct{ option, value, want string }{
		{"--rate", "5", "; guidellm's --rate: use --request-rate 5 (docs/coming-from.md)"},
		{"--random-input-len", "512", "; vllm bench serve's --random-input-len: use --isl 512 (docs/coming-from.md)"},
		{"--random-output-len", "9", "; vllm bench serve's --random-output-len: use --osl 9 (docs/coming-from.md)"},
		{"--base-url", "http://gpu", "; vllm bench serve's --base-url: use --url http://gpu:8000 (docs/coming-from.md)"},
		{"--max-seconds", "7.5", "; guidellm's --max-seconds: use --benchmark-duration 7.5 (docs/coming-from.md)"},
		{"--backend", "openai-chat", "; vllm bench serve's --backend: use --endpoint-type chat (docs/coming-from.md)"},
		{"--backend", "kind=openai_http,api_key=x", "; guidellm's --backend: use --api-key-file key.txt (docs/coming-from.md)"},
		{"--profile", "kind=constant,rate=3", "; guidellm's --profile: use --request-rate 10 --arrival-pattern constant (docs/coming-from.md)"},
		{"--profile", "", "; vllm bench serve's --profile: use --server-profiler (docs/coming-from.md)"},
		{"--dataset-name", "sharegpt", "; vllm bench serve's --dataset-name: use --custom-dataset-type sharegpt --input-file F (docs/coming-from.md)"},
		{"--tokenizer-mode", "auto", "; vllm bench serve's --tokenizer-mode has no equivalent: The tokenizer is read from its files (tokenizers.md) (docs/coming-from.md)"},
		{"--stability-percentage", "", "; genai-perf's --stability-percentage: use --num-profile-runs 5 --convergence-metric request_latency (docs/coming-from.md)"},
		{"--burstiness", "2", "; vllm bench serve's --burstiness: use --request-rate 10 --arrival-pattern gamma --arrival-smoothness 2 (docs/coming-from.md)"},
		{"--measurement-interval", "5000", "; genai-perf's --measurement-interval: use --benchmark-duration 10, in seconds (docs/coming-from.md)"},
		{"--nobody-has-this", "", ""},
		{"--rat", "", ""},
	} {
		if got := Hint(c.option, c.value); got != c.want {
			t.Errorf("Hint(%s, %s) = %q, want %q", c.option, c.value, got, c.want)
		}
	}
}
