package answer

import (
	"net/http"
	"sync"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// Grammar describes the responses of an API. What is the same for all APIs is done
// by [Decoder]: status, errors, truncation, emptiness, warnings.
type Grammar struct {
	// Dialect returns a reader of documents that adds to b.
	Dialect func(b *Builder) Dialect
	Lists   bool // a document may be a list
	Strings bool // a document may be a string
	Folds   bool // lists of numbers are only counted; see [countNumbers]
	Shapes  bool // events of one shape do the same; see [Decoder.learn]
	// Role returns the meaning of the string or number at a place of an event, if the
	// API is not OpenAI's. Effects are then learned from events that have emitted
	// something, because reading those also records what they belong to.
	Role func(Place) Role
	End  EndSignal // how a complete stream ends
}

// Dialect reads the responses of one API, one after the other. Its state is what
// the documents of one response have in common; a dialect may also implement
// [HeadReader], [TextReader] and [BinaryReader].
type Dialect interface {
	// Reset prepares for another response. Buffers may be kept.
	Reset()
	// Document adds a document to the answer. It sets Builder.Answered if the document
	// is part of an answer, and Builder.Terminal if nothing follows it. It returns
	// false if the API has no such document.
	Document(doc *Document) bool
}

// HeadReader is a dialect that reads the header of a success.
type HeadReader interface{ Head(h http.Header) }

// TextReader is a dialect with answers in plain text.
type TextReader interface{ Text(body []byte) }

// BinaryReader is a dialect with answers that are neither JSON nor text.
type BinaryReader interface{ Binary(resp *bench.Response) }

// Stateless returns a dialect that reads every document by itself.
func Stateless(read func(b *Builder, doc *Document) bool) func(b *Builder) Dialect {
	return func(b *Builder) Dialect { return &statelessDialect{b, read} }
}

type statelessDialect struct {
	b    *Builder
	read func(b *Builder, doc *Document) bool
}

func (*statelessDialect) Reset() {}

func (d *statelessDialect) Document(doc *Document) bool { return d.read(d.b, doc) }

// EndSignal is how a client knows that a stream is complete.
type EndSignal uint8

// The signals of APIs.
const (
	EndMarker   EndSignal = iota // [DONE]; in practice also all choices having finished
	EndTerminal                  // the last document sets Builder.Terminal, or all choices have finished
	EndOfBody                    // nothing but the end of the body
)

// Document is one JSON document of a response.
type Document struct {
	Event string          // Name of the server-sent event; empty elsewhere
	Value *fastjson.Value // an object, or a list or a string if the grammar allows it
	Data  []byte          // its text
	Size  int             // Length of the text as it was sent
}

// Kind returns the type of an event: its member, or else the name of the event.
// Some servers send only one of them.
func (doc *Document) Kind() string {
	if kind := Str(doc.Value.Get("type")); len(kind) > 0 {
		return string(kind)
	}
	return doc.Event
}

// EachObject reads a document that is one object, or a list of them, with the
// position of each. It returns false if it is neither.
func (doc *Document) EachObject(read func(v *fastjson.Value, position int, data []byte)) bool {
	if doc.Value.Type() == fastjson.TypeObject {
		read(doc.Value, 0, doc.Data)
		return true
	}
	list := doc.Value.GetArray()
	for i, v := range list {
		if v.Type() != fastjson.TypeObject {
			return false
		}
		read(v, i, doc.Data)
	}
	return len(list) > 0
}

// keepDecoder is the size of a response, in bytes, beyond which its decoder is
// left to the garbage collector instead of being used again.
const keepDecoder = 1 << 20

// Decode returns the Decode function of an endpoint type. It keeps decoders between
// responses, for their buffers.
func Decode(g *Grammar) func(resp *bench.Response, streaming bool) bench.Answer {
	decoders := sync.Pool{New: func() any { return NewDecoder(g) }}
	return func(resp *bench.Response, streaming bool) bench.Answer {
		d, _ := decoders.Get().(*Decoder)
		d.Reset(resp)
		d.decode(resp, streaming)
		a := d.Result()
		if d.size <= keepDecoder {
			d.release()
			d.doc = Document{}
			decoders.Put(d)
		}
		return a
	}
}
