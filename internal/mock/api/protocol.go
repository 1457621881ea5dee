package api

import (
	"net/http"
	"time"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jobs"
)

// Protocol is one API: how a request is read, and how the answer is written.
// Implementations are made once, for all requests.
//
// To add an API, write one file with a protocol in the package of its family and add its
// rows to the table of routes of the server.
type Protocol interface {
	// Read parses a request, and checks it against the server's limits. r is nil
	// in the front, which serves OpenAI's text routes alone.
	Read(m *Model, r *http.Request, body []byte) (*Request, *apierror.Error)
	// Reasons reports whether reasoning is separate from the answer.
	Reasons() bool
	// Document appends the answer in one piece and returns its content type.
	Document(dst []byte, x *Answer) ([]byte, string)
	// Refusal appends the body of an error.
	Refusal(dst []byte, e *apierror.Error) []byte
	// Script returns how streams are written; nil = there are none.
	Script() *Script
}

// Chooser is a protocol that shares its path with others.
type Chooser interface {
	Protocol
	// Choose returns the protocol that the body of a request speaks.
	Choose(m *Model, body []byte) Protocol
}

// Script writes the events of a stream: each function adds whole events to e.B,
// every one followed by [Events.End]. All but content may be nil: there is nothing
// to add.
type Script struct {
	ContentType string
	// Lines: events are lines. They end with one line end, and there are no comments.
	Lines bool
	// Wrap encloses b[start:], a whole event, in what carries it; nil = nothing does.
	Wrap func(b []byte, start int) []byte
	// Unframed: the body is no stream of events, so nothing may be put between them.
	Unframed bool
	// Open prepares what all events have in common.
	Open func(e *Events)
	// Begin adds what comes right after the head of the response.
	Begin func(e *Events) error
	// First adds what comes with the first token, before it.
	First func(e *Events) error
	// Content adds an event with the tokens from … to−1 of c; last is true if c
	// ends with them.
	Content func(e *Events, c *Choice, from, to int, last bool) error
	// Finish adds what follows the last token of c.
	Finish func(e *Events, c *Choice) error
	// Close adds what comes when all choices have finished.
	Close func(e *Events) error
	// Fail adds what the server says when it breaks down in the middle.
	Fail func(e *Events, apology *apierror.Error) error
}

// JobProtocol is an API whose requests only start work.
type JobProtocol interface {
	Protocol
	// queue returns where the work is queued.
	Jobs() *jobs.Queue
	// Plan makes the job of a request: its output and what it needs.
	Plan(x *Answer, j *jobs.Job)
	// Wait returns how long the answer may be held back for the work to be done.
	Wait(r *http.Request) time.Duration
}
