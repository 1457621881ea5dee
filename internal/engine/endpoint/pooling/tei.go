package pooling

import (
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// TEIRankings is the reranking API of Hugging Face's Text Embeddings Inference.
func TEIRankings() codec.Kind {
	return codec.Kind{
		Name: "hf_tei_rankings", Aliases: []string{"tei_rerank"},
		Path: "/rerank", RootPath: true, Title: "Ranking Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true, Ranks: true},
		Encode: encodeTEIRankings, Decode: answer.Decode(rankGrammar(newTEIRanks)),
	}
}

// encodeTEIRankings writes a body for POST /rerank (TEI API): it names no model.
func encodeTEIRankings(dst []byte, r *codec.Request) ([]byte, error) {
	query, texts, err := codec.Ranking("hf_tei_rankings", &r.Turn)
	if err != nil {
		return dst, err
	}
	return codec.Object(dst, r, codec.TextField("query", query), codec.RawField("texts", codec.StringList(texts)))
}

// TEIEmbed is TEI's own API for vectors. Its other routes (/embed_all,
// /embed_sparse, /predict, /similarity) take the same requests, and their answers
// are distinguished by their structure.
func TEIEmbed() codec.Kind {
	return codec.Kind{
		Name: "tei_embed",
		Path: "/embed", RootPath: true, Title: "Embeddings Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true},
		Encode: encodeTEIEmbed, Decode: answer.Decode(vectorGrammar(newTEIVectors)),
	}
}

// encodeTEIEmbed writes a body for POST /embed (TEI API), or for /similarity if
// the turn has a query.
func encodeTEIEmbed(dst []byte, r *codec.Request) ([]byte, error) {
	if len(codec.NamedTexts(&r.Turn, codec.QueryNames())) > 0 {
		source, sentences, err := codec.Ranking("tei_embed", &r.Turn)
		if err != nil {
			return dst, err
		}
		inputs := codec.AppendString([]byte(`{"source_sentence":`), source)
		inputs = append(append(inputs, `,"sentences":`...), codec.StringList(sentences)...)
		return codec.Object(dst, r, codec.RawField("inputs", append(inputs, '}')))
	}
	t := bench.Turn{Texts: codec.AllTexts(&r.Turn)}
	texts, err := codec.SomeTexts("tei_embed", &t)
	if err != nil {
		return dst, err
	}
	return codec.Object(dst, r, codec.RawField("inputs", codec.OneOrList(texts)))
}

// teiVectors reads vectors, but a bare list of numbers is a score for each sentence.
type teiVectors struct {
	vectorDialect

	scores *rankDialect
}

func newTEIVectors(b *answer.Builder) answer.Dialect {
	return &teiVectors{vectorDialect{itemBuilder: itemBuilder{b}}, newRanks(b, scoredItem)}
}

func (d *teiVectors) Document(doc *answer.Document) bool {
	d.takeTEIHeaders()
	if items, err := doc.Value.Array(); err == nil && len(items) > 0 && items[0].Type() == fastjson.TypeNumber {
		return d.scores.Document(doc)
	}
	return d.vectorDialect.Document(doc)
}

// teiRanks reads scores.
type teiRanks struct{ *rankDialect }

func newTEIRanks(b *answer.Builder) answer.Dialect { return teiRanks{newRanks(b, rankedItem)} }

func (d teiRanks) Document(doc *answer.Document) bool {
	d.takeTEIHeaders()
	return d.rankDialect.Document(doc)
}

// takeTEIHeaders reads TEI's headers: times, and the number of input tokens.
func (d itemBuilder) takeTEIHeaders() {
	d.Times.Headers(d.Header, "x-total-time", "x-tokenization-time", "x-queue-time", "x-inference-time")
	if n, err := strconv.ParseInt(d.Header.Get("x-compute-tokens"), 10, 64); err == nil && n >= 0 {
		d.inputTokens(n)
	}
}
