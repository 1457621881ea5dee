package pooling

import (
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

func errUnpaired(texts, images int) error {
	return fmt.Errorf("endpoint type nim_embeddings pairs each text with an image, but the turn has %d texts and %d images", texts, images)
}

// NIMRankings is the API of NVIDIA's reranking NIMs.
func NIMRankings() codec.Kind {
	return codec.Kind{
		Name: "nim_rankings", Aliases: []string{"nim_ranking"},
		Path: "/v1/ranking", Title: "Ranking Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true, Ranks: true, Images: true},
		Encode: encodeNIMRankings, Decode: answer.Decode(ranks(rankedItem)),
	}
}

// encodeNIMRankings writes a body for POST /v1/ranking (NVIDIA NeMo Retriever
// Reranking NIM). Images of the turn are passages too.
func encodeNIMRankings(dst []byte, r *codec.Request) ([]byte, error) {
	query, texts, err := codec.Ranking("nim_rankings", &r.Turn)
	if err != nil {
		return dst, err
	}
	passages := []byte{'['}
	add := func(name string) {
		if len(passages) > 1 {
			passages = append(passages, ',')
		}
		passages = append(passages, `{"`+name+`":`...)
	}
	for _, s := range texts {
		add("text")
		passages = append(codec.AppendString(passages, s), '}')
	}
	for i := range r.Turn.Images {
		add("image")
		passages = append(codec.AppendMediaURL(passages, &r.Turn.Images[i]), '}')
	}
	about := append(codec.AppendString([]byte(`{"text":`), query), '}')
	return codec.Object(dst, r, codec.ModelField(r), codec.RawField("query", about), codec.RawField("passages", append(passages, ']')))
}

// ImageRetrieval is the API of NVIDIA's NIMs that find something in images:
// objects, text, elements of a page.
func ImageRetrieval() codec.Kind {
	return codec.Kind{
		Name: "image_retrieval",
		Path: "/v1/infer", Title: "Image Retrieval Metrics",
		Caps:   bench.Caps{ProducesItems: true, Images: true, Needs: bench.Needs{Images: true}},
		Encode: encodeImageRetrieval, Decode: answer.Decode(ranks(foundItem)),
	}
}

// encodeImageRetrieval writes a body for POST /v1/infer (NVIDIA NIM for object
// detection): only images, and no model.
func encodeImageRetrieval(dst []byte, r *codec.Request) ([]byte, error) {
	images := r.Turn.Images
	if len(images) == 0 {
		return dst, errors.New("endpoint type image_retrieval needs an image, but the turn has none")
	}
	input := codec.AppendList(nil, images, func(dst []byte, m *bench.Media) []byte {
		return append(codec.AppendMediaURL(append(dst, `{"type":"image_url","url":`...), m), '}')
	})
	return codec.Object(dst, r, codec.RawField("input", input))
}
