package endpoint

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/pooling"
)

// answering lists the kinds whose answers are no generated text, by their name.
func answering(t testing.TB) map[string]Kind {
	t.Helper()
	kinds := map[string]Kind{}
	for _, name := range []string{
		"embeddings", "chat_embeddings", "pooling", "score", "rerank", "cohere_rankings", "classify", "tokenize", "detokenize",
		"nim_embeddings", "nim_rankings", "image_retrieval", "hf_tei_rankings", "tei_embed", "ollama_embed",
	} {
		k, ok := Lookup(name)
		if !ok || k.Caps.Streams || k.Caps.ProducesTokens {
			t.Fatalf("kind %q: found %v, caps %+v; want one that neither streams nor generates", name, ok, k.Caps)
		}
		kinds[name] = k
	}
	return kinds
}

// TestEncodeVectors compares the bodies of the documents, to the byte.
func TestEncodeVectors(t *testing.T) {
	const system, png = "S", "data:image/png;base64,AQID"
	image := bench.Media{MIME: "image/png", Data: []byte{1, 2, 3}}
	ranked := bench.Turn{Named: []bench.NamedTexts{{Name: "query", Texts: []string{"q"}}, {Name: "passages", Texts: []string{"a", "b"}}}}
	pair := bench.Turn{Named: []bench.NamedTexts{{Name: "text_1", Texts: []string{"l"}}, {Name: "text_2", Texts: []string{"r"}}}}
	zip := bench.Turn{Named: []bench.NamedTexts{{Name: "documents", Texts: []string{"a", "b"}}, {Name: "queries", Texts: []string{"q", "p"}}}}
	with := func(t bench.Turn, m ...bench.Media) bench.Turn { t.Images = m; return t }
	for _, tt := range []struct {
		kind string
		req  Request
		want string
	}{
		{"embeddings", Request{Turn: user("T")}, `{"model":"M","input":["T"]}`},
		{"embeddings", Request{Turn: user("T", "<ü>")}, `{"model":"M","input":["T","<ü>"]}`},
		{"embeddings", Request{Turn: ranked}, `{"model":"M","input":["q","a","b"]}`}, // names mean nothing here
		{
			"embeddings", Request{Turn: bench.Turn{Texts: []string{"T"}, Model: "N", MaxTokens: 9, ExtraBody: json.RawMessage(`{"dimensions":64}`)}, Settings: &Settings{Extra: fields(t, `{"encoding_format":"base64","user":null}`)}},
			`{"model":"N","input":["T"],"encoding_format":"base64","user":null,"dimensions":64}`,
		},
		{"chat_embeddings", Request{Turn: user("T")}, `{"model":"M","messages":[{"role":"user","content":"T"}]}`},
		{
			"chat_embeddings", Request{System: system, History: []bench.Exchange{{Turn: user("old")}}, Turn: with(user("T"), image)},
			`{"model":"M","messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"T"},{"type":"image_url","image_url":{"url":"` + png + `"}}]}]}`,
		},
		{"pooling", Request{Turn: user("T")}, `{"model":"M","input":["T"]}`},
		{"pooling", Request{Turn: user("T"), System: system}, `{"model":"M","messages":[{"role":"system","content":"S"},{"role":"user","content":"T"}]}`},
		{"pooling", Request{Turn: bench.Turn{Payload: []byte(`{"data":{},"task":"plugin"}`)}}, `{"data":{},"task":"plugin"}`},
		{"score", Request{Turn: pair}, `{"model":"M","text_1":"l","text_2":"r"}`},
		{"score", Request{Turn: ranked}, `{"model":"M","text_1":"q","text_2":["a","b"]}`},
		{"score", Request{Turn: zip}, `{"model":"M","text_1":["q","p"],"text_2":["a","b"]}`},
		{"score", Request{Turn: user("l", "r"), Settings: &Settings{Extra: fields(t, `{"encoding_format":"float"}`)}}, `{"model":"M","text_1":"l","text_2":"r","encoding_format":"float"}`},
		{"score", Request{Turn: user("l", "r", "s")}, `{"model":"M","text_1":"l","text_2":["r","s"]}`},
		{"rerank", Request{Turn: ranked}, `{"model":"M","query":"q","documents":["a","b"]}`},
		{"rerank", Request{Turn: bench.Turn{Named: ranked.Named[:1]}}, `{"model":"M","query":"q","documents":[]}`},
		{"cohere_rankings", Request{Turn: ranked, Settings: &Settings{Extra: fields(t, `{"top_n":1}`)}}, `{"model":"M","query":"q","documents":["a","b"],"top_n":1}`},
		{"classify", Request{Turn: user("T")}, `{"model":"M","input":["T"]}`},
		{"classify", Request{Turn: user("T", "U")}, `{"model":"M","input":["T","U"]}`},
		{"classify", Request{Turn: bench.Turn{Role: "assistant", Texts: []string{"T"}}}, `{"model":"M","messages":[{"role":"assistant","content":"T"}]}`},
		{"tokenize", Request{Turn: user("T")}, `{"model":"M","prompt":"T"}`},
		{"tokenize", Request{Turn: user("T"), System: system}, `{"model":"M","messages":[{"role":"system","content":"S"},{"role":"user","content":"T"}]}`},
		{"tokenize", Request{Turn: user("T", "U")}, `{"model":"M","prompt":["T","U"]}`},
		{"detokenize", Request{Turn: user("T"), TokenIDs: []int{5, 0, 71}}, `{"model":"M","tokens":[5,0,71]}`},
		{"detokenize", Request{Turn: bench.Turn{ExtraBody: json.RawMessage(`{"tokens":[1]}`)}}, `{"model":"M","tokens":[1]}`},
		{"nim_embeddings", Request{Turn: user("T"), Settings: &Settings{Extra: fields(t, `{"input_type":"query"}`)}}, `{"model":"M","input":["T"],"input_type":"query"}`},
		{"nim_embeddings", Request{Turn: with(user("T", "U"), image, bench.Media{URL: "http://h/b.png"})}, `{"model":"M","input":["T ` + png + `","U http://h/b.png"]}`},
		{"nim_embeddings", Request{Turn: with(user(), image)}, `{"model":"M","input":["` + png + `"]}`},
		{"nim_rankings", Request{Turn: ranked}, `{"model":"M","query":{"text":"q"},"passages":[{"text":"a"},{"text":"b"}]}`},
		{"nim_rankings", Request{Turn: with(bench.Turn{Named: ranked.Named[:1]}, image)}, `{"model":"M","query":{"text":"q"},"passages":[{"image":"` + png + `"}]}`},
		{"image_retrieval", Request{Turn: with(user(), image, image)}, `{"input":[{"type":"image_url","url":"` + png + `"},{"type":"image_url","url":"` + png + `"}]}`},
		{"hf_tei_rankings", Request{Turn: ranked}, `{"query":"q","texts":["a","b"]}`},
		{"tei_embed", Request{Turn: user("T")}, `{"inputs":"T"}`},
		{"tei_embed", Request{Turn: user("T", "U"), Settings: &Settings{Extra: fields(t, `{"normalize":true}`)}}, `{"inputs":["T","U"],"normalize":true}`},
		{"tei_embed", Request{Turn: ranked}, `{"inputs":{"source_sentence":"q","sentences":["a","b"]}}`},
		{"ollama_embed", Request{Turn: user("T")}, `{"model":"M","input":"T"}`},
		{"ollama_embed", Request{Turn: user("T", "U")}, `{"model":"M","input":["T","U"]}`},
	} {
		tt.req.Model = "M"
		if tt.req.Settings == nil {
			tt.req.Settings = &Settings{}
		}
		k := answering(t)[tt.kind]
		got, err := k.Body([]byte("x"), &tt.req)
		if string(got) != "x"+tt.want || err != nil {
			t.Errorf("%s:\n got %s (%v)\nwant x%s", tt.kind, got, err, tt.want)
		}
	}
}

// TestEncodeVectorsErrors: a turn that the API cannot express gives an error that names the missing part.
func TestEncodeVectorsErrors(t *testing.T) {
	query := bench.NamedTexts{Name: "query", Texts: []string{"q"}}
	for _, tt := range []struct {
		kind string
		turn bench.Turn
		want string
	}{
		{"embeddings", user(), "needs a text"},
		{"pooling", user(), "needs a text"},
		{"classify", user(), "needs a text"},
		{"tokenize", user(), "needs a text"},
		{"detokenize", user(), "needs the tokens"},
		{"tei_embed", user(), "needs a text"},
		{"ollama_embed", user(), "needs a text"},
		{"nim_embeddings", user(), "needs a text"},
		{"nim_embeddings", bench.Turn{Texts: []string{"a", "b"}, Images: make([]bench.Media, 1)}, "2 texts and 1 images"},
		{"image_retrieval", user("T"), "needs an image"},
		{"embeddings", bench.Turn{Texts: []string{"a"}, Images: make([]bench.Media, 1)}, "takes no images"},
		{"score", user("one"), "at least two texts"},
		{"score", bench.Turn{Named: []bench.NamedTexts{query}}, "at least two texts"},
		{"score", bench.Turn{Named: []bench.NamedTexts{query, query, {Name: "passages", Texts: []string{"a"}}}}, "has 2 and 1"},
		{"rerank", user("q", "d"), "needs a text named query"},
		{"cohere_rankings", bench.Turn{Named: []bench.NamedTexts{query, query}}, "has 2"},
		{"hf_tei_rankings", user(), "needs a text named query"},
		{"nim_rankings", user(), "needs a text named query"},
		{"tei_embed", bench.Turn{Named: []bench.NamedTexts{query, query}}, "has 2"},
	} {
		k := answering(t)[tt.kind]
		_, err := k.Body(nil, &Request{Turn: tt.turn, Settings: &Settings{}})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.kind) {
			t.Errorf("%s: %v, want %q in it", tt.kind, err, tt.want)
		}
	}
}

// TestEncodeVectorsExtra: an extra body that is no object is an error.
func TestEncodeVectorsExtra(t *testing.T) {
	for name, kind := range answering(t) {
		turn := user("a", "b")
		turn.ExtraBody = json.RawMessage(`{"a":1`)
		if kind.Caps.Named {
			turn.Named = []bench.NamedTexts{{Name: "query", Texts: turn.Texts[:1]}, {Name: "passages", Texts: turn.Texts}}
		}
		if name == "image_retrieval" {
			turn.Images = []bench.Media{{URL: "http://h/a.png"}}
		}
		if _, err := kind.Body(nil, &Request{Settings: &Settings{}, Turn: turn}); err == nil || !strings.Contains(err.Error(), "extra body") {
			t.Errorf("%s: %v, want an error about the extra body", name, err)
		}
	}
}

// TestItems: the number of items that an answer should hold, if it is known.
func TestItems(t *testing.T) {
	ranked := bench.Turn{Named: []bench.NamedTexts{{Name: "query", Texts: []string{"q"}}, {Name: "passages", Texts: []string{"a", "b"}}}}
	for _, tt := range []struct {
		kind string
		req  Request
		want int
	}{
		{"embeddings", Request{Turn: user("a", "b")}, 2},
		{"embeddings", Request{Turn: ranked}, 3},
		{"embeddings", Request{Turn: bench.Turn{Texts: []string{"a"}, ExtraBody: json.RawMessage(`{"input":[1,2]}`)}}, 0},
		{"embeddings", Request{Turn: bench.Turn{Payload: []byte("{}")}}, 0},
		{"pooling", Request{Turn: user("a", "b"), System: "S"}, 1},
		{"pooling", Request{Turn: user("a"), Settings: &Settings{Extra: fields(t, `{"task":"plugin"}`)}}, 0},
		{"classify", Request{Turn: user("a")}, 1},
		{"ollama_embed", Request{Turn: user("a")}, 1},
		{"score", Request{Turn: ranked}, 2},
		{"score", Request{Turn: bench.Turn{Named: ranked.Named, ExtraBody: json.RawMessage(`{"text_2":"x"}`)}}, 0},
	} {
		if tt.req.Settings == nil {
			tt.req.Settings = &Settings{}
		}
		k := answering(t)[tt.kind]
		if got := k.Items(&tt.req); got != tt.want {
			t.Errorf("%s of %+v: %d items, want %d", tt.kind, tt.req.Turn, got, tt.want)
		}
	}
}

// TestServerTimes: the times that servers report are kept in their unit.
func TestServerTimesOfVectors(t *testing.T) {
	tei := wholeBody(`[[1,2]]`)
	tei.Header = http.Header{"X-Total-Time": {"2.5"}, "X-Queue-Time": {"0"}, "X-Inference-Time": {"NaN"}, "X-Tokenization-Time": {"-1"}, "X-Compute-Tokens": {"7"}}
	a := answering(t)["tei_embed"].Decode(tei, false)
	want := map[string]time.Duration{"x-total-time": 2500 * time.Microsecond, "x-queue-time": 0}
	if diff := cmp.Diff(want, a.ServerTimes); diff != "" || *a.Usage.Input != 7 {
		t.Errorf("TEI: input %d, times (-want +got):\n%s", *a.Usage.Input, diff)
	}
	a = answering(t)["ollama_embed"].Decode(wholeBody(`{"embeddings":[[1]],"total_duration":14,"load_duration":1e300}`), false)
	if diff := cmp.Diff(map[string]time.Duration{"total_duration": 14}, a.ServerTimes); diff != "" {
		t.Errorf("Ollama (-want +got):\n%s", diff)
	}
}

// FuzzDecodeVectors: no body makes the decoders panic or return an impossible answer.
func FuzzDecodeVectors(f *testing.F) {
	for _, seed := range []string{
		`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":"AACAPw=="}],"usage":{"prompt_tokens":1}}`, `[[1,2],[3]]`, `[1,2]`,
		`{"results":[{"index":1,"relevance_score":0.5}],"meta":{"tokens":{"input_tokens":2}}}`, `{"scores":[[1]],"error":null}`,
		`{"tokens":[[1,2],[3]],"count":3}`, `[[{"id":1}]]`, `{"prompt":"a"}`, `["a",1]`, `[{"label":"a","score":1}]`, `{"data":[{"probs":[NaN,1]}]}`,
		`[{"error":{"message":"x"}}]`, `{"embeddings":[[[]]]}`, `{"request_id":"r","data":[1]}`,
	} {
		f.Add([]byte(seed))
	}
	kinds := answering(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, k := range kinds {
			a := k.Decode(wholeBody(string(data)), false)
			for _, c := range a.Chunks {
				if c.Bytes <= 0 || c.Tokens != 0 || c.At != 9*time.Millisecond {
					t.Fatalf("%s: chunk %+v", name, c)
				}
			}
			for _, v := range a.Vectors {
				if v.Index < 0 || v.Dim < 0 || v.Rows < 1 || v.Dim > len(data) || v.Rows > len(data) {
					t.Fatalf("%s: vector %+v of %d bytes", name, v, len(data))
				}
			}
			for _, r := range a.Ranks {
				if r.Index < 0 || math.IsInf(r.Score, 0) {
					t.Fatalf("%s: rank %+v", name, r)
				}
			}
			if (a.Failure == nil) == (len(a.Chunks) == 0) {
				t.Fatalf("%s: %d chunks, failure %v", name, len(a.Chunks), a.Failure)
			}
			again := k.Decode(wholeBody(string(data)), false)
			if diff := cmp.Diff(a, again, cmpopts.EquateNaNs()); diff != "" {
				t.Fatalf("%s: decoded twice (-first +second):\n%s", name, diff)
			}
		}
	})
}

// manyVectors is an answer of n vectors of 1024 numbers.
func manyVectors(n int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(`{"object":"list","model":"m","data":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"index":%d,"object":"embedding","embedding":[`, i)
		for k := range 1024 {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%.8f", rng.Float64()-0.5)
		}
		b.WriteString("]}")
	}
	b.WriteString(`],"usage":{"prompt_tokens":8,"total_tokens":8}}`)
	return b.String()
}

// TestVectorsAreNotKept: an answer of vectors costs memory by their number, not by
// their length.
func TestVectorsAreNotKept(t *testing.T) {
	resp, decode := wholeBody(manyVectors(8)), answer.Decode(pooling.Vectors())
	if a := decode(resp, false); len(a.Vectors) != 8 || a.Vectors[7] != (bench.Vector{Index: 7, Dim: 1024, Rows: 1}) {
		t.Fatalf("vectors = %+v, failure %v", a.Vectors, a.Failure)
	}
	if n := testing.AllocsPerRun(20, func() { decode(resp, false) }); n > 100 { // pools forget at random under the race detector
		t.Errorf("%v allocations for 8 vectors of 1024 numbers, want at most 100", n)
	}
}

func BenchmarkDecodeVectors(b *testing.B) {
	resp := wholeBody(manyVectors(32))
	parsed := pooling.Vectors()
	parsed.Folds = false
	for name, g := range map[string]*answer.Grammar{"folded": pooling.Vectors(), "parsed": parsed} {
		b.Run(name, func(b *testing.B) {
			decode := answer.Decode(g)
			b.SetBytes(int64(len(resp.Body)))
			b.ReportAllocs()
			for b.Loop() {
				decode(resp, false)
			}
		})
	}
}
