// Package bus carries messages between a controller and its workers, and bulk data to them. It has the interface, the
// subjects with who may use them, and a [Memory] in which both sides of a test meet; package broker has NATS.
package bus

import (
	"context"
	"errors"
	"io"
	"time"
)

// Bus is the connection of one participant. It is safe for concurrent use.
//
// Messages are carried at most once and kept nowhere: one that is sent while the connection is broken, or to nobody, is
// lost. So messages carry state, and a request is repeated by who needs its answer. A broken connection is made again
// by itself.
//
// Every wait ends with its context; one without a deadline ends after [Patience].
type Bus interface {
	// Request sends a message and returns the answer of the first receiver that replies: ErrNoReceiver if nobody has
	// subscribed, ErrDisconnected if the connection is broken.
	Request(ctx context.Context, subject string, payload []byte) ([]byte, error)

	// Publish sends a message to all who have subscribed. nil says that it is on its way, not that it arrived.
	Publish(ctx context.Context, subject string, payload []byte) error

	// Subscribe calls a handler for each message to a subject, in which * stands for one token and a last > for one or
	// more of them. From its return on, messages are received, also after the connection was broken. The handler is
	// called by one goroutine, in the order of arrival; messages that come faster than it returns are lost. After
	// cancel one call may begin, of a message that had come before.
	Subscribe(ctx context.Context, subject string, handle Handler) (cancel func(), err error)

	// Put stores bulk data under a name, see [ValidName], in place of what was there.
	Put(ctx context.Context, name string, content io.Reader) error

	// Get writes what is stored under a name: ErrNotFound if nothing is. What was written counts only if err is nil,
	// because the digest is compared at the end.
	Get(ctx context.Context, name string, to io.Writer) error

	// Close ends the connection, and waits for the calls of handlers. A handler must not call it.
	Close()
}

// Handler receives messages. It must not keep the payload.
type Handler func(m Message)

// Message is a message as it is received.
type Message struct {
	Subject string
	Payload []byte
	answer  func(payload []byte) error
}

// NewMessage returns a message; answer is nil if its sender does not wait.
func NewMessage(subject string, payload []byte, answer func(payload []byte) error) Message {
	return Message{subject, payload, answer}
}

// Reply answers a request. It does nothing if the sender does not wait for an answer.
func (m Message) Reply(payload []byte) error {
	if m.answer == nil {
		return nil
	}
	return m.answer(payload)
}

// MaxPayload is the size of a message at most, in bytes. It is the limit of a NATS server that is configured by
// nobody.
const MaxPayload = 1 << 20

// Patience is how long an operation waits whose context has no deadline.
const Patience = 10 * time.Second

// What may be wrong with an operation.
var (
	ErrNoReceiver   = errors.New("nobody has subscribed to the subject")
	ErrDisconnected = errors.New("the connection to the bus is broken")
	ErrClosed       = errors.New("the connection to the bus is closed")
	ErrDenied       = errors.New("the permissions of the connection do not allow it")
	ErrTooLarge     = errors.New("the message is larger than the bus carries")
	ErrSubject      = errors.New("not a valid subject")
	ErrName         = errors.New("not a valid name of bulk data: 1 to 128 letters, digits or ._- are accepted")
	ErrNotFound     = errors.New("no bulk data is stored under the name")
	ErrDamaged      = errors.New("the bulk data has another digest than what was stored")
)

// WithPatience returns a context that ends with its parent, or after [Patience] if that has no deadline.
func WithPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, Patience)
}
