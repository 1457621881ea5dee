package flags

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
			if r.Ours == "" || r.Ours == NoFlag && strings.Contains(r.Differs, " | ") {
				t.Errorf("%s: the row of %s says nothing", tool.Name, r.Theirs)
			}
		}
	}
}

// TestExamples: a value that our flags repeat is that of one option or of spellings of one, so
// that the hint carries the right one over.
func TestExamples(t *testing.T) {
	for _, tool := range Tools() {
		for _, r := range tool.Rows {
			for _, snippet := range Snippets(r.Theirs) {
				seen := map[string]string{}
				for _, word := range strings.FieldsFunc(snippet, func(c rune) bool { return c == ' ' || c == ',' }) {
					_, value, _ := strings.Cut(word, "=")
					if other := seen[value]; number.MatchString(value) && value != "1" && strings.Count(r.Ours, " "+value) > 1 && other != "" {
						t.Errorf("%s: %s and %s have the same value", r.Theirs, other, word)
					}
					seen[value] = word
				}
			}
		}
	}
}

func TestHint(t *testing.T) {
	for _, c := range []struct{ option, value, want string }{
		{"--rate", "5", "; guidellm's --rate: use --request-rate 5 (docs/coming-from.md)"},
		{"--random-input-len", "512", "; vllm bench serve's --random-input-len: use --isl 512 (docs/coming-from.md)"},
		{"--random-output-len", "9", "; vllm bench serve's --random-output-len: use --osl 9 (docs/coming-from.md)"},
		{"--base-url", "http://gpu", "; vllm bench serve's --base-url: use --url http://gpu (docs/coming-from.md)"},
		{"--max-seconds", "7.5", "; guidellm's --max-seconds: use --benchmark-duration 7.5 (docs/coming-from.md)"},
		{"--backend", "openai-chat", "; vllm bench serve's --backend: use --endpoint-type chat (docs/coming-from.md)"},
		{"--backend", "kind=openai_http,api_key=x", "; guidellm's --backend: use --api-key-file key.txt (docs/coming-from.md)"},
		{"--profile", "kind=constant,rate=3", "; guidellm's --profile: use --request-rate 3 --arrival-pattern constant (docs/coming-from.md)"},
		{"--profile", "", "; vllm bench serve's --profile: use --server-profiler (docs/coming-from.md)"},
		{"--dataset-name", "sharegpt", "; vllm bench serve's --dataset-name: use --custom-dataset-type sharegpt --input-file F (docs/coming-from.md)"},
		{"--tokenizer-mode", "auto", "; vllm bench serve's --tokenizer-mode has no equivalent: The tokenizer is read from its files (tokenizers.md) (docs/coming-from.md)"},
		{"--stability-percentage", "", "; genai-perf's --stability-percentage: use --num-profile-runs N --convergence-metric request_latency (docs/coming-from.md)"},
		{"--burstiness", "2", "; vllm bench serve's --burstiness: use --request-rate N --arrival-pattern gamma --arrival-smoothness 2 (docs/coming-from.md)"},
		{"--measurement-interval", "5000", "; genai-perf's --measurement-interval: use --benchmark-duration N, in seconds (docs/coming-from.md)"},
		{"--base-url", "http://127.0.0.1:44137", "; vllm bench serve's --base-url: use --url http://127.0.0.1:44137 (docs/coming-from.md)"},
		{"--base-url", "http://user:word@h", "; vllm bench serve's --base-url: use --url URL (docs/coming-from.md)"},
		{"--host", "10.0.0.1", "; vllm bench serve's --host: use --url URL (docs/coming-from.md)"},
		{"--data", "prompt_tokens=64,output_tokens=16", "; guidellm's --data: use --isl 64 --osl 16 (docs/coming-from.md)"},
		{"--data", "kind=synthetic_text,prompt_tokens=64", "; guidellm's --data: use --isl 64 --osl N (docs/coming-from.md)"},
		{"--constraint", "kind=max_requests,count=10", "; guidellm's --constraint: use --request-count 10 (docs/coming-from.md)"},
		{"--constraint", "kind=max_duration,seconds=7", "; guidellm's --constraint: use --benchmark-duration 7 (docs/coming-from.md)"},
		{"--dataset-name", "random", "; vllm bench serve's --dataset-name: use --prompt-corpus random --random-range-ratio 0 --isl 1024 --osl 128 --ignore-eos (docs/coming-from.md)"},
		{"--dataset-name", "random --random-input-len 64", "; vllm bench serve's --dataset-name: use --prompt-corpus random --random-range-ratio 0 --isl 64 --osl 128 --ignore-eos (docs/coming-from.md)"},
		{"--rate-type", "concurrent --rate 4", "; guidellm's --rate-type: use --concurrency 4 (docs/coming-from.md)"},
		{"--rate", "4 --rate-type concurrent", "; guidellm's --rate: use --concurrency 4 (docs/coming-from.md)"},
		{"--rate", "4 --rate-type=constant", "; guidellm's --rate: use --request-rate 4 --arrival-pattern constant (docs/coming-from.md)"},
		{"--rate", "4 --rate-type poisson", "; guidellm's --rate: use --request-rate 4 (docs/coming-from.md)"},
		{"--rate-type", "constant", "; guidellm's --rate-type: use --request-rate N --arrival-pattern constant (docs/coming-from.md)"},
		{"--rate-type", "synchronous", "; guidellm's --rate-type: use --concurrency 1 (docs/coming-from.md)"},
		{"--temperature", "0", "; vllm bench serve's --temperature: use --extra-inputs temperature:0 (docs/coming-from.md)"},
		{"--backend-kwargs", "{}", "; guidellm's --backend-kwargs: use --extra-inputs JSON (docs/coming-from.md)"},
		{"--data", "kind=synthetic_image,width=9,height=8", "; guidellm's --data: use --image-width-mean 9 --image-height-mean 8 --image-format jpeg --image-batch-size 1 (docs/coming-from.md)"},
		{"--duration", "60", "; --duration: use --benchmark-duration 60 (docs/coming-from.md)"},
		{"--duration", "60s", "; --duration: use --benchmark-duration N (docs/coming-from.md)"},
		{"-c", "16", "; -c: use --concurrency 16 (docs/coming-from.md)"},
		{"--max-tokens", "64", "; --max-tokens: use --osl 64 (docs/coming-from.md)"},
		{"--rps", "2.5", "; --rps: use --request-rate 2.5 (docs/coming-from.md)"},
		{"--nobody-has-this", "", ""},
		{"--rat", "", ""},
	} {
		if got := hintElsewhere(c.option, strings.Fields(c.option+" "+c.value)); got != c.want {
			t.Errorf("Hint(%s, %s) = %q, want %q", c.option, c.value, got, c.want)
		}
	}
}
