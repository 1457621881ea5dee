package mock

import (
	"net/http"
)

// protocol is one API: how a request is read, and how the answer is written.
// Implementations are stateless.
//
// To add an API, write one file with a protocol and add its rows to [routes].
type protocol interface {
	// read parses a request, and checks it against the server's limits. r is nil
	// in the front, which serves OpenAI's text routes alone.
	read(s *Server, r *http.Request, body []byte) (*textRequest, *apiError)
	// reasons says whether reasoning is told apart from the answer.
	reasons() bool
	// document appends the answer in one piece and returns its content type.
	document(dst []byte, x *exchange) ([]byte, string)
	// refusal appends the body of an error.
	refusal(dst []byte, e *apiError) []byte

	// What follows writes a stream; [document] has it for APIs without streams.
	// Each method adds whole events with [events.end], which writes them.

	// streamType is the content type.
	streamType() string
	// open prepares what all events have in common.
	open(e *events)
	// begin adds what comes right after the head of the response.
	begin(e *events) error
	// first adds what comes with the first token, before it.
	first(e *events) error
	// content adds an event with the tokens from … to−1 of c; last is true if c
	// ends with them.
	content(e *events, c *choice, from, to int, last bool) error
	// finish is called after the last token of c.
	finish(e *events, c *choice) error
	// close adds what comes when all choices have finished.
	close(e *events) error
	// fail adds what the server says when it breaks down in the middle.
	fail(e *events, apology *apiError) error
}

// single is embedded by protocols that never stream and never reason.
type single struct{}

func (single) reasons() bool { return false }

func (single) refusal(dst []byte, e *apiError) []byte { return appendError(dst, e) }

func (single) streamType() string { return "" }

func (single) open(*events) {}

func (single) begin(*events) error { return nil }

func (single) first(*events) error { return nil }

func (single) content(*events, *choice, int, int, bool) error { return nil }

func (single) finish(*events, *choice) error { return nil }

func (single) close(*events) error { return nil }

func (single) fail(*events, *apiError) error { return nil }
