package endpoint

import (
	"net/http"

	"github.com/valyala/fastjson"

	"aiperfd/internal/engine/bench"
)

// grammar is what the documents of an API mean: the events of its streams, and its
// answers that come in one piece. Everything else about a response is the same for
// all APIs and done by [decoder]: status, errors, truncation, emptiness, warnings.
type grammar struct {
	// read takes one JSON document into the answer: d.emit and its relatives for
	// content, d.state for a choice, d.readUsage for counts. It sets d.answers if
	// the document belongs to an answer, and d.terminal if nothing follows it. It
	// returns false if the API has no such document.
	read func(d *decoder, doc *document) bool
	// head takes what the head of a success says; nil = nothing.
	head func(d *decoder, h http.Header)
	// text takes an answer in plain text; nil = the API has none.
	text func(d *decoder, body []byte)
	// binary takes an answer that is neither; nil = the API has none.
	binary  func(d *decoder, resp *bench.Response)
	lists   bool // a document may be a list
	strings bool // a document may be a string
	folds   bool // lists of numbers are only counted; see [countNumbers]
	shapes  bool // events of one shape do the same; see [decoder.learn]
	// role says what the string or number at a place of an event means, where the
	// API is not OpenAI's. Effects are then learned from events that have emitted
	// something, because reading those also notes what they belong to.
	role func(place) role
	end  endSignal // what says that a stream is whole
}

// endSignal says how a client knows that it was sent a whole stream.
type endSignal uint8

const (
	endMarker   endSignal = iota // [DONE]; in practice also all choices having finished
	endTerminal                  // the last document says so: d.terminal, or all choices have finished
	endOfBody                    // nothing but the end of the body
)

// document is one JSON document of a response.
type document struct {
	event string          // name of the server-sent event; empty elsewhere
	value *fastjson.Value // an object, or a list where the grammar allows it
	data  []byte          // as it was sent
}

// decodeWith returns the Decode function of a [Kind].
func decodeWith(g *grammar) func(resp *bench.Response, streaming bool) bench.Answer {
	return func(resp *bench.Response, streaming bool) bench.Answer {
		d, _ := decoders.Get().(*decoder)
		d.reset(g, resp)
		d.decode(resp, streaming)
		a := d.answer()
		if d.size <= keepDecoder {
			d.a, d.header = bench.Answer{}, nil // keep nothing of the response alive
			decoders.Put(d)
		}
		return a
	}
}

// parse reads one JSON document. It returns false when it is none of the API's;
// d.valid then tells whether it is JSON at all.
func (d *decoder) parse(event string, data []byte) bool {
	d.sent = len(data)
	if d.grammar.folds {
		d.folded = countNumbers(d.folded[:0], data)
		data = d.folded
	}
	d.size += len(data)
	v := d.json.parse(data)
	return v != nil && d.take(v, event, data)
}

// take is [decoder.parse] for data that was parsed.
func (d *decoder) take(v *fastjson.Value, event string, data []byte) bool {
	d.valid++
	switch v.Type() {
	case fastjson.TypeObject:
	case fastjson.TypeArray:
		if !d.grammar.lists {
			return false
		}
	case fastjson.TypeString:
		if !d.grammar.strings {
			return false
		}
	case fastjson.TypeNull, fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		return false
	}
	if d.json.repaired {
		d.warn(warnRepairedEvent)
	}
	if d.json.invalidUTF8 {
		d.warn(warnInvalidUTF8)
	}
	return d.grammar.read(d, &document{event, v, data})
}

// item records content that belongs to no choice.
func (d *decoder) item(kind bench.ChunkKind, size int) {
	d.a.Chunks = append(d.a.Chunks, bench.Chunk{At: d.at, Kind: kind, Bytes: int32(size), Read: d.read})
}

// eachObject reads a document that is one object, or a list of them, with the
// position of each. It returns false if it is neither.
func eachObject(doc *document, read func(v *fastjson.Value, position int, data []byte)) bool {
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
