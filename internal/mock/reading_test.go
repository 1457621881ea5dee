package mock

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/vectors"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// quick returns a server that answers at once.
func quick(t testing.TB, opt options.Options) *Server {
	t.Helper()
	opt.Fast = true
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ask posts a body to a server without a network.
func ask(s *Server, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("X-Request-Id", "R")
	s.Handler().ServeHTTP(w, r)
	return w
}

// get is ask for an answer that must be a success; it is decoded into v.
func get(t testing.TB, s *Server, path, body string, v any) {
	t.Helper()
	w := ask(s, path, body)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%s %s: status %d, %s: %s", path, body, w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatalf("%s: %v in %s", path, err, w.Body)
	}
}

// TestReadingShapes compares whole answers with the documented shapes, except for numbers
// that are computed from vectors.
func TestReadingShapes(t *testing.T) {
	s := quick(t, options.Options{})
	list := func(prefix, data string, tokens int) string {
		return fmt.Sprintf(`{"id":"%s-R","object":"list","created":T,"model":"m","data":[%s],"usage":{"prompt_tokens":%d,"total_tokens":%[3]d,"completion_tokens":0,"prompt_tokens_details":null}}`, prefix, data, tokens)
	}
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/embeddings", `{"model":"m","input":"one word","dimensions":2}`, list("embd", `{"index":0,"object":"embedding","embedding":[N,N]}`, 2)},
		{"/v1/embeddings", `{"model":"m","input":[[1,2],[3]],"dimensions":1}`, list("embd", `{"index":0,"object":"embedding","embedding":[N]},{"index":1,"object":"embedding","embedding":[N]}`, 6)},
		{"/v1/embeddings", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:,"}}]}],"dimensions":1}`, list("embd", `{"index":0,"object":"embedding","embedding":[N]}`, 1+api.MediaTokens)},
		{"/pooling", `{"model":"m","input":"one word","dimensions":2}`, list("pool", `{"index":0,"object":"pooling","data":[[N,N],[N,N]]}`, 2)},
		{"/pooling", `{"model":"m","input":["a","b"],"dimensions":1,"task":"embed"}`, list("pool", `{"index":0,"object":"pooling","data":[N]},{"index":1,"object":"pooling","data":[N]}`, 2)},
		{"/score", `{"model":"m","text_1":"a","text_2":"a"}`, list("score", `{"index":0,"object":"score","score":1}`, 2)},
		{"/v1/score", `{"model":"m","data_1":["a","b"],"data_2":["a","b"]}`, list("score", `{"index":0,"object":"score","score":1},{"index":1,"object":"score","score":1}`, 4)},
		{"/rerank", `{"model":"m","query":"b","documents":["xyz",{"text":"b"}],"top_n":1}`, `{"id":"rerank-R","model":"m","usage":{"prompt_tokens":4,"total_tokens":4},"results":[{"index":1,"document":{"text":"b"},"relevance_score":1}]}`},
		{"/v2/rerank", `{"model":"m","query":"b","documents":["b"],"return_documents":false}`, `{"id":"rerank-R","model":"m","usage":{"prompt_tokens":2,"total_tokens":2},"results":[{"index":0,"relevance_score":1}]}`},
		{"/rerank", `{"query":"b","texts":["b"]}`, `[{"index":0,"score":1}]`},
		{"/rerank", `{"query":"b","texts":["b"],"return_text":true,"raw_scores":true}`, `[{"index":0,"text":"b","score":9.2102}]`},
		{"/classify", `{"model":"m","input":"the best, I love it"}`, list("classify", `{"index":0,"label":"LABEL_1","probs":[N,N],"num_classes":2}`, 6)},
		{"/tokenize", `{"model":"m","prompt":"AB"}`, `{"count":1,"max_model_len":131072,"tokens":[I],"token_strs":null}`},
		{"/tokenize", `{"model":"m","messages":[{"role":"user","content":"A b"}],"return_token_strs":true}`, `{"count":2,"max_model_len":131072,"tokens":[I,I],"token_strs":["A"," b"]}`},
		{"/v1/tokenize", `{"model":"m","prompt":["A","!?"]}`, `{"tokens":[[I],[I,I]],"count":[I,I],"max_model_len":I}`},
		{"/tokenize", `{"inputs":"A b"}`, `[[{"id":I,"text":"A","special":false,"start":0,"stop":1},{"id":I,"text":" b","special":false,"start":1,"stop":3}]]`},
		{"/detokenize", `{"model":"m","tokens":[65,66]}`, `{"prompt":"AB"}`},
		{"/detokenize", `{"model":"m","tokens":[[65],[66,67]]}`, `{"text":["A","BC"]}`},
		{"/detokenize", `{"model":"m","tokens":[]}`, `{"prompt":""}`},
		{"/decode", `{"ids":[[65]]}`, `["A"]`},
		{"/v1/ranking", `{"model":"m","query":{"text":"b"},"passages":[{"text":"xyz"},{"text":"b"},{"image":"data:,"}]}`, `{"rankings":[{"index":1,"logit":9.2102},{"index":I,"logit":N},{"index":I,"logit":N}],"usage":{"prompt_tokens":10,"total_tokens":10}}`},
		{"/v1/infer", `{"input":[{"type":"image_url","url":"data:,"}]}`, `{"data":[{"index":0,"bounding_boxes":{"element":[{"x_min":N,"y_min":N,"x_max":N,"y_max":N,"confidence":0.5}]}}],"usage":{"images_size_mb":6e-06}}`},
		{"/embed", `{"inputs":["a","b"],"dimensions":1}`, `[[N],[N]]`},
		{"/embed_all", `{"inputs":"a b","dimensions":1}`, `[[[N],[N]]]`},
		{"/embed_sparse", `{"inputs":"a","dimensions":1}`, `[[{"index":0,"value":N}]]`},
		{"/predict", `{"inputs":"the best"}`, `[{"score":N,"label":"LABEL_1"},{"score":N,"label":"LABEL_0"}]`},
		{"/predict", `{"inputs":[["a","b"],["c"]]}`, `[[{"score":N,"label":"LABEL_I"},{"score":N,"label":"LABEL_I"}],[{"score":N,"label":"LABEL_I"},{"score":N,"label":"LABEL_I"}]]`},
		{"/similarity", `{"inputs":{"source_sentence":"a","sentences":["a"]}}`, `[1]`},
		{"/api/embed", `{"model":"m","input":["a","b"],"dimensions":1}`, `{"model":"m","embeddings":[[N],[N]],"total_duration":I,"load_duration":0,"prompt_eval_count":2}`},
		{"/api/embeddings", `{"model":"m","prompt":"a","dimensions":1}`, `{"embedding":[N]}`},
	} {
		w := ask(s, tt.path, tt.body)
		if want := shape(tt.want); w.Code != http.StatusOK || !want.MatchString(w.Body.String()) {
			t.Errorf("%s %s: %d\n got %s\nwant %s", tt.path, tt.body, w.Code, w.Body, tt.want)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: not JSON: %s", tt.path, w.Body)
		}
	}
	for _, record := range s.Truth() {
		if record.OutputTokens != 0 || record.Outcome != api.OutcomeOK || record.Stream {
			t.Errorf("truth %+v, want success without output", record)
		}
	}
}

// shape makes a pattern of a wanted body: T is a time, N a number, I a whole one.
func shape(want string) *regexp.Regexp {
	p := regexp.QuoteMeta(want)
	p = strings.ReplaceAll(p, `"created":T`, `"created":\d+`)
	p = regexp.MustCompile(`\bN\b`).ReplaceAllString(p, `-?[0-9.e+-]+`)
	p = regexp.MustCompile(`(LABEL_|\b)I\b`).ReplaceAllString(p, `${1}\d+`)
	return regexp.MustCompile(`^` + p + `$`)
}

// TestReadingRefusals checks that invalid requests get an error in the form of the API.
func TestReadingRefusals(t *testing.T) {
	s := quick(t, options.Options{MaxModelLen: 8, ServedModels: []string{"m"}})
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/embeddings", `{}`, 400, "Input should be a valid string or list: input"},
		{"/v1/embeddings", `{"input":[]}`, 400, "at least 1 item"},
		{"/v1/embeddings", `{"input":[true]}`, 400, "string or list of strings: input"},
		{"/v1/embeddings", `{"input":"a","dimensions":0}`, 400, "dimensions must be between 1 and 8192, got 0."},
		{"/v1/embeddings", `{"input":"a","encoding_format":"hex"}`, 400, `got \"hex\"`},
		{"/v1/embeddings", `{"input":"a","model":"x"}`, 404, "The model `x` does not exist."},
		{"/v1/embeddings", `{"input":"a b c d e f g h i"}`, 400, "maximum context length is 8 tokens"},
		{"/v1/embeddings", `{"messages":[{"content":"a"}]}`, 400, "messages.role"},
		{"/v1/embeddings", `[]`, 400, "valid dictionary"},
		{"/pooling", `{"input":"a","task":"x"}`, 400, "Unsupported task"},
		{"/score", `{"text_1":["a","b"],"text_2":"c"}`, 400, "got 2:1."},
		{"/score", `{"text_1":"a"}`, 400, "text_2"},
		{"/rerank", `{"query":["a"],"documents":["b"]}`, 400, "query"},
		{"/rerank", `{"query":"a","documents":[]}`, 400, "At least one text"},
		{"/v1/ranking", `{"query":[],"passages":["b"]}`, 400, "query"},
		{"/v1/ranking", `{"query":"a","passages":[]}`, 400, "passages"},
		{"/v1/infer", `{"input":[{"type":"image_url","url":5}]}`, 400, "image_url"},
		{"/v1/infer", `{}`, 400, "input"},
		{"/tokenize", `{"prompt":5e}`, 400, "JSON decode error"},
		{"/detokenize", `{"tokens":[-1]}`, 400, "list of token ids: tokens"},
		{"/detokenize", `{}`, 400, "list of token ids: tokens"},
		{"/decode", `{"ids":[["a"]]}`, 400, `"error_type":"Validation"`},
		{"/embed", `{}`, 400, `{"error":"Input should be a valid string or list: inputs","error_type":"Validation"}`},
		{"/predict", `{"inputs":5}`, 400, `"error_type"`},
		{"/predict", `{}`, 400, `"error_type"`},
		{"/similarity", `{"inputs":"a"}`, 400, "dictionary: inputs"},
		{"/api/embed", `{"model":"m"}`, 400, `{"error":"Input should be a valid string or list: input"}`},
	} {
		w := ask(s, tt.path, tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: %d %s, want %d with %q", tt.path, tt.body, w.Code, w.Body, tt.status, tt.want)
		}
	}
	if w := ask(s, "/v1/embeddings", fmt.Sprintf(`{"input":["a"%s]}`, strings.Repeat(`,"a"`, api.MaxInputs))); w.Code != 400 {
		t.Errorf("%d inputs: status %d, want 400", api.MaxInputs+1, w.Code)
	}
}

// listed has the members of lists of vectors and scores that tests check.
type listed struct {
	Data []struct {
		Index     int
		Embedding json.RawMessage
		Score     float64
	}
	Results []struct {
		Index int
		Score float64 `json:"relevance_score"`
	}
	Usage struct {
		Prompt int `json:"prompt_tokens"`
	}
}

func floats(t *testing.T, raw json.RawMessage) []float32 {
	t.Helper()
	var v []float32
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEmbeddingsAreArithmetic: the same numbers in both forms, unit length, and the
// scores of other routes are the cosines of these vectors.
func TestEmbeddingsAreArithmetic(t *testing.T) {
	s := quick(t, options.Options{})
	texts := []string{"What is the capital of France?", "The capital of Brazil is Brasilia.", "The capital of France is Paris.", "Horses and cows are both animals"}
	input, _ := json.Marshal(texts)
	var plain, packed, score, rank listed
	get(t, s, "/v1/embeddings", `{"input":`+string(input)+`}`, &plain)
	get(t, s, "/v1/embeddings", `{"input":`+string(input)+`,"encoding_format":"base64"}`, &packed)
	var got [][]float32
	for i := range texts {
		v := floats(t, plain.Data[i].Embedding)
		var text string
		if err := json.Unmarshal(packed.Data[i].Embedding, &text); err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		var other []float32
		for ; len(raw) > 0; raw = raw[4:] {
			other = append(other, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
		if len(v) != vectors.DefaultDim || !slices.Equal(v, other) || !slices.Equal(v, vectors.Vector(texts[i], vectors.DefaultDim)) {
			t.Errorf("text %d: %d numbers, %d in base64, not the same", i, len(v), len(other))
		}
		got = append(got, v)
	}
	documents, _ := json.Marshal(texts[1:])
	get(t, s, "/score", fmt.Sprintf(`{"text_1":%q,"text_2":%s}`, texts[0], documents), &score)
	get(t, s, "/v1/rerank", fmt.Sprintf(`{"query":%q,"documents":%s}`, texts[0], documents), &rank)
	for i, d := range score.Data {
		want := max(0, vectors.Cosine(got[0], got[i+1]))
		if d.Index != i || math.Abs(d.Score-want) > 1e-6 {
			t.Errorf("score %d = %v, want %v", i, d.Score, want)
		}
	}
	order := []int{rank.Results[0].Index, rank.Results[1].Index, rank.Results[2].Index}
	if diff := cmp.Diff([]int{1, 0, 2}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for _, r := range rank.Results {
		if r.Score != score.Data[r.Index].Score {
			t.Errorf("document %d has score %v when ranked, %v when scored", r.Index, r.Score, score.Data[r.Index].Score)
		}
	}
}

// TestTokensRoundTrip checks that detokenize reverses tokenize, and that the ids of other
// vocabularies have a text.
func TestTokensRoundTrip(t *testing.T) {
	s := quick(t, options.Options{})
	for _, text := range []string{"Hello, wörld! 12345 \t\n" + strings.Repeat(" ", 100) + "世界 \U0001F600", "x"} {
		var tokens struct {
			Count  int
			Tokens []int
		}
		body, _ := json.Marshal(map[string]string{"prompt": text})
		for range 2 {
			before := tokens.Tokens
			get(t, s, "/tokenize", string(body), &tokens)
			if before != nil && !slices.Equal(before, tokens.Tokens) {
				t.Errorf("%q has tokens %v, then %v", text, before, tokens.Tokens)
			}
		}
		ids, _ := json.Marshal(tokens.Tokens)
		var back struct{ Prompt string }
		get(t, s, "/detokenize", fmt.Sprintf(`{"tokens":%s}`, ids), &back)
		if back.Prompt != text || tokens.Count != len(tokens.Tokens) {
			t.Errorf("%q comes back as %q from %d tokens", text, back.Prompt, tokens.Count)
		}
	}
	var foreign struct{ Prompt string }
	get(t, s, "/detokenize", `{"tokens":[199999,100000000]}`, &foreign)
	if foreign.Prompt == "" {
		t.Error("ids of another vocabulary have no text")
	}
}

// TestTEIHead checks that TEI reports the number of tokens.
func TestTEIHead(t *testing.T) {
	s := quick(t, options.Options{})
	for _, path := range []string{"/embed", "/rerank"} {
		h := ask(s, path, `{"inputs":"one two","query":"one","texts":["two"]}`).Header()
		if h.Get("X-Compute-Tokens") != "2" || h.Get("X-Total-Time") == "" {
			t.Errorf("%s: head %v, want 2 tokens and a time", path, h)
		}
	}
}

// TestReadingFaults checks that the rules for streams apply to these answers too.
func TestReadingFaults(t *testing.T) {
	rule := func(text string) []options.Fault {
		f, err := options.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		return []options.Fault{f}
	}
	empty := quick(t, options.Options{Faults: rule("empty:output")})
	for path, body := range map[string]string{
		"/v1/embeddings": `{"input":["a","b"]}`, "/score": `{"text_1":"a","text_2":"b"}`, "/rerank": `{"query":"a","documents":["b"]}`,
		"/embed": `{"inputs":"a"}`, "/v1/infer": `{"input":[{"type":"image_url","url":"u"}]}`, "/classify": `{"input":"a"}`,
	} {
		w := ask(empty, path, body)
		if w.Code != 200 || !regexp.MustCompile(`^\[\]$|:\[\]`).MatchString(w.Body.String()) {
			t.Errorf("%s: %d %s, want an empty list", path, w.Code, w.Body)
		}
	}
	busy := quick(t, options.Options{Faults: rule("status:503")})
	if w := ask(busy, "/embed", `{"inputs":"a"}`); w.Code != 503 {
		t.Errorf("status %d, want 503", w.Code)
	}
}

// TestReadingTime checks that an answer has the due time of a first token.
func TestReadingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{TTFT: random.ConstDelay(30 * time.Millisecond), PrefillPerToken: time.Millisecond})
		a := r.post("/v1/embeddings", `{"input":"one two"}`)
		if a.status != 200 || a.at != 32*time.Millisecond {
			t.Errorf("status %d after %v, want 200 after 32 ms", a.status, a.at)
		}
		r.stop()
		record := r.server.Truth()
		if diff := cmp.Diff([]api.Truth{{Path: "/v1/embeddings", Status: 200, N: 1, PromptTokens: 2, FinishReason: "stop", Outcome: api.OutcomeOK, LatencyMs: 32}}, record,
			cmpopts.IgnoreFields(api.Truth{}, "Seq", "Model", "AcceptNs", "BodyReadNs", "HeadersNs", "FirstWriteNs", "FirstWriteEndNs", "LastWriteNs", "LastWriteEndNs", "EndNs")); diff != "" {
			t.Errorf("truth (-want +got):\n%s", diff)
		}
	})
}

// FuzzReading checks that no body makes a route panic, and that every response is JSON.
func FuzzReading(f *testing.F) {
	for _, body := range []string{
		`{"input":["a"],"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`, `{"input":[[1]],"dimensions":3}`,
		`{"text_1":["a"],"text_2":["a","b"]}`, `{"query":{"text":"a"},"documents":[{"content":[]}],"texts":["a"],"passages":["a"],"top_n":1}`,
		`{"prompt":[],"inputs":{"source_sentence":"a","sentences":["b"]},"tokens":[[1],[2]],"ids":[1]}`, `{"prompt":"","inputs":[["a"],[]],"query":[]}`,
		`{"input":[{"type":"image_url","url":"u"}],"inputs":[],"prompt":["a",1]}`, `{"inputs":[["a","b"],"c"],"tokens":[]}`,
	} {
		f.Add([]byte(body))
	}
	s := quick(f, options.Options{MaxModelLen: 64, TruthLimit: 1})
	var table routes
	table.addVectors()
	var paths []string
	for _, row := range table {
		paths = append(paths, row.pattern)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range paths {
			if w := ask(s, path, string(body)); w.Code != 200 && w.Code != 400 && w.Code != 404 || !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%s %s: %d %s", path, body, w.Code, w.Body)
			}
		}
	})
}
