package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
)

// amazonType is the content type of AWS event streams.
const amazonType = "application/vnd.amazon.eventstream"

// The parts of an AWS message: a prelude of two lengths and their checksum, headers,
// payload, and the checksum of everything before it (AWS SDK, "Event stream
// encoding").
const (
	amazonPrelude = 12
	amazonCRC     = 4
	amazonLeast   = amazonPrelude + amazonCRC
	// maxAmazonHeaders is the maximum size of the headers, by the specification.
	maxAmazonHeaders = 128 << 10
)

// Maximum sizes of the message and the code of an exception, in bytes.
const (
	maxException     = 4 << 10
	maxExceptionCode = 128
)

// amazon unwraps AWS event streams: messages that contain pieces of another stream,
// divided at any byte. A message is processed when it is complete and its checksums
// are correct.
type amazon struct {
	*output
	sse     *sse
	lines   *lines
	inner   splitter // sse or lines; nil before the first payload
	pending []byte   // the incomplete message
}

var _ splitter = (*amazon)(nil)

// feed processes bytes of messages. A payload has the timestamp of the read that
// completed its message.
func (a *amazon) feed(b []byte) {
	for len(b) > 0 && !a.stopped {
		whole := b
		if len(a.pending) > 0 {
			take := min(a.missing(), len(b))
			a.pending = extend(a.pending, b[:take])
			whole, b = a.pending, b[take:]
		}
		size, ok := a.size(whole)
		switch {
		case !ok:
			return
		case size == 0 || len(whole) < size: // incomplete
			if len(a.pending) == 0 {
				a.pending, b = append(a.pending, b...), nil
			}
			continue
		case len(a.pending) == 0:
			whole, b = b[:size], b[size:]
		}
		a.message(whole)
		a.pending = a.pending[:0]
	}
}

// missing returns the number of missing bytes of the pending message, or of its
// prelude.
func (a *amazon) missing() int {
	have := len(a.pending)
	if have < amazonPrelude {
		return amazonPrelude - have
	}
	return int(binary.BigEndian.Uint32(a.pending)) - have
}

// size returns the length of the message at the start of b; 0 = its prelude is
// incomplete. ok = false if it is invalid, which ends the response. A length is used
// only after its checksum was verified, and no memory is allocated in advance.
func (a *amazon) size(b []byte) (size int, ok bool) {
	if len(b) < amazonPrelude {
		return 0, true
	}
	total, headers := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	switch {
	case crc32.ChecksumIEEE(b[:8]) != binary.BigEndian.Uint32(b[8:]):
		a.malform("the checksum of a message's prelude is wrong")
	case total < amazonLeast || headers > total-amazonLeast || headers > maxAmazonHeaders:
		a.malform(fmt.Sprintf("a message of %d bytes cannot have %d bytes of headers", total, headers))
	case int64(total) > int64(a.maxEvent):
		a.giveUp("event_size", fmt.Sprintf("one message is larger than %d bytes", a.maxEvent))
	default:
		return int(total), true
	}
	return 0, false
}

// message processes a complete message.
func (a *amazon) message(b []byte) {
	end := len(b) - amazonCRC
	if crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		a.malform("the checksum of a message is wrong")
		return
	}
	after := amazonPrelude + int(binary.BigEndian.Uint32(b[4:]))
	h, ok := amazonHeaders(b[amazonPrelude:after])
	payload := b[after:end]
	switch {
	case !ok:
		a.malform("the headers of a message cannot be read")
	case string(h.message) == "exception" || string(h.message) == "error":
		a.exception(h, payload)
	case string(h.event) == "PayloadPart" && len(payload) > 0:
		a.part(payload)
	}
}

// part processes a piece of the inner stream. Its first byte determines the framing.
func (a *amazon) part(payload []byte) {
	if a.inner == nil {
		a.inner, a.framing = a.sse, bench.FramingSSE
		if start := bytes.TrimLeft(payload, space); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
			a.inner, a.framing = a.lines, bench.FramingNDJSON
		}
	}
	a.inner.feed(payload)
}

// finish ends the inner stream. An incomplete message is discarded.
func (a *amazon) finish(how bench.End) {
	if a.inner != nil {
		a.inner.finish(how)
	}
	if len(a.pending) > 0 && how == bench.EndEOF && !a.stopped {
		a.warned.malformed++
	}
}

// amazonHead contains headers of a message. The values are slices of the message.
type amazonHead struct{ message, event, exception, code, text []byte }

// amazonHeaders parses the headers of a message; ok = false if they are incomplete or
// have an unknown type.
func amazonHeaders(b []byte) (h amazonHead, ok bool) {
	for len(b) > 0 {
		n := 1 + int(b[0])
		if len(b) < n+1 {
			return h, false
		}
		name := b[1:n]
		value, rest, ok := amazonValue(b[n], b[n+1:])
		if !ok {
			return h, false
		}
		b = rest
		switch string(name) {
		case ":message-type":
			h.message = value
		case ":event-type":
			h.event = value
		case ":exception-type":
			h.exception = value
		case ":error-code":
			h.code = value
		case ":error-message":
			h.text = value
		}
	}
	return h, true
}

// amazonValue returns the value of a header of type kind at the start of b, and the
// rest. Types 0 and 1 are true and false, 2 to 5 integers of 1 to 8 bytes, 6 bytes and
// 7 a string after a length of two bytes, 8 a timestamp, 9 a UUID.
func amazonValue(kind byte, b []byte) (value, rest []byte, ok bool) {
	sizes := [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}
	if int(kind) >= len(sizes) {
		return nil, nil, false
	}
	size := sizes[kind]
	if size < 0 {
		if len(b) < 2 {
			return nil, nil, false
		}
		size, b = int(binary.BigEndian.Uint16(b)), b[2:]
	}
	if len(b) < size {
		return nil, nil, false
	}
	return b[:size], b[size:], true
}

// exception ends the response with the error that the server reports. The payload is
// a JSON object with a message, or text.
func (a *amazon) exception(h amazonHead, payload []byte) {
	var body struct{ Message, OriginalMessage string } // names are case-insensitive
	message, code := string(h.text), string(h.exception)
	if json.Unmarshal(payload, &body) == nil && body.OriginalMessage+body.Message != "" {
		message = body.OriginalMessage
		if message == "" {
			message = body.Message
		}
	} else if message == "" {
		message = string(payload)
	}
	if code == "" {
		code = string(h.code)
	}
	if message == "" {
		message = "the server sent an exception without a message"
	}
	a.breakOff(bench.StreamError, clip(code, maxExceptionCode), clip(message, maxException))
}

// malform ends a response with invalid messages.
func (a *amazon) malform(message string) {
	a.breakOff(bench.MalformedResponse, "event_stream", message)
}

// clip returns valid UTF-8 of at most limit bytes.
func clip(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
		for n := 0; n < utf8.UTFMax && !utf8.ValidString(s); n++ {
			s = s[:len(s)-1]
		}
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
