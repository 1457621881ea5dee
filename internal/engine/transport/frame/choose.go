package frame

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
)

// bom is the UTF-8 byte order mark.
const bom = "\xef\xbb\xbf"

// eventStream is the type of server-sent events.
const eventStream = "text/event-stream"

// mediaType returns the media type of a Content-Type header in lower case, without
// parameters.
func mediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// choose sets the framing according to status, encoding and content type.
func (f *Framer) choose() {
	success := f.head.Status >= 200 && f.head.Status < 300
	f.chooseEncoding(success)
	switch {
	case f.fail != nil:
	case !success:
		f.keepDocument(bench.FramingNone, MaxErrorBody) // document.finish determines the framing
	case f.media == eventStream: // unless the first byte contradicts it
		f.framing = bench.FramingSSE
	case isLines(f.media):
		f.split, f.framing = &f.lines, bench.FramingNDJSON
	case isJSON(f.media):
		f.split, f.framing = &f.document, bench.FramingJSON
	case f.media == amazonType: // the first byte of the payload decides
		f.split, f.framing = &f.amazon, bench.FramingSSE
	case isBinary(f.media):
		f.split, f.framing = &f.counter, bench.FramingBinary
	}
}

// chooseEncoding prepares decompression. An unsupported encoding is a failure, except
// with an error status, which does not need its body.
func (f *Framer) chooseEncoding(success bool) {
	encoding := strings.ToLower(strings.TrimSpace(f.head.ContentEncoding))
	switch encoding {
	case "", "identity":
	case "gzip", "x-gzip", "deflate":
		f.unzip, f.compressed = newInflater(encoding), true
		f.limit = min(f.limit, MaxInflated)
	default:
		if !success {
			f.stopped, f.full = true, true
			return
		}
		f.breakOff(bench.UnexpectedContent, "content_encoding",
			fmt.Sprintf("content encoding %q is not supported", encoding))
	}
}

// keepDocument stores up to limit bytes of the body and ignores the rest.
func (f *Framer) keepDocument(framing bench.Framing, limit int) {
	f.split, f.framing, f.limit = &f.document, framing, min(f.limit, limit)
	f.document.truncates = true
}

func isLines(media string) bool {
	switch media {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/stream+json":
		return true
	}
	return false
}

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

func isBinary(media string) bool {
	if media == "application/octet-stream" {
		return true
	}
	kind, _, _ := strings.Cut(media, "/")
	return kind == "audio" || kind == "video" || kind == "image"
}

// isText reports whether a media type is plain text: also that of subtitles and of metrics.
func isText(media string) bool {
	switch media {
	case "text/plain", "text/vtt", "text/srt", "application/x-subrip", "application/openmetrics-text":
		return true
	}
	return false
}

// sniffBytes determines the framing from the first bytes of the body. It returns all
// bytes so far when the framing is known, and nil before. If final is set, no more bytes
// follow and it decides in any case. Only bytes that do not suffice are stored, without
// whitespace.
func (f *Framer) sniffBytes(b []byte, final bool) []byte {
	if len(f.sniff) > 0 {
		b = append(f.sniff, b...)
	}
	start := bytes.TrimLeft(b, space)
	if len(start) >= len(bom) || !strings.HasPrefix(bom, string(start)) || final {
		start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte(bom)), space)
		if len(start) > 0 && f.sniffKnown(start, final) {
			return start
		}
	}
	f.sniff = append(f.sniff[:0], start...)
	return nil
}

// sniffKnown sets the framing according to the first bytes, and reports whether they
// suffice.
func (f *Framer) sniffKnown(start []byte, final bool) bool {
	fields := []string{"data:", "event:", "id:", "retry:", ":"}
	isField := func(field string) bool { return bytes.HasPrefix(start, []byte(field)) }
	couldBe := func(field string) bool { return strings.HasPrefix(field, string(start)) }
	isOther := start[0] == '{' || start[0] == '[' || start[0] == '<'
	if f.media == eventStream && isOther { // mislabelled
		f.document.streaming = true
	}
	switch {
	case f.media == eventStream && !isOther:
		f.sse.bom = len(bom) // already dropped
		f.split = &f.sse
	case slices.ContainsFunc(fields, isField):
		f.warned.sniffed++
		f.sse.bom = len(bom) // already dropped
		f.split, f.framing = &f.sse, bench.FramingSSE
	case start[0] == '{' || start[0] == '[':
		f.split, f.framing = &f.document, bench.FramingJSON
	case !final && slices.ContainsFunc(fields, couldBe):
		return false
	case f.media == "text/html" || f.media != "text/plain" && start[0] == '<':
		f.keepDocument(bench.FramingHTML, MaxErrorBody)
	case f.media == "" || isText(f.media):
		f.split, f.framing = &f.document, bench.FramingText
	default:
		f.split, f.framing = &f.counter, bench.FramingBinary
	}
	return true
}
