package frame

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
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
	// maxAmazonHeaders is what a message may have in headers, by the specification.
	maxAmazonHeaders = 128 << 10
)

// How much of an exception becomes its message and its code, in bytes.
const (
	maxException     = 4 << 10
	maxExceptionCode = 128
)

// amazon undoes AWS event streams: messages that carry pieces of another stream.
// Pieces may be cut anywhere, and a message is used only when it is whole and its
// checksums are right.
type amazon struct {
	on      bool
	pending []byte // the message that is not whole yet
}

// unwrap takes bytes of the messages and feeds what they carry. Payloads have the
// stamp of the read that completed their message.
func (f *Framer) unwrap(at time.Duration, b []byte) {
	for len(b) > 0 && f.mode != modeStop {
		whole := b
		if len(f.amazon.pending) > 0 {
			take := min(f.amazonMissing(), len(b))
			f.amazon.pending = extend(f.amazon.pending, b[:take])
			whole, b = f.amazon.pending, b[take:]
		}
		size, ok := f.amazonSize(whole)
		switch {
		case !ok:
			return
		case size == 0 || len(whole) < size: // not whole yet
			if len(f.amazon.pending) == 0 {
				f.amazon.pending, b = append(f.amazon.pending, b...), nil
			}
			continue
		case len(f.amazon.pending) == 0:
			whole, b = b[:size], b[size:]
		}
		f.message(at, whole)
		f.amazon.pending = f.amazon.pending[:0]
	}
}

// amazonMissing returns how many bytes the pending message lacks, or its prelude.
func (f *Framer) amazonMissing() int {
	have := len(f.amazon.pending)
	if have < amazonPrelude {
		return amazonPrelude - have
	}
	return int(binary.BigEndian.Uint32(f.amazon.pending)) - have
}

// amazonSize returns the length of the message that b begins with; 0 = its prelude
// is not there yet. ok = false when it cannot be one, and everything is over. No
// length is believed before its checksum was seen, and no memory is taken for it.
func (f *Framer) amazonSize(b []byte) (size int, ok bool) {
	if len(b) < amazonPrelude {
		return 0, true
	}
	total, headers := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	switch {
	case crc32.ChecksumIEEE(b[:8]) != binary.BigEndian.Uint32(b[8:]):
		f.malform("the checksum of a message's prelude is wrong")
	case total < amazonLeast || headers > total-amazonLeast || headers > maxAmazonHeaders:
		f.malform(fmt.Sprintf("a message of %d bytes cannot have %d bytes of headers", total, headers))
	case int64(total) > int64(f.maxEvent):
		f.giveUp("event_size", fmt.Sprintf("one message is larger than %d bytes", f.maxEvent))
	default:
		return int(total), true
	}
	return 0, false
}

// message handles a whole message.
func (f *Framer) message(at time.Duration, b []byte) {
	end := len(b) - amazonCRC
	if crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		f.malform("the checksum of a message is wrong")
		return
	}
	after := amazonPrelude + int(binary.BigEndian.Uint32(b[4:]))
	h, ok := amazonHeaders(b[amazonPrelude:after])
	payload := b[after:end]
	switch {
	case !ok:
		f.malform("the headers of a message cannot be read")
	case string(h.message) == "exception" || string(h.message) == "error":
		f.exception(h, payload)
	case string(h.event) == "PayloadPart" && len(payload) > 0:
		f.part(at, payload)
	}
}

// part feeds a piece of the inner stream. What it is, its first byte tells.
func (f *Framer) part(at time.Duration, payload []byte) {
	if f.mode == modeSniff {
		f.mode, f.framing = modeSSE, bench.FramingSSE
		for _, c := range payload {
			if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
				continue
			}
			if c == '{' || c == '[' {
				f.mode, f.framing = modeLines, bench.FramingNDJSON
			}
			break
		}
	}
	f.consume(at, payload)
}

// finishAmazon notes that the body ended within a message, whose bytes are lost.
func (f *Framer) finishAmazon(how bench.End) {
	if len(f.amazon.pending) > 0 && how == bench.EndEOF && f.mode != modeStop {
		f.malformed++
	}
}

// amazonHead is what we read of a message's headers; parts of the message.
type amazonHead struct{ message, event, exception, code, text []byte }

// amazonHeaders reads the headers of a message; ok = false when they are cut or of
// a type that does not exist.
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

// amazonValue cuts the value of a header of type kind off b. Types 0 and 1 are true
// and false, 2 to 5 integers of 1 to 8 bytes, 6 bytes and 7 a string after a length
// of two bytes, 8 a time stamp, 9 a UUID.
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

// exception ends the response by what the server says went wrong. The payload is a
// JSON object with a message, or text.
func (f *Framer) exception(h amazonHead, payload []byte) {
	var said struct{ Message, OriginalMessage string } // names compare without case
	message, code := string(h.text), string(h.exception)
	if json.Unmarshal(payload, &said) == nil && said.OriginalMessage+said.Message != "" {
		message = said.OriginalMessage
		if message == "" {
			message = said.Message
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
	f.breakOff(bench.StreamError, clip(code, maxExceptionCode), clip(message, maxException))
}

// malform ends a response whose messages are broken.
func (f *Framer) malform(message string) {
	f.breakOff(bench.MalformedResponse, "event_stream", message)
}

// clip makes text of at most limit bytes, between characters.
func clip(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
		for n := 0; n < utf8.UTFMax && !utf8.ValidString(s); n++ {
			s = s[:len(s)-1]
		}
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
