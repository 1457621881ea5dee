package endpoint

import "aiperfd/internal/engine/bench"

// rerank is the API for the relevance of documents to a query that Jina and Cohere
// (v1) began, as vLLM, SGLang, Voyage and others serve it.
func rerank() Kind {
	return Kind{
		Name: "rerank", Aliases: []string{"vllm-rerank", "jina_rerank"},
		Path: "/v1/rerank", Title: "Ranking Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true},
		Encode: encodeRerank("rerank"), Decode: decodeWith(ranks(rankedItem)),
	}
}

// cohereRankings is the second version of Cohere's API, the same for us.
func cohereRankings() Kind {
	k := rerank()
	k.Name, k.Aliases, k.Path = "cohere_rankings", nil, "/v2/rerank"
	k.Encode = encodeRerank(k.Name)
	return k
}

// encodeRerank writes a body for POST /v1/rerank or /v2/rerank (Cohere API
// reference, "Rerank"; vLLM, "Re-rank API").
func encodeRerank(kind string) func(dst []byte, r *Request) ([]byte, error) {
	return func(dst []byte, r *Request) ([]byte, error) {
		query, documents, err := ranking(kind, &r.Turn)
		if err != nil {
			return dst, err
		}
		return object(dst, r, modelField(r),
			Field{"query", appendString(nil, query)}, Field{"documents", stringList(documents)})
	}
}
