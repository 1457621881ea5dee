package http1

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrMalformed is why a response cannot be read.
var ErrMalformed = errors.New("malformed HTTP response")

// ErrTooLarge is why a response is not read on: a part of it that is no body is
// over a limit. It is an [ErrMalformed], too.
var ErrTooLarge = fmt.Errorf("%w", ErrMalformed)

// MaxHead is the size in bytes that the head of a response, and the trailers of
// one, may have; interim responses count with the head that follows them.
const MaxHead = 1 << 20

// framing says where a body ends.
type framing uint8

const (
	framingNone   framing = iota // there is none
	framingLength                // after a number of bytes
	framingChunks                // after the last chunk and the trailers
	framingClose                 // with the connection
)

// state is what the parser waits for.
type state uint8

const (
	stateHead state = iota
	stateBody
	stateDone
)

// Parser reads the responses of one connection, one after the other. The zero
// Parser, and that of [Heads.Parser], is ready for the first; [Parser.Reset] makes it ready for the next. It
// is not safe for concurrent use.
type Parser struct {
	state   state
	chunk   chunkState
	noBody  bool
	started bool
	excess  bool
	err     error

	head    []byte // bytes of an unfinished head; kept from call to call
	scanned int    // start of the unfinished line in head
	skipped int    // bytes of interim responses

	cur   parsed // the head of this response
	last  parsed // the last head that was parsed: the next is often the same
	heads *Heads // of all connections; nil = there is none

	left    uint64 // bytes of the body or of the chunk to come
	digits  int    // of the chunk's size
	line    int    // bytes of the chunk's size line
	trailer int    // bytes of the trailers
	extra   uint64 // bytes of all size lines and of the ends of chunks
	data    uint64 // bytes of all chunks
}

// parsed is what a head says. It does not change.
type parsed struct {
	text    string
	status  int
	header  http.Header
	framing framing
	length  uint64
	keep    bool // the connection may be used again
}

// Reset makes the parser ready for the next response of the connection. noBody
// says that the response is one to a request for a head alone.
func (p *Parser) Reset(noBody bool) {
	*p = Parser{noBody: noBody, head: p.head[:0], last: p.last, heads: p.heads}
}

// Feed takes the bytes of one read and returns those of them that belong to the
// body, with transfer codings undone. It uses b as its memory: what it returns is
// a part of b, and b is changed. The error is [ErrMalformed]; the bytes that came
// before the fault are returned with it. Nothing is allocated but the header.
func (p *Parser) Feed(b []byte) ([]byte, error) {
	if p.err != nil {
		return nil, p.err
	}
	if len(b) > 0 {
		p.started = true
	}
	var body []byte
	for p.state == stateHead && len(b) > 0 && p.err == nil {
		b, p.err = p.feedHead(b)
	}
	if p.err == nil && p.state == stateBody {
		body, b, p.err = p.feedBody(b)
	}
	if p.state == stateDone && len(b) > 0 {
		p.excess = true
	}
	return body, p.err
}

// feedBody takes bytes after the head; it returns those of the body, and those
// after its end.
func (p *Parser) feedBody(b []byte) (body, rest []byte, err error) {
	switch p.cur.framing {
	case framingLength:
		n := int(min(p.left, uint64(len(b))))
		if p.left -= uint64(n); p.left == 0 {
			p.state = stateDone
		}
		return b[:n], b[n:], nil
	case framingChunks:
		return p.feedChunks(b)
	case framingClose:
		return b, nil, nil
	case framingNone:
	}
	return nil, b, nil
}

// End tells the parser that the peer has closed the connection. It returns nil
// if the response is complete, [io.EOF] if none had begun, and an error that is
// [io.ErrUnexpectedEOF] if it was cut.
func (p *Parser) End() error {
	switch {
	case p.err != nil:
		return p.err
	case p.state == stateDone:
		return nil
	case p.state == stateBody && p.cur.framing == framingClose:
		p.state = stateDone
		return nil
	case !p.started:
		return io.EOF
	case p.state == stateHead:
		return fmt.Errorf("connection closed within the response head: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("connection closed within the response body: %w", io.ErrUnexpectedEOF)
}

// HasHead reports whether the head is complete.
func (p *Parser) HasHead() bool { return p.state != stateHead }

// Chunked reports whether a body is under way that ends with its last chunk.
func (p *Parser) Chunked() bool { return p.state == stateBody && p.cur.framing == framingChunks }

// Done reports whether the response is complete.
func (p *Parser) Done() bool { return p.state == stateDone }

// Reusable reports whether the response is complete and the connection may carry
// another request: both sides want it, and nothing came after the end.
func (p *Parser) Reusable() bool {
	return p.state == stateDone && p.cur.keep && !p.excess && p.err == nil
}

// Status returns the status code; 0 before HasHead.
func (p *Parser) Status() int { return p.cur.status }

// Header returns the header; nil before HasHead. Responses with the same head
// share it: it must not be changed.
func (p *Parser) Header() http.Header { return p.cur.header }
