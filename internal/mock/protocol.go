package mock

import (
	"net/http"

	"aiperfd/internal/mock/apierror"
)

// protocol is one API: how a request is read, and how the answer is written.
// Implementations are made once, for all requests.
//
// To add an API, write one file with a protocol and add its rows to [routes].
type protocol interface {
	// read parses a request, and checks it against the server's limits. r is nil
	// in the front, which serves OpenAI's text routes alone.
	read(m *model, r *http.Request, body []byte) (*textRequest, *apierror.Error)
	// reasons says whether reasoning is told apart from the answer.
	reasons() bool
	// document appends the answer in one piece and returns its content type.
	document(dst []byte, x *answer) ([]byte, string)
	// refusal appends the body of an error.
	refusal(dst []byte, e *apierror.Error) []byte
	// script says how streams are written; nil = read never asks for one.
	script() *script
}

// chooser is a protocol that shares its path with others.
type chooser interface {
	protocol
	// choose returns the protocol that the body of a request speaks.
	choose(m *model, body []byte) protocol
}

// script writes the events of a stream: each function adds whole events to e.b,
// every one followed by [events.end]. All but content may be nil: there is nothing
// to add.
type script struct {
	contentType string
	// lines: events are lines. They end with one line end, and there are no comments.
	lines bool
	// wrap encloses b[start:], a whole event, in what carries it; nil = nothing does.
	wrap func(b []byte, start int) []byte
	// unframed: the body is no stream of events, so nothing may be put between them.
	unframed bool
	// open prepares what all events have in common.
	open func(e *events)
	// begin adds what comes right after the head of the response.
	begin func(e *events) error
	// first adds what comes with the first token, before it.
	first func(e *events) error
	// content adds an event with the tokens from … to−1 of c; last is true if c
	// ends with them.
	content func(e *events, c *choice, from, to int, last bool) error
	// finish adds what follows the last token of c.
	finish func(e *events, c *choice) error
	// close adds what comes when all choices have finished.
	close func(e *events) error
	// fail adds what the server says when it breaks down in the middle.
	fail func(e *events, apology *apierror.Error) error
}
