// Package wire has the messages between a controller and its workers, and their form in bytes. What is sent each
// second is binary, the rest is JSON; everything is decoded strictly and within limits, because it comes from another
// machine.
//
// A message is a version, a kind, and what the kind says. Rare messages have a head in JSON and may have a body of
// plain bytes.
package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"aiperfd/internal/cluster/bus"
)

// Version is the version of all messages. Both sides must have the same.
const Version = 1

// kind says what a message is.
type kind uint8

// The kinds. The numbers are on the wire.
const (
	kindJoin kind = iota + 1
	kindWelcome
	kindPrepare
	kindReady
	kindArm
	kindConfirm
	kindStop
	kindGoodbye
	kindReport
	kindRange
	kindPart
	kindSnapshot
	kindAck
	kindQuestion
	kindAnswer
)

// The subjects of messages to and from a worker, see bus.ToWorker and bus.FromWorker.
const (
	ToPrepare = "prepare" // Prepare, answered with Ready
	ToArm     = "arm"     // Arm, answered with Confirm
	ToStop    = "stop"    // Stop, answered with Confirm
	ToRange   = "range"   // Range, answered with Part

	FromSnapshot = "snapshot" // Snapshot, answered with Ack
	FromReport   = "report"   // Report, answered with Ack
	FromGoodbye  = "goodbye"  // Goodbye
)

// What may be wrong with bytes. [VersionError] is another one.
var (
	ErrMalformed = errors.New("malformed message")
	ErrTooLarge  = errors.New("message is larger than its kind may be")
)

// VersionError is the error of a message in another version.
type VersionError int

// Error implements error.
func (v VersionError) Error() string {
	return fmt.Sprintf("the message has version %d; this build speaks version %d", int(v), Version)
}

// Message is one of the messages with a head in JSON.
type Message interface {
	kind() kind
	check() error     // what JSON cannot say
	content() *[]byte // the body; nil = the kind has none
}

// Encode returns the bytes of a message, or what is wrong with it.
func Encode(m Message) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	head, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	out := []byte{Version, byte(m.kind())}
	out = binary.AppendUvarint(out, uint64(len(head)))
	out = append(out, head...)
	if body := m.content(); body != nil {
		out = append(out, *body...)
	}
	if len(out) > bus.MaxPayload {
		return nil, ErrTooLarge
	}
	return out, nil
}

// Decode reads the bytes of a message of the kind of m into m, which must be zero. The body of m is a part of payload.
func Decode(payload []byte, m Message) error {
	rest, err := open(payload, m.kind(), bus.MaxPayload)
	if err != nil {
		return err
	}
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) {
		return fmt.Errorf("%w: the size of its head", ErrMalformed)
	}
	head, body := rest[n:n+int(size)], rest[n+int(size):]
	d := json.NewDecoder(bytes.NewReader(head))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: its head goes on after its end", ErrMalformed)
	}
	switch content := m.content(); {
	case content != nil:
		*content = body
	case len(body) > 0:
		return fmt.Errorf("%w: it has a body", ErrMalformed)
	}
	return m.check()
}

// open checks version, kind and size, and returns what follows.
func open(payload []byte, want kind, most int) ([]byte, error) {
	switch {
	case len(payload) > most:
		return nil, ErrTooLarge
	case len(payload) < 2:
		return nil, fmt.Errorf("%w: it has %d bytes", ErrMalformed, len(payload))
	case payload[0] != Version:
		return nil, VersionError(payload[0])
	case kind(payload[1]) != want:
		return nil, fmt.Errorf("%w: kind %d instead of %d", ErrMalformed, payload[1], want)
	}
	return payload[2:], nil
}
