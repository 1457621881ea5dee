package native

import (
	"encoding/binary"
	"hash/crc32"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/api/openai"
	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// AmazonStream is the content type of AWS event streams.
const AmazonStream = "application/vnd.amazon.eventstream"

// invocations is POST /invocations, under which containers serve several APIs.
type invocations struct {
	api.Protocol
	byMember map[string]api.Protocol
}

var _ api.Chooser = invocations{}

// NewInvocations returns the protocol of a container; framed wraps its streams as AWS
// does.
func NewInvocations(framed bool) invocations {
	all := map[string]api.Protocol{
		"messages": openai.NewChat(), "prompt": openai.NewCompletions(), "inputs": NewTGI(TGIAsked),
	}
	if framed {
		for name, p := range all {
			all[name] = newAmazon(p)
		}
	}
	return invocations{Protocol: all["messages"], byMember: all}
}

// Choose selects the protocol by the member with the text. If there is none, chat rejects
// the request.
func (p invocations) Choose(m *api.Model, body []byte) api.Protocol {
	names := []string{"messages", "prompt", "inputs"}
	for i, has := range m.Members(body, names...) {
		if has {
			return p.byMember[names[i]]
		}
	}
	return p.Protocol
}

// amazon wraps the answers of a protocol in an AWS event stream.
type amazon struct {
	api.Protocol
	streams api.Script
}

func newAmazon(p api.Protocol) *amazon {
	a := &amazon{Protocol: p, streams: *p.Script()}
	a.streams.ContentType = AmazonStream
	a.streams.Wrap = func(b []byte, start int) []byte {
		payload := append([]byte(nil), b[start:]...)
		return appendMessage(b[:start], payload,
			":message-type", "event", ":event-type", "PayloadPart", ":content-type", "application/octet-stream")
	}
	a.streams.Fail = func(e *api.Events, failure *apierror.Error) error {
		body := jsonappend.String([]byte(`{"Message":`), failure.Message)
		body = append(body, `,"ErrorCode":"ModelStreamError"}`...)
		e.B = appendMessage(e.B, body, ":message-type", "exception", ":exception-type", "ModelStreamError")
		return e.Sealed(false)
	}
	return a
}

func (a *amazon) Script() *api.Script { return &a.streams }

// Document appends the answer as one message.
func (a *amazon) Document(dst []byte, x *api.Answer) ([]byte, string) {
	dst, _ = a.Protocol.Document(dst, x)
	return a.streams.Wrap(dst, 0), AmazonStream
}

// appendMessage appends a message of an AWS event stream with headers (name, value,
// …), which are strings (AWS SDK, "Event stream encoding").
func appendMessage(dst, payload []byte, headers ...string) []byte {
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
