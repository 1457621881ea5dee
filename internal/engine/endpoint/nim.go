package endpoint

import (
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
)

func errUnpaired(texts, images int) error {
	return fmt.Errorf("endpoint type nim_embeddings pairs each text with an image, but the turn has %d texts and %d images", texts, images)
}

// nimRankings is the API of NVIDIA's reranking NIMs.
func nimRankings() Kind {
	return Kind{
		Name: "nim_rankings", Aliases: []string{"nim_ranking"},
		Path: "/v1/ranking", Title: "Ranking Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true, Images: true},
		Encode: encodeNIMRankings, Decode: decodeWith(ranks(rankedItem)),
	}
}

// encodeNIMRankings writes a body for POST /v1/ranking (NVIDIA NeMo Retriever
// Reranking NIM). Images of the turn are passages too.
func encodeNIMRankings(dst []byte, r *Request) ([]byte, error) {
	query, texts, err := ranking("nim_rankings", &r.Turn)
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
		passages = append(appendString(passages, s), '}')
	}
	for i := range r.Turn.Images {
		add("image")
		passages = append(appendMediaURL(passages, &r.Turn.Images[i]), '}')
	}
	about := append(appendString([]byte(`{"text":`), query), '}')
	return object(dst, r, modelField(r), Field{"query", about}, Field{"passages", append(passages, ']')})
}

// imageRetrieval is the API of NVIDIA's NIMs that find something in images:
// objects, text, elements of a page.
func imageRetrieval() Kind {
	return Kind{
		Name: "image_retrieval",
		Path: "/v1/infer", Title: "Image Retrieval Metrics",
		Caps:   bench.Caps{ProducesItems: true, Images: true},
		Encode: encodeImageRetrieval, Decode: decodeWith(ranks(foundItem)),
	}
}

// encodeImageRetrieval writes a body for POST /v1/infer (NVIDIA NIM for object
// detection): only images, and no model.
func encodeImageRetrieval(dst []byte, r *Request) ([]byte, error) {
	images := r.Turn.Images
	if len(images) == 0 {
		return dst, errors.New("endpoint type image_retrieval needs an image, but the turn has none")
	}
	input := []byte{'['}
	for i := range images {
		if i > 0 {
			input = append(input, ',')
		}
		input = append(input, `{"type":"image_url","url":`...)
		input = append(appendMediaURL(input, &images[i]), '}')
	}
	return object(dst, r, Field{"input", append(input, ']')})
}
