package text

import (
	"encoding/binary"
	"hash/crc32"

	"aiperfd/internal/mock/api"
)

// AmazonStream is the content type of AWS event streams.
const AmazonStream = "application/vnd.amazon.eventstream"

// NewInvocations returns the protocol of POST /invocations, under which containers serve
// several APIs; framed wraps its streams as AWS does. The member with the text selects the
// API. If there is none, chat rejects the request.
func NewInvocations(framed bool) *api.Protocol {
	names := []string{"messages", "prompt", "inputs"}
	all := []*api.Protocol{NewChat(), NewCompletions(), NewTGI(TGIAsked)}
	if framed {
		for i, p := range all {
			all[i] = newAmazon(p)
		}
	}
	shared := *all[0]
	shared.Choose = func(m *api.Model, body []byte) *api.Protocol {
		for i, has := range m.Members(body, names...) {
			if has {
				return all[i]
			}
		}
		return all[0]
	}
	return &shared
}

// newAmazon wraps the answers of a protocol in an AWS event stream.
func newAmazon(p *api.Protocol) *api.Protocol {
	framed, streams := *p, *p.Script
	framed.Script = &streams
	streams.ContentType = AmazonStream
	streams.Wrap = func(b []byte, start int) []byte {
		payload := append([]byte(nil), b[start:]...)
		return appendAmazonMessage(b[:start], payload,
			":message-type", "event", ":event-type", "PayloadPart", ":content-type", "application/octet-stream")
	}
	streams.Fail = func(e *api.Events, failure *api.Error) {
		body := api.AppendJSON(nil, struct{ Message, ErrorCode string }{failure.Message, "ModelStreamError"})
		e.B = appendAmazonMessage(e.B, body, ":message-type", "exception", ":exception-type", "ModelStreamError")
		e.Sealed(false)
	}
	framed.Document = func(dst []byte, x *api.Answer) ([]byte, string) {
		dst, _ = p.Document(dst, x)
		return streams.Wrap(dst, 0), AmazonStream
	}
	return &framed
}

// appendAmazonMessage appends a message of an AWS event stream with headers (name, value,
// …), which are strings (AWS SDK, "Event stream encoding").
func appendAmazonMessage(dst, payload []byte, headers ...string) []byte {
	var head []byte
	for i := 0; i+1 < len(headers); i += 2 {
		head = append(append(head, byte(len(headers[i]))), headers[i]...)
		head = binary.BigEndian.AppendUint16(append(head, 7), uint16(len(headers[i+1])))
		head = append(head, headers[i+1]...)
	}
	const around = 16 // bytes of both lengths and both checksums
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(around+len(head)+len(payload)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(head)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
	dst = append(append(dst, head...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
}
