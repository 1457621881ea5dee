package vectors

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/random"
)

// scored is a text with its score.
type scored struct {
	index int
	text  string
	score float64 // 0 to 1
}

// similarity returns the similarity of two texts: the cosine of the vectors that
// /v1/embeddings returns for them, but at least 0.
func similarity(a, b string) float64 {
	return max(0, Cosine(Vector(a, DefaultDim), Vector(b, DefaultDim)))
}

// rankBy scores texts by their similarity to a query, the best first.
func rankBy(query string, texts []string) []scored {
	about := Vector(query, DefaultDim)
	out := make([]scored, len(texts))
	for i, text := range texts {
		out[i] = scored{i, text, max(0, Cosine(about, Vector(text, DefaultDim)))}
	}
	slices.SortStableFunc(out, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return out
}

// pairTexts returns the inputs of a model that scores texts: each text with the query.
func pairTexts(query string, texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = query + " " + text
	}
	return out
}

// scoreItem is an item of the answer to POST /score.
type scoreItem struct {
	Index  int     `json:"index"`
	Object string  `json:"object"`
	Score  float64 `json:"score"`
}

// NewScore returns the protocol of POST /score, as vLLM serves it, with all names of its
// members.
func NewScore() *api.Protocol {
	return api.Reading[[]scored]{
		Accept: acceptScore,
		Answer: func(x *api.Answer, in []scored) any {
			return api.NewList(x, "score-", len(in), func(i int) scoreItem {
				return scoreItem{in[i].index, "score", in[i].score}
			})
		},
	}.Protocol()
}

func acceptScore(m *api.Model, f *api.Fields) ([]scored, []api.Prompt) {
	query := cmp.Or(f.OneOf("text_1", "data_1", "queries"), "text_1")
	left, _ := f.Texts(query)
	right, _ := f.Texts(cmp.Or(f.OneOf("text_2", "data_2", "documents", "items"), "text_2"))
	if len(left) == 0 || len(right) == 0 || len(left) > 1 && len(left) != len(right) {
		f.Refuse(query, fmt.Sprintf("Input lengths must be either 1:1, 1:N or N:N, got %d:%d.", len(left), len(right)))
	}
	if f.Failed() {
		return nil, nil
	}
	out, texts := make([]scored, len(right)), make([]string, len(right))
	for i, text := range right {
		other := left[min(i, len(left)-1)]
		out[i] = scored{i, text, similarity(other, text)}
		texts[i] = other + " " + text
	}
	return out, m.Read(texts)
}

// readRanking reads a query and the texts that it ranks, the member texts; want is what an
// error asks for as the query.
func readRanking(m *api.Model, f *api.Fields, texts, want, none string) ([]scored, []api.Prompt) {
	query, many := f.Texts("query")
	if many {
		f.Fail("query", want)
	}
	passages, _ := f.Texts(texts)
	if len(passages) == 0 {
		f.Refuse(texts, none)
	}
	if f.Failed() {
		return nil, nil
	}
	return rankBy(query[0], passages), m.Read(pairTexts(query[0], passages))
}

// ranked is a request to rank texts, with its answer.
type ranked struct {
	tei   bool // in the form of TEI
	raw   bool // scores as they come out of the model, not between 0 and 1
	texts bool // the answer repeats them
	items []scored
}

// NewRerank returns the protocol of POST /rerank, /v1/rerank and /v2/rerank: TEI's API
// for a body with texts, that of vLLM, Jina and Cohere for one with documents.
func NewRerank() *api.Protocol {
	return api.Reading[ranked]{Accept: acceptRerank, Answer: answerRerank}.Protocol()
}

func acceptRerank(m *api.Model, f *api.Fields) (ranked, []api.Prompt) {
	member := f.OneOf("texts", "documents")
	in := ranked{tei: member == "texts", raw: f.Flag("raw_scores")}
	items, read := readRanking(m, f, cmp.Or(member, "documents"), "string", "At least one text is needed.")
	if in.items = items; in.tei {
		in.texts = f.Flag("return_text")
		return in, read
	}
	if n, ok := f.Integer("top_n"); ok && n > 0 {
		in.items = items[:min(n, len(items))]
	}
	in.texts = f.Boolean("return_documents", true)
	return in, read
}

// rankedDocument is an item of the answer of vLLM, Jina and Cohere.
type rankedDocument struct {
	Index    int           `json:"index"`
	Document *documentText `json:"document,omitempty"`
	Score    float64       `json:"relevance_score"`
}

type documentText struct {
	Text string `json:"text"`
}

func answerRerank(x *api.Answer, in ranked) any {
	if in.tei {
		return answerTEIRerank(x, in)
	}
	return struct {
		ID      string           `json:"id"`
		Model   string           `json:"model"`
		Usage   *api.InputUsage  `json:"usage,omitempty"`
		Results []rankedDocument `json:"results"`
	}{
		"rerank-" + x.RequestID(), x.Request.Model, x.InputUsage(),
		api.Items(x, len(in.items), func(i int) rankedDocument {
			one := rankedDocument{Index: in.items[i].index, Score: in.items[i].score}
			if in.texts {
				one.Document = &documentText{in.items[i].text}
			}
			return one
		}),
	}
}

// rankedText is an item of the answer of TEI.
type rankedText struct {
	Index int     `json:"index"`
	Text  *string `json:"text,omitempty"`
	Score float64 `json:"score"`
}

func answerTEIRerank(x *api.Answer, in ranked) any {
	teiHead(x)
	return api.Items(x, len(in.items), func(i int) rankedText {
		one := rankedText{Index: in.items[i].index, Score: in.items[i].score}
		if in.texts {
			one.Text = &in.items[i].text
		}
		if in.raw {
			one.Score = logit(one.Score)
		}
		return one
	})
}

// logit returns the output of a model before the sigmoid that turns it into a score, to
// four digits.
func logit(score float64) float64 {
	const edge = 1e-4
	score = min(1-edge, max(edge, score))
	return math.Round(math.Log(score/(1-score))*1e4) / 1e4
}

// rankedPassage is an item of the answer of NVIDIA's NIMs.
type rankedPassage struct {
	Index int     `json:"index"`
	Logit float64 `json:"logit"`
}

// NewNIMRanking returns the protocol of POST /v1/ranking, as NVIDIA's NIMs serve it.
func NewNIMRanking() *api.Protocol {
	return api.Reading[[]scored]{
		Accept: func(m *api.Model, f *api.Fields) ([]scored, []api.Prompt) {
			return readRanking(m, f, "passages", "dictionary with a text", "passages should have at least 1 item.")
		},
		Answer: func(x *api.Answer, in []scored) any {
			return struct {
				Rankings []rankedPassage `json:"rankings"`
				Usage    *api.InputUsage `json:"usage,omitempty"`
			}{api.Items(x, len(in), func(i int) rankedPassage {
				return rankedPassage{in[i].index, logit(in[i].score)}
			}), x.InputUsage()}
		},
	}.Protocol()
}

// classesOf returns the probabilities of two classes: the similarity of a text to
// positive and to negative words.
func classesOf(text string) []float32 {
	const sharpness = 8
	bad := similarity(text, "bad poor wrong awful terrible broken worst hate")
	good := similarity(text, "good great right lovely excellent working best love")
	p := 1 / (1 + math.Exp(-sharpness*(good-bad)))
	return []float32{float32(1 - p), float32(p)}
}

// classified is an item of the answer to POST /classify.
type classified struct {
	Index   int       `json:"index"`
	Label   string    `json:"label"`
	Probs   []float32 `json:"probs"`
	Classes int       `json:"num_classes"`
}

// NewClassify returns the protocol of POST /classify, as vLLM serves it.
func NewClassify() *api.Protocol {
	return api.Reading[[][]float32]{
		Accept: func(m *api.Model, f *api.Fields) ([][]float32, []api.Prompt) {
			texts, read := api.Inputs(m, f)
			var classes [][]float32
			for _, text := range texts {
				classes = append(classes, classesOf(text))
			}
			return classes, read
		},
		Answer: func(x *api.Answer, in [][]float32) any {
			return api.NewList(x, "classify-", len(in), func(i int) classified {
				return classified{i, labelsOf(in[i])[0].Label, in[i], len(in[i])}
			})
		},
	}.Protocol()
}

// found is an item of the answer to POST /v1/infer: the boxes in an image.
type found struct {
	Index int              `json:"index"`
	Boxes map[string][]box `json:"bounding_boxes"` // by what they contain
}

type box struct {
	MinX       float64 `json:"x_min"`
	MinY       float64 `json:"y_min"`
	MaxX       float64 `json:"x_max"`
	MaxY       float64 `json:"y_max"`
	Confidence float64 `json:"confidence"`
}

// NewInfer returns the protocol of POST /v1/infer, as NVIDIA's NIMs for images serve it:
// one box in each image, which depends on the bytes of the image.
func NewInfer() *api.Protocol {
	return api.Reading[[]string]{Accept: acceptImages, Answer: answerFound}.Protocol()
}

func acceptImages(_ *api.Model, f *api.Fields) (images []string, _ []api.Prompt) {
	for _, item := range f.List("input", "non-empty list of images") {
		url := item.Get("url")
		if string(item.GetStringBytes("type")) != "image_url" || url == nil || url.Type() != fastjson.TypeString {
			f.Fail("input", `list of {"type":"image_url","url":…}`)
		}
		images = append(images, string(url.GetStringBytes()))
	}
	return images, nil
}

func answerFound(x *api.Answer, images []string) any {
	bytes := 0
	data := api.Items(x, len(images), func(i int) found {
		bytes += len(images[i])
		h := random.Hash(0, []byte(images[i]))
		side := func(shift int) float64 { return float64(h>>shift&255) / 512 } // below a half
		one := box{side(0), side(8), 0.5 + side(16), 0.5 + side(24), 0.5}
		return found{i, map[string][]box{"element": {one}}}
	})
	return struct {
		Data  []found                `json:"data"`
		Usage map[string]json.Number `json:"usage"`
	}{data, map[string]json.Number{"images_size_mb": json.Number(strconv.FormatFloat(float64(bytes)/1e6, 'g', -1, 64))}}
}
