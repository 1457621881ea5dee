package pooling

import (
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// Rerank is the API for the relevance of documents to a query that Jina and Cohere
// (v1) began, as vLLM, SGLang, Voyage and others serve it.
func Rerank() codec.Kind {
	return codec.Kind{
		Name: "rerank", Aliases: []string{"vllm-rerank", "jina_rerank"},
		Path: "/v1/rerank", Title: "Ranking Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true, Ranks: true},
		Encode: encodeRerank("rerank"), Decode: answer.Decode(ranks(rankedItem)),
	}
}

// CohereRankings is the second version of Cohere's API, the same for us.
func CohereRankings() codec.Kind {
	k := Rerank()
	k.Name, k.Aliases, k.Path = "cohere_rankings", nil, "/v2/rerank"
	k.Encode = encodeRerank(k.Name)
	return k
}

// encodeRerank writes a body for POST /v1/rerank or /v2/rerank (Cohere API
// reference, "Rerank"; vLLM, "Re-rank API").
func encodeRerank(kind string) func(dst []byte, r *codec.Request) ([]byte, error) {
	return func(dst []byte, r *codec.Request) ([]byte, error) {
		query, documents, err := codec.Ranking(kind, &r.Turn)
		if err != nil {
			return dst, err
		}
		return codec.Object(dst, r, codec.ModelField(r),
			codec.TextField("query", query), codec.RawField("documents", codec.StringList(documents)))
	}
}
