package frame

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

var wrapped = Head{Status: 200, ContentType: "application/vnd.amazon.eventstream", Streaming: true}

// wrap returns an AWS message with these headers (name, value, …) and payload.
func wrap(payload string, headers ...string) string {
	var head []byte
	for i := 0; i+1 < len(headers); i += 2 {
		head = append(append(head, byte(len(headers[i]))), headers[i]...)
		head = binary.BigEndian.AppendUint16(append(head, 7), uint16(len(headers[i+1])))
		head = append(head, headers[i+1]...)
	}
	return seal(head, payload)
}

// seal returns a message whose headers are these bytes.
func seal(head []byte, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(amazonLeast+len(head)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(head)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, head...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// payloadPart returns a message with a piece of the inner stream.
func payloadPart(payload string) string {
	return wrap(payload, ":message-type", "event", ":event-type", "PayloadPart", ":content-type", "application/octet-stream")
}

// prelude returns the first bytes of a message with these lengths.
func prelude(total, headers uint32) string {
	b := binary.BigEndian.AppendUint32(nil, total)
	b = binary.BigEndian.AppendUint32(b, headers)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// flip returns s with one bit of the byte at i turned over; a negative i counts
// from the end.
func flip(s string, i int) string {
	b := []byte(s)
	if i < 0 {
		i += len(b)
	}
	b[i] ^= 1
	return string(b)
}

func TestAmazon(t *testing.T) {
	one := payloadPart("data: 1\n\n")
	exception := func(payload string, more ...string) string {
		return wrap(payload, append([]string{":message-type", "exception", ":exception-type", "ModelStreamError"}, more...)...)
	}
	other := []byte("\x01a\x00\x01b\x01\x01c\x02x\x01d\x03xx\x01e\x04xxxx\x01f\x0512345678\x01g\x06\x00\x02xx\x01h\x0812345678\x01i\x091234567812345678" +
		"\x0d:message-type\x07\x00\x05event\x0b:event-type\x07\x00\x0bPayloadPart")
	for _, tt := range []struct {
		name  string
		head  Head
		reads []in
		want  string
	}{
		{"server-sent events", wrapped, []in{{1, one}, {2, payloadPart("data: [DONE]\n\n")}}, "1ns #1 \"1\"\nframing 2 done"},
		{
			"pieces are cut anywhere", wrapped,
			[]in{{1, payloadPart("da")}, {2, payloadPart("ta: 12") + payloadPart("\n")}, {3, payloadPart("\ndata: 3\n\n")}},
			"3ns #3 \"12\"\n3ns #3 \"3\"\nframing 2",
		},
		{
			"messages are cut anywhere", wrapped, []in{{1, one[:5]}, {2, one[5:20]}, {3, one[20:] + one[:14]}, {4, one[14:]}},
			"3ns #3 \"1\"\n4ns #4 \"1\"\nframing 2",
		},
		{"lines", wrapped, []in{{1, payloadPart(" {\"a\":1}\n{")}, {2, payloadPart("\"b\":2}")}}, "1ns #1 \"{\\\"a\\\":1}\"\n2ns #2 \"{\\\"b\\\":2}\"\nframing 3"},
		{"other messages and empty pieces", wrapped, []in{{1, wrap("x", ":message-type", "event", ":event-type", "Other") + payloadPart("") + one}}, "1ns #1 \"1\"\nframing 2"},
		{"headers of all types", wrapped, []in{{1, seal(other, "data: 1\n\n")}}, "1ns #1 \"1\"\nframing 2"},
		{"nothing", wrapped, nil, "framing 2"},
		{"an error status", Head{Status: 500, ContentType: wrapped.ContentType}, []in{{1, `{"Message":"m"}`}}, "body 1ns \"{\\\"Message\\\":\\\"m\\\"}\"\nframing 1"},
		{"a message without its end", wrapped, []in{{1, one + one[:len(one)-1]}}, "1ns #1 \"1\"\nframing 2 map[malformed_event:1]"},
		{"a prelude without its end", wrapped, []in{{1, one + "\x00"}}, "1ns #1 \"1\"\nframing 2 map[malformed_event:1]"},
		{"checksum of the prelude", wrapped, []in{{1, one + flip(one, 8) + one}}, "1ns #1 \"1\"\nframing 2 malformed_response/event_stream"},
		{"checksum of the message", wrapped, []in{{1, one + flip(one, -1) + one}}, "1ns #1 \"1\"\nframing 2 malformed_response/event_stream"},
		{"a damaged payload", wrapped, []in{{1, flip(one, -7)}}, "framing 2 malformed_response/event_stream"},
		{"shorter than itself", wrapped, []in{{1, prelude(15, 0)}}, "framing 2 malformed_response/event_stream"},
		{"more headers than message", wrapped, []in{{1, prelude(20, 5)}}, "framing 2 malformed_response/event_stream"},
		{"more headers than allowed", wrapped, []in{{1, prelude(1<<20, 1<<18)}}, "framing 2 malformed_response/event_stream"},
		{"a message of 4 GiB", wrapped, []in{{1, prelude(1<<32-1, 0)}, {2, "x"}}, "framing 2 event_too_large/event_size"},
		{"a header that is cut", wrapped, []in{{1, seal([]byte("\x05abc"), "")}}, "framing 2 malformed_response/event_stream"},
		{"a value that is cut", wrapped, []in{{1, seal([]byte("\x01a\x07\x00\x05abc"), "")}}, "framing 2 malformed_response/event_stream"},
		{"a length that is cut", wrapped, []in{{1, seal([]byte("\x01a\x07\x00"), "")}}, "framing 2 malformed_response/event_stream"},
		{"a type that does not exist", wrapped, []in{{1, seal([]byte("\x01a\x0a"), "")}}, "framing 2 malformed_response/event_stream"},
		{"an exception", wrapped, []in{{1, one + exception(`{"Message":"m"}`) + one}}, "1ns #1 \"1\"\nframing 2 stream_error/ModelStreamError"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(cut(tt.head, bench.EndEOF, tt.reads...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAmazonException(t *testing.T) {
	for _, tt := range []struct {
		name, message, code, want string
	}{
		{"message", wrap(`{"message":"m","errorCode":"E"}`, ":message-type", "exception", ":exception-type", "T"), "T", "m"},
		{"the container's message", wrap(`{"Message":"m","OriginalMessage":"o"}`, ":message-type", "exception", ":exception-type", "T"), "T", "o"},
		{"text", wrap("plain\xff", ":message-type", "exception", ":exception-type", "T"), "T", "plain\ufffd"},
		{"an error", wrap("", ":message-type", "error", ":error-code", "C", ":error-message", "m"), "C", "m"},
		{"nothing said", wrap("", ":message-type", "exception"), "", "the server sent an exception without a message"},
		{"long", wrap(strings.Repeat("é", 5000), ":message-type", "exception"), "", strings.Repeat("é", 2048)},
		{"long and cut within a character", wrap("x"+strings.Repeat("é", 5000), ":message-type", "exception"), "", "x" + strings.Repeat("é", 2047)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := cut(wrapped, bench.EndEOF, in{1, tt.message})
			want := &bench.Failure{Class: bench.StreamError, Step: bench.StepBody, Status: 200, Code: tt.code, Message: tt.want}
			if diff := cmp.Diff(want, r.Failure); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAmazonLimits: the limits of one event and of all hold inside messages too,
// and a message that is announced takes no memory before it comes.
func TestAmazonLimits(t *testing.T) {
	var f Framer
	f.Reset(wrapped)
	f.Feed(1, []byte(prelude(MaxEvent, 0)))
	f.Feed(2, make([]byte, 1000))
	if c := cap(f.amazon.pending); c > 4096 || f.Err() != nil {
		t.Errorf("%d bytes for 1,012 of a message, error %v", c, f.Err())
	}
	f.Finish(3, bench.EndReset)
	f.Reset(wrapped)
	f.maxEvent = 200
	for range 20 {
		f.Feed(1, []byte(payloadPart("data: 1234567890")))
	}
	if f.Err() == nil || f.Err().Code != "event_size" || len(f.sse.line) > 200 {
		t.Errorf("failure %v with a line of %d bytes, want one of at most 200", f.Err(), len(f.sse.line))
	}
	f.Finish(2, bench.EndAborted)
	f.Reset(wrapped)
	f.Feed(1, []byte(payloadPart("data: 1\n\n")))
	f.Finish(2, bench.EndEOF)
	if r := f.Response(); r.Failure != nil || r.Events.Len() != 1 {
		t.Errorf("after a reset: %s", show(r))
	}
}

// TestAmazonAllocations: a message costs nothing beyond what it carries.
func TestAmazonAllocations(t *testing.T) {
	piece := []byte(payloadPart("data: {\"a\":\"x\"}\n\n"))
	var f Framer
	run := func() {
		f.Reset(wrapped)
		for range 500 {
			f.Feed(1, piece[:40])
			f.Feed(2, piece[40:])
		}
		f.Finish(3, bench.EndEOF)
		if n := f.Response().Events.Len(); n != 500 {
			t.Fatalf("%d events, want 500", n)
		}
	}
	run()
	if n := testing.AllocsPerRun(20, run); n > 5 {
		t.Errorf("%v allocations for 500 messages, want 5 at most", n)
	}
}

func BenchmarkAmazon(b *testing.B) {
	event := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n"
	for _, bb := range []struct {
		name string
		head Head
		data string
	}{{"plain", stream, event}, {"wrapped", wrapped, payloadPart(event)}} {
		b.Run(bb.name, func(b *testing.B) {
			var f Framer
			data := []byte(bb.data)
			b.ReportAllocs()
			for b.Loop() {
				f.Reset(bb.head)
				for range 100 {
					f.Feed(1, data)
				}
				f.Finish(2, bench.EndEOF)
			}
		})
	}
}

// FuzzAmazon: bytes of any kind are read the same however they are cut, and what
// is wrapped comes out again.
func FuzzAmazon(f *testing.F) {
	f.Add([]byte(payloadPart("data: 1\n\n")+payloadPart("data: [DONE]\n\n")), 3)
	f.Add([]byte(payloadPart("{\"a\":1}\n{")+wrap("x", ":message-type", "exception")), 20)
	f.Add([]byte("data: {\"a\":\"\xff\"}\n\nevent: error\n: c\n\n"), 7)
	f.Add([]byte(prelude(1<<30, 0)), 1)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		if len(b) == 0 {
			return
		}
		at = int(uint(at) % uint(len(b)))
		text := string(b)
		whole := show(cut(wrapped, bench.EndEOF, in{1, text}))
		var reads []in
		for i := range b {
			reads = append(reads, in{1, text[i : i+1]})
		}
		if bytewise := readNumber.ReplaceAllString(show(cut(wrapped, bench.EndEOF, reads...)), "$1"); bytewise != readNumber.ReplaceAllString(whole, "$1") {
			t.Errorf("byte by byte:\n%s\nat once:\n%s", bytewise, whole)
		}
		plain := show(cut(stream, bench.EndEOF, in{1, text}))
		if strings.TrimLeft(text, " \t\r\n") == text && (text[0] == '{' || text[0] == '[') {
			plain = show(cut(Head{Status: 200, ContentType: "application/x-ndjson"}, bench.EndEOF, in{1, text}))
		} else if text[0] <= ' ' || text[0] == '<' || text[0] >= utf8.RuneSelf {
			return // white space and a byte order mark precede the deciding byte; < is HTML in a plain body
		}
		inside := show(cut(wrapped, bench.EndEOF, in{1, payloadPart(text[:at+1]) + payloadPart(text[at+1:])}))
		if inside != plain {
			t.Errorf("wrapped:\n%s\nplain:\n%s", inside, plain)
		}
	})
}
