package pooling

import (
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/codec"
)

// Score is vLLM's API for how well texts go together, in pairs.
func Score() codec.Kind {
	return codec.Kind{
		Name: "score",
		Path: "/score", RootPath: true, Title: "Ranking Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true, Ranks: true},
		Encode: encodeScore, Items: countPairs, Decode: answer.Decode(ranks(scoredItem)),
	}
}

// encodeScore writes a body for POST /score (vLLM, "Score API"): one pair, one
// text against many, or as many against as many.
func encodeScore(dst []byte, r *codec.Request) ([]byte, error) {
	left, right, err := pairs(&r.Turn)
	if err != nil {
		return dst, err
	}
	return codec.Object(dst, r, codec.ModelField(r), codec.RawField("text_1", codec.OneOrList(left)), codec.RawField("text_2", codec.OneOrList(right)))
}

// pairs returns the two sides of a turn: by the names of its texts, or the first
// text against the others.
func pairs(t *bench.Turn) (left, right []string, err error) {
	left, right = codec.NamedTexts(t, codec.QueryNames()), codec.NamedTexts(t, codec.DocumentNames())
	if len(left) == 0 && len(right) == 0 && len(t.Texts) > 1 {
		left, right = t.Texts[:1], t.Texts[1:]
	}
	switch {
	case len(left) == 0 || len(right) == 0:
		return nil, nil, errors.New("endpoint type score needs texts named query and passages (or text_1 and text_2), or at least two texts without names")
	case len(left) > 1 && len(left) != len(right):
		return nil, nil, fmt.Errorf("endpoint type score compares one text with many or as many with as many, and the turn has %d and %d", len(left), len(right))
	}
	return left, right, nil
}

// countPairs is the number of requested scores.
func countPairs(r *codec.Request) int {
	if r.Turn.Payload != nil || codec.Given(r, "text_1", "text_2") {
		return 0
	}
	_, right, _ := pairs(&r.Turn) // without pairs there is no request
	return len(right)
}

// Classify is vLLM's API for the class of a text ("Classification API"); SGLang has it too.
// A single text is a list, too: all servers take one, and Infinity takes nothing else.
func Classify() codec.Kind {
	return codec.Kind{
		Name: "classify",
		Path: "/classify", RootPath: true, Title: "Classification Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, System: true, Images: true, Audio: true, Video: true},
		Encode: orChat(encodeTexts("classify", "input", codec.StringList)), Items: codec.CountTexts,
		Decode: answer.Decode(ranks(classItem)),
	}
}
