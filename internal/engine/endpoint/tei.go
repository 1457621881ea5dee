package endpoint

import (
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// teiRankings is the reranking API of Hugging Face's Text Embeddings Inference.
func teiRankings() Kind {
	return Kind{
		Name: "hf_tei_rankings", Aliases: []string{"tei_rerank"},
		Path: "/rerank", RootPath: true, Title: "Ranking Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true},
		Encode: encodeTEIRankings, Decode: decodeWith(rankGrammar(newTEIRanks)),
	}
}

// encodeTEIRankings writes a body for POST /rerank (TEI API): it names no model.
func encodeTEIRankings(dst []byte, r *Request) ([]byte, error) {
	query, texts, err := ranking("hf_tei_rankings", &r.Turn)
	if err != nil {
		return dst, err
	}
	return object(dst, r, Field{"query", appendString(nil, query)}, Field{"texts", stringList(texts)})
}

// teiEmbed is TEI's own API for vectors. Its other routes (/embed_all,
// /embed_sparse, /predict, /similarity) take the same requests, and their answers
// are told apart by their shape.
func teiEmbed() Kind {
	return Kind{
		Name: "tei_embed",
		Path: "/embed", RootPath: true, Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true},
		Encode: encodeTEIEmbed, Decode: decodeWith(vectorGrammar(newTEIVectors)),
	}
}

// encodeTEIEmbed writes a body for POST /embed (TEI API), or for /similarity where
// the turn has a query.
func encodeTEIEmbed(dst []byte, r *Request) ([]byte, error) {
	if len(named(&r.Turn, queryNames())) > 0 {
		source, sentences, err := ranking("tei_embed", &r.Turn)
		if err != nil {
			return dst, err
		}
		inputs := appendString([]byte(`{"source_sentence":`), source)
		inputs = append(append(inputs, `,"sentences":`...), stringList(sentences)...)
		return object(dst, r, Field{"inputs", append(inputs, '}')})
	}
	t := bench.Turn{Texts: allTexts(&r.Turn)}
	texts, err := someTexts("tei_embed", &t)
	if err != nil {
		return dst, err
	}
	return object(dst, r, Field{"inputs", oneOrList(texts)})
}

// teiVectors reads vectors, but a bare list of numbers is a score for each sentence.
type teiVectors struct {
	vectorDialect

	scores *rankDialect
}

func newTEIVectors(b *builder) dialect {
	return &teiVectors{vectorDialect{itemBuilder: itemBuilder{b}}, newRanks(b, scoredItem)}
}

func (d *teiVectors) document(doc *document) bool {
	d.takeTEIHeaders()
	if items, err := doc.value.Array(); err == nil && len(items) > 0 && items[0].Type() == fastjson.TypeNumber {
		return d.scores.document(doc)
	}
	return d.vectorDialect.document(doc)
}

// teiRanks reads scores.
type teiRanks struct{ *rankDialect }

func newTEIRanks(b *builder) dialect { return teiRanks{newRanks(b, rankedItem)} }

func (d teiRanks) document(doc *document) bool {
	d.takeTEIHeaders()
	return d.rankDialect.document(doc)
}

// takeTEIHeaders reads TEI's headers: times, and the number of input tokens.
func (d itemBuilder) takeTEIHeaders() {
	d.times.headers(d.header, "x-total-time", "x-tokenization-time", "x-queue-time", "x-inference-time")
	if n, err := strconv.ParseInt(d.header.Get("x-compute-tokens"), 10, 64); err == nil && n >= 0 {
		d.inputTokens(n)
	}
}
