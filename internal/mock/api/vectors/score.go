package vectors

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/embedding"
	"aiperfd/internal/mock/jsonappend"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/seed"
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
	return max(0, embedding.Cosine(embedding.Vector(a, embedding.DefaultDim), embedding.Vector(b, embedding.DefaultDim)))
}

// rankBy scores texts by their similarity to a query, the best first.
func rankBy(query string, texts []string) []scored {
	about := embedding.Vector(query, embedding.DefaultDim)
	out := make([]scored, len(texts))
	for i, text := range texts {
		out[i] = scored{i, text, max(0, embedding.Cosine(about, embedding.Vector(text, embedding.DefaultDim)))}
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

// NewScore returns the protocol of POST /score, as vLLM serves it, with all names of its
// members.
func NewScore() api.Protocol {
	return api.Reading[[]scored]{
		Accept: func(m *api.Model, f *api.Fields) ([]scored, []api.Prompt) {
			names := [2]string{
				cmp.Or(f.OneOf("text_1", "data_1", "queries"), "text_1"), cmp.Or(f.OneOf("text_2", "data_2", "documents", "items"), "text_2"),
			}
			left, _ := f.Texts(names[0])
			right, _ := f.Texts(names[1])
			if f.Err == nil && (len(left) == 0 || len(right) == 0 || len(left) > 1 && len(left) != len(right)) {
				f.Err = apierror.BadRequest(names[0], fmt.Sprintf("Input lengths must be either 1:1, 1:N or N:N, got %d:%d.", len(left), len(right)))
			}
			if f.Err != nil {
				return nil, nil
			}
			out, texts := make([]scored, len(right)), make([]string, len(right))
			for i, text := range right {
				other := left[min(i, len(left)-1)]
				out[i] = scored{i, text, similarity(other, text)}
				texts[i] = other + " " + text
			}
			return out, m.Read(texts)
		},
		Answer: func(dst []byte, x *api.Answer, in []scored) []byte {
			dst = x.AppendListHead(dst, "score-")
			for i := range x.Items(len(in)) {
				dst = appendIndex(dst, i, in[i].index)
				dst = append(dst, `,"object":"score","score":`...)
				dst = append(jsonappend.Number(dst, in[i].score), '}')
			}
			return x.AppendListEnd(dst)
		},
	}
}

// appendIndex appends the beginning of the object of an item with its index, after a
// comma unless it is the first.
func appendIndex(dst []byte, position, index int) []byte {
	if position > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"index":`...)
	return strconv.AppendInt(dst, int64(index), 10)
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
func NewRerank() api.Protocol {
	return api.Reading[ranked]{Accept: acceptRerank, Answer: appendRanked}
}

func acceptRerank(m *api.Model, f *api.Fields) (ranked, []api.Prompt) {
	member := f.OneOf("texts", "documents")
	in := ranked{tei: member == "texts", texts: true, raw: f.Boolean("raw_scores")}
	query, many := f.Texts("query")
	if many {
		f.Fail("query", "string")
	}
	texts, _ := f.Texts(cmp.Or(member, "documents"))
	top := len(texts)
	if in.tei {
		in.texts = f.Boolean("return_text")
	} else {
		if n, ok := f.Integer("top_n"); ok && n > 0 {
			top = min(n, top)
		}
		if _, ok := f.Get("return_documents"); ok {
			in.texts = f.Boolean("return_documents")
		}
	}
	if len(texts) == 0 && f.Err == nil {
		f.Err = apierror.BadRequest(member, "At least one text is needed.")
	}
	if f.Err != nil {
		return in, nil
	}
	in.items = rankBy(query[0], texts)[:top]
	return in, m.Read(pairTexts(query[0], texts))
}

func appendRanked(dst []byte, x *api.Answer, in ranked) []byte {
	items := in.items[:x.Items(len(in.items))]
	if in.tei {
		teiHead(x)
		dst = append(dst, '[')
		for i := range items {
			dst = appendIndex(dst, i, items[i].index)
			if in.texts {
				dst = jsonappend.String(append(dst, `,"text":`...), items[i].text)
			}
			score := items[i].score
			if in.raw {
				score = logit(score)
			}
			dst = append(jsonappend.Number(append(dst, `,"score":`...), score), '}')
		}
		return append(dst, ']')
	}
	dst = jsonappend.String(append(dst, `{"id":`...), "rerank-"+x.RequestID())
	dst = jsonappend.String(append(dst, `,"model":`...), x.Request.Model)
	if x.Options.Usage != options.UsageNever {
		dst = x.AppendInputUsage(append(dst, ','))
	}
	dst = append(dst, `,"results":[`...)
	for i := range items {
		dst = appendIndex(dst, i, items[i].index)
		if in.texts {
			dst = jsonappend.String(append(dst, `,"document":{"text":`...), items[i].text)
			dst = append(dst, '}')
		}
		dst = append(jsonappend.Number(append(dst, `,"relevance_score":`...), items[i].score), '}')
	}
	return append(dst, "]}"...)
}

// logit returns the output of a model before the sigmoid that turns it into a score, to
// four digits.
func logit(score float64) float64 {
	const edge = 1e-4
	score = min(1-edge, max(edge, score))
	return math.Round(math.Log(score/(1-score))*1e4) / 1e4
}

// NewNIMRanking returns the protocol of POST /v1/ranking, as NVIDIA's NIMs serve it.
func NewNIMRanking() api.Protocol {
	return api.Reading[[]scored]{
		Accept: func(m *api.Model, f *api.Fields) ([]scored, []api.Prompt) {
			query, many := f.Texts("query")
			if many {
				f.Fail("query", "dictionary with a text")
			}
			passages, _ := f.Texts("passages")
			if len(passages) == 0 && f.Err == nil {
				f.Err = apierror.BadRequest("passages", "passages should have at least 1 item.")
			}
			if f.Err != nil {
				return nil, nil
			}
			return rankBy(query[0], passages), m.Read(pairTexts(query[0], passages))
		},
		Answer: func(dst []byte, x *api.Answer, in []scored) []byte {
			dst = append(dst, `{"rankings":[`...)
			for i := range x.Items(len(in)) {
				dst = appendIndex(dst, i, in[i].index)
				dst = append(jsonappend.Number(append(dst, `,"logit":`...), logit(in[i].score)), '}')
			}
			dst = append(dst, ']')
			if x.Options.Usage != options.UsageNever {
				dst = x.AppendInputUsage(append(dst, ','))
			}
			return append(dst, '}')
		},
	}
}

// classesOf returns the probabilities of two classes: the similarity of a text to
// positive and to negative words.
func classesOf(text string) []float32 {
	const sharpness = 8
	bad, good := similarity(text, "bad poor wrong awful terrible broken worst hate"), similarity(text, "good great right lovely excellent working best love")
	p := 1 / (1 + math.Exp(-sharpness*(good-bad)))
	return []float32{float32(1 - p), float32(p)}
}

// NewClassify returns the protocol of POST /classify, as vLLM serves it.
func NewClassify() api.Protocol {
	return api.Reading[[][]float32]{
		Accept: func(m *api.Model, f *api.Fields) ([][]float32, []api.Prompt) {
			texts, read := api.Inputs(m, f)
			var classes [][]float32
			for _, text := range texts {
				classes = append(classes, classesOf(text))
			}
			return classes, read
		},
		Answer: func(dst []byte, x *api.Answer, in [][]float32) []byte {
			dst = x.AppendListHead(dst, "classify-")
			for i := range x.Items(len(in)) {
				dst = appendIndex(dst, i, i)
				dst = append(dst, `,"label":"`+label(in[i])+`","probs":`...)
				dst = jsonappend.Floats(dst, in[i])
				dst = append(dst, `,"num_classes":2}`...)
			}
			return x.AppendListEnd(dst)
		},
	}
}

// label returns the name of the more probable of two classes.
func label(probs []float32) string {
	if probs[1] > probs[0] {
		return "LABEL_1"
	}
	return "LABEL_0"
}

// NewInfer returns the protocol of POST /v1/infer, as NVIDIA's NIMs for images serve it:
// one box in each image, which depends on the bytes of the image.
func NewInfer() api.Protocol {
	return api.Reading[[]string]{
		Accept: func(m *api.Model, f *api.Fields) ([]string, []api.Prompt) {
			v, _ := f.Get("input")
			items := v.GetArray()
			if len(items) == 0 {
				f.Fail("input", "non-empty list of images")
				return nil, nil
			}
			images := make([]string, len(items))
			for i, item := range items {
				url := item.Get("url")
				if string(item.GetStringBytes("type")) != "image_url" || url == nil || url.Type() != fastjson.TypeString {
					f.Fail("input", `list of {"type":"image_url","url":…}`)
					return nil, nil
				}
				images[i] = string(url.GetStringBytes())
			}
			return images, nil
		},
		Answer: appendFound,
	}
}

func appendFound(dst []byte, x *api.Answer, images []string) []byte {
	bytes := 0
	dst = append(dst, `{"data":[`...)
	for i := range x.Items(len(images)) {
		h := seed.Hash(0, []byte(images[i]))
		side := func(shift int) float64 { return float64(h>>shift&255) / 512 } // below a half
		dst = appendIndex(dst, i, i)
		dst = append(dst, `,"bounding_boxes":{"element":[{"x_min":`...)
		dst = jsonappend.Number(dst, side(0))
		dst = jsonappend.Number(append(dst, `,"y_min":`...), side(8))
		dst = jsonappend.Number(append(dst, `,"x_max":`...), 0.5+side(16))
		dst = jsonappend.Number(append(dst, `,"y_max":`...), 0.5+side(24))
		dst = append(dst, `,"confidence":0.5}]}}`...)
		bytes += len(images[i])
	}
	dst = append(dst, `],"usage":{"images_size_mb":`...)
	return append(jsonappend.Number(dst, float64(bytes)/1e6), "}}"...)
}
