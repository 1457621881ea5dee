package endpoint

import (
	"net/http"
	"sync"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// grammar describes the responses of an API. What is the same for all APIs is done
// by [decoder]: status, errors, truncation, emptiness, warnings.
type grammar struct {
	// dialect returns a reader of documents that adds to b.
	dialect func(b *builder) dialect
	lists   bool // a document may be a list
	strings bool // a document may be a string
	folds   bool // lists of numbers are only counted; see [appendFolded]
	shapes  bool // events of one shape do the same; see [decoder.learn]
	// role says what the string or number at a place of an event means, where the
	// API is not OpenAI's. Effects are then learned from events that have emitted
	// something, because reading those also notes what they belong to.
	role func(place) role
	end  endSignal // what says that a stream is whole
}

// dialect reads the responses of one API, one after the other. Its state is what
// the documents of one response have in common; a dialect may also implement
// [headReader], [textReader] and [binaryReader].
type dialect interface {
	// reset prepares for another response. Buffers may be kept.
	reset()
	// document adds a document to the answer. It sets builder.answered if the document
	// is part of an answer, and builder.terminal if nothing follows it. It returns
	// false if the API has no such document.
	document(doc *document) bool
}

// headReader is a dialect that reads the header of a success.
type headReader interface{ head(h http.Header) }

// textReader is a dialect with answers in plain text.
type textReader interface{ text(body []byte) }

// binaryReader is a dialect with answers that are neither JSON nor text.
type binaryReader interface{ binary(resp *bench.Response) }

// stateless returns a dialect that reads every document by itself.
func stateless(read func(b *builder, doc *document) bool) func(b *builder) dialect {
	return func(b *builder) dialect { return &statelessDialect{b, read} }
}

type statelessDialect struct {
	b    *builder
	read func(b *builder, doc *document) bool
}

func (*statelessDialect) reset() {}

func (d *statelessDialect) document(doc *document) bool { return d.read(d.b, doc) }

// endSignal says how a client knows that it was sent a whole stream.
type endSignal uint8

const (
	endMarker   endSignal = iota // [DONE]; in practice also all choices having finished
	endTerminal                  // the last document says so: builder.terminal, or all choices have finished
	endOfBody                    // nothing but the end of the body
)

// document is one JSON document of a response.
type document struct {
	event string          // name of the server-sent event; empty elsewhere
	value *fastjson.Value // an object, or a list or a string if the grammar allows it
	data  []byte          // its text
	size  int             // length of the text as it was sent
}

// kind returns the type of an event: its member, or else the name of the event.
// Some servers send only one of them.
func (doc *document) kind() string {
	if kind := str(doc.value.Get("type")); len(kind) > 0 {
		return string(kind)
	}
	return doc.event
}

// eachObject reads a document that is one object, or a list of them, with the
// position of each. It returns false if it is neither.
func (doc *document) eachObject(read func(v *fastjson.Value, position int, data []byte)) bool {
	if doc.value.Type() == fastjson.TypeObject {
		read(doc.value, 0, doc.data)
		return true
	}
	list := doc.value.GetArray()
	for i, v := range list {
		if v.Type() != fastjson.TypeObject {
			return false
		}
		read(v, i, doc.data)
	}
	return len(list) > 0
}

// keepDecoder is the size of a response, in bytes, beyond which its decoder is
// left to the garbage collector instead of being used again.
const keepDecoder = 1 << 20

// decodeWith returns the Decode function of a [Kind]. It keeps decoders between
// responses, for their buffers.
func decodeWith(g *grammar) func(resp *bench.Response, streaming bool) bench.Answer {
	decoders := sync.Pool{New: func() any { return newDecoder(g) }}
	return func(resp *bench.Response, streaming bool) bench.Answer {
		d, _ := decoders.Get().(*decoder)
		d.reset(resp)
		d.decode(resp, streaming)
		a := d.result()
		if d.size <= keepDecoder {
			d.release()
			decoders.Put(d)
		}
		return a
	}
}
