package endpoint

import (
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
)

// score is vLLM's API for how well texts go together, in pairs.
func score() Kind {
	return Kind{
		Name: "score",
		Path: "/score", RootPath: true, Title: "Ranking Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, Named: true},
		Encode: encodeScore, Items: countPairs, Decode: decodeWith(ranks(scoredItem)),
	}
}

// encodeScore writes a body for POST /score (vLLM, "Score API"): one pair, one
// text against many, or as many against as many.
func encodeScore(dst []byte, r *Request) ([]byte, error) {
	left, right, err := pairs(&r.Turn)
	if err != nil {
		return dst, err
	}
	return object(dst, r, modelField(r), Field{"text_1", oneOrList(left)}, Field{"text_2", oneOrList(right)})
}

// pairs returns the two sides of a turn: by the names of its texts, or the first
// text against the others.
func pairs(t *bench.Turn) (left, right []string, err error) {
	left, right = named(t, queryNames()), named(t, documentNames())
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

// countPairs is the number of scores that are asked for.
func countPairs(r *Request) int {
	if r.Turn.Payload != nil || given(r, "text_1", "text_2") {
		return 0
	}
	_, right, _ := pairs(&r.Turn) // without pairs there is no request
	return len(right)
}

// classify is vLLM's API for the class of a text; SGLang has it too.
func classify() Kind {
	return Kind{
		Name: "classify",
		Path: "/classify", RootPath: true, Title: "Classification Metrics",
		Caps:   bench.Caps{TokenizesInput: true, ProducesItems: true, System: true, Images: true, Audio: true, Video: true},
		Encode: encodeClassify, Items: countTexts, Decode: decodeWith(ranks(classItem)),
	}
}

// encodeClassify writes a body for POST /classify (vLLM, "Classification API").
// A single text is a list, too: all servers take one, and Infinity takes nothing else.
func encodeClassify(dst []byte, r *Request) ([]byte, error) {
	if isChat(r) {
		return encodeChatEmbeddings(dst, r)
	}
	texts, err := someTexts("classify", &r.Turn)
	if err != nil {
		return dst, err
	}
	return object(dst, r, modelField(r), Field{"input", stringList(texts)})
}
