package api

import (
	"net/http"
	"time"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jobs"
)

// Protocol is one API: it reads requests and writes answers. One value serves all
// requests.
//
// To add an API, write one file with a protocol in the package of its family and add its
// rows to the table of routes of the server.
type Protocol interface {
	// Read parses a request and checks it against the server's limits. r is nil in the
	// front, which serves only OpenAI's text routes.
	Read(m *Model, r *http.Request, body []byte) (*Request, *apierror.Error)
	// Reasons reports whether reasoning is separate from the answer.
	Reasons() bool
	// Document appends the answer in one piece and returns its content type.
	Document(dst []byte, x *Answer) ([]byte, string)
	// Refusal appends the body of an error.
	Refusal(dst []byte, e *apierror.Error) []byte
	// Script returns the events of streams; nil = the API has no streams.
	Script() *Script
}

// Chooser is a protocol that shares its path with other protocols.
type Chooser interface {
	Protocol
	// Choose returns the protocol of the body of a request.
	Choose(m *Model, body []byte) Protocol
}

// Script writes the events of a stream. Each function adds whole events to e.B, every
// one followed by [Events.End]. All but Content may be nil, which adds nothing.
type Script struct {
	ContentType string
	// Lines makes events lines, which end with one line end. There are no comments.
	Lines bool
	// Wrap encloses b[start:], a whole event, in a frame; nil = no frame.
	Wrap func(b []byte, start int) []byte
	// Unframed means that the body is no stream of events, so nothing may be put
	// between its parts.
	Unframed bool
	// Open prepares the common beginning of all events.
	Open func(e *Events)
	// Begin adds the events right after the head of the response.
	Begin func(e *Events) error
	// First adds the events right before the first token.
	First func(e *Events) error
	// Content adds an event with the tokens from … to−1 of c; last is true if c
	// ends with them.
	Content func(e *Events, c *Choice, from, to int, last bool) error
	// Finish adds the events after the last token of c.
	Finish func(e *Events, c *Choice) error
	// Close adds the events after the end of all choices.
	Close func(e *Events) error
	// Fail adds the error event of a server that fails during the stream.
	Fail func(e *Events, failure *apierror.Error) error
}

// JobProtocol is an API whose requests start jobs.
type JobProtocol interface {
	Protocol
	// Jobs returns the queue of the jobs.
	Jobs() *jobs.Queue
	// Plan draws the output of a job and the time that it takes.
	Plan(x *Answer, j *jobs.Job)
	// Wait returns the maximum time to wait for the end of the job before the answer.
	Wait(r *http.Request) time.Duration
}
