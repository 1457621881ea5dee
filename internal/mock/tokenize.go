package mock

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/valyala/fastjson"
)

// Sizes of the vocabulary: the first ids are single bytes, as in models that fall
// back to bytes; the others go to the pieces that were asked for.
const (
	byteIDs     = 256
	vocabSize   = 128_000
	longestWord = 32 // bytes; longer pieces (runs of blanks) are spelt in bytes
)

// vocabulary gives pieces of text ids, the same ones as long as no two pieces meet at
// one place, and knows them again. Its size is bounded. Safe for concurrent use.
type vocabulary struct {
	mu     sync.Mutex
	ids    map[string]int // guarded by mu
	pieces map[int]string // guarded by mu
}

// appendIDs appends the ids of a piece: one, or one a byte where the piece is too
// long or no id is left.
func (v *vocabulary) appendIDs(ids []int, piece string) []int {
	if len(piece) > 1 && len(piece) <= longestWord {
		if id, ok := v.id(piece); ok {
			return append(ids, id)
		}
	}
	for i := range len(piece) {
		ids = append(ids, int(piece[i]))
	}
	return ids
}

func (v *vocabulary) id(piece string) (int, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id, ok := v.ids[piece]; ok {
		return id, true
	}
	const room = vocabSize - byteIDs
	if len(v.ids) >= room/2 { // beyond it the search for a free place takes long
		return 0, false
	}
	if v.ids == nil {
		v.ids, v.pieces = map[string]int{}, map[int]string{}
	}
	place := int(hashText(0, []byte(piece)) % room)
	for v.pieces[byteIDs+place] != "" {
		place = (place + 1) % room
	}
	id := byteIDs + place
	v.ids[piece], v.pieces[id] = id, piece
	return id, true
}

// piece returns what an id stands for; "" = it was never given out.
func (v *vocabulary) piece(id int) string {
	if id < byteIDs {
		return string([]byte{byte(id)})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pieces[id]
}

// encode returns the ids of text: those of the server's tokenizer, or of its own
// vocabulary where that has none.
func (s *Server) encode(text string) []int {
	if own, ok := s.opt.Tokenizer.(codecTokenizer); ok {
		return own.codec.Encode(text)
	}
	ids := []int{}
	for _, piece := range s.opt.Tokenizer.Pieces(text) {
		ids = s.vocabulary.appendIDs(ids, piece)
	}
	return ids
}

// decode returns the text of ids. One that was never given out stands for a word of
// the server's prose, so that the tokens of any model have a text.
func (s *Server) decode(ids []int) string {
	if own, ok := s.opt.Tokenizer.(codecTokenizer); ok {
		return own.codec.Decode(ids)
	}
	var text []byte
	for _, id := range ids {
		piece := s.vocabulary.piece(id)
		if piece == "" {
			piece = s.prose.pieces[id%len(s.prose.pieces)].text
		}
		text = append(text, piece...)
	}
	return string(text)
}

// piece returns the text of one id.
func (s *Server) piece(id int) string {
	if own, ok := s.opt.Tokenizer.(codecTokenizer); ok {
		return own.codec.Decode([]int{id})
	}
	return s.vocabulary.piece(id)
}

// tokenized is a request for tokens, with its answer.
type tokenized struct {
	texts []string
	ids   [][]int // of each text
	tei   bool
	strs  bool // the answer repeats the text of each token
	batch bool // several texts were given
}

// newTokenize is POST /tokenize: a body with inputs speaks TEI's API, another one
// that of vLLM, or SGLang's with a list of prompts.
func newTokenize() protocol {
	return reading[tokenized]{accept: acceptTokenize, answer: appendTokenized, apart: true}
}

func acceptTokenize(s *Server, f *fields) (tokenized, []prompt) {
	in := tokenized{strs: f.boolean("return_token_strs")}
	switch f.oneOf("messages", "inputs") {
	case "messages":
		in.texts, _ = inputs(s, f)
	case "inputs":
		in.texts, in.batch = f.texts("inputs")
		in.tei = true
	default:
		in.texts, in.batch = f.texts("prompt")
	}
	if f.err != nil {
		return in, nil
	}
	for _, text := range in.texts {
		in.ids = append(in.ids, s.encode(text))
	}
	return in, s.read(in.texts)
}

func appendTokenized(dst []byte, x *exchange, in tokenized) []byte {
	if in.tei {
		x.teiHead()
		return in.appendTEI(dst, x.s)
	}
	if in.batch {
		return in.appendBatch(dst, x)
	}
	ids := in.ids[0][:x.items(len(in.ids[0]))]
	dst = strconv.AppendInt(append(dst, `{"count":`...), int64(len(ids)), 10)
	dst = strconv.AppendInt(append(dst, `,"max_model_len":`...), int64(x.s.opt.MaxModelLen), 10)
	dst = appendInts(append(dst, `,"tokens":`...), ids)
	dst = append(dst, `,"token_strs":`...)
	if !in.strs {
		return append(dst, "null}"...)
	}
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, x.s.piece(id))
	}
	return append(dst, "]}"...)
}

// appendBatch answers for several prompts, as SGLang does.
func (in *tokenized) appendBatch(dst []byte, x *exchange) []byte {
	dst = append(dst, `{"tokens":[`...)
	counts := make([]int, len(in.ids))
	for i, ids := range in.ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInts(dst, ids)
		counts[i] = len(ids)
	}
	dst = appendInts(append(dst, `],"count":`...), counts)
	dst = strconv.AppendInt(append(dst, `,"max_model_len":`...), int64(x.s.opt.MaxModelLen), 10)
	return append(dst, '}')
}

// appendTEI answers with every token and where it stands.
func (in *tokenized) appendTEI(dst []byte, s *Server) []byte {
	dst = append(dst, '[')
	for i, ids := range in.ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		at := 0
		for k, id := range ids {
			if k > 0 {
				dst = append(dst, ',')
			}
			piece := s.piece(id)
			dst = fmt.Appendf(dst, `{"id":%d,"text":`, id)
			dst = appendJSONString(dst, piece)
			dst = fmt.Appendf(dst, `,"special":false,"start":%d,"stop":%d}`, at, at+len(piece))
			at += len(piece)
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

func appendInts(dst []byte, ids []int) []byte {
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return append(dst, ']')
}

// detokenized is the answer to a request for texts.
type detokenized struct {
	texts []string
	batch bool // several lists were given
}

// newDetokenize is POST /detokenize as vLLM serves it, with texts for lists of lists as
// SGLang does.
func newDetokenize() protocol {
	return reading[detokenized]{
		accept: func(s *Server, f *fields) (in detokenized, read []prompt) {
			v, _ := f.get("tokens")
			var ok bool
			if in.texts, in.batch, ok = s.decodeLists(v); !ok {
				f.fail("tokens", "list of token ids")
			}
			return in, s.read(in.texts)
		},
		answer: func(dst []byte, x *exchange, in detokenized) []byte {
			texts := in.texts[:x.items(len(in.texts))]
			if in.batch {
				return append(appendStrings(append(dst, `{"text":`...), texts), '}')
			}
			return append(appendJSONString(append(dst, `{"prompt":`...), strings.Join(texts, "")), '}')
		},
		apart: true,
	}
}

// newTEIDecode is POST /decode.
func newTEIDecode() protocol {
	return reading[[][]byte]{
		accept: func(s *Server, f *fields) ([][]byte, []prompt) {
			v, _ := f.get("ids")
			texts, _, ok := s.decodeLists(v)
			if !ok {
				f.fail("ids", "list of token ids")
			}
			var items [][]byte
			for _, text := range texts {
				items = append(items, appendJSONString(nil, text))
			}
			return items, s.read(texts)
		},
		answer: appendTEI, refuse: refuseTEI, apart: true,
	}
}

func appendStrings(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, text)
	}
	return append(dst, ']')
}

// decodeLists returns the text of a list of ids, or the texts of a list of such
// lists, which is nested then.
func (s *Server) decodeLists(v *fastjson.Value) (texts []string, nested, ok bool) {
	if v == nil || v.Type() != fastjson.TypeArray {
		return nil, false, false
	}
	items := v.GetArray()
	if len(items) == 0 || items[0].Type() != fastjson.TypeArray {
		text, ok := s.decodeList(items)
		return []string{text}, false, ok
	}
	for _, item := range items {
		text, ok := s.decodeList(item.GetArray())
		if !ok {
			return nil, true, false
		}
		texts = append(texts, text)
	}
	return texts, true, true
}

func (s *Server) decodeList(items []*fastjson.Value) (string, bool) {
	ids := make([]int, len(items))
	for i, v := range items {
		id, err := v.Int()
		if err != nil || id < 0 {
			return "", false
		}
		ids[i] = id
	}
	return s.decode(ids), true
}
