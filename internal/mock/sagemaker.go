package mock

import (
	"encoding/binary"
	"hash/crc32"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/jsonappend"
)

// amazonStream is the content type of AWS event streams.
const amazonStream = "application/vnd.amazon.eventstream"

// invocations is POST /invocations, behind which containers serve several APIs.
type invocations struct {
	protocol
	byMember map[string]protocol
}

var _ chooser = invocations{}

// newInvocations returns the container's route; framed wraps its streams as AWS
// does.
func newInvocations(framed bool) invocations {
	all := map[string]protocol{
		"messages": newOpenAI(chatDialect{}), "prompt": newOpenAI(completionDialect{}), "inputs": newTGI(tgiAsked),
	}
	if framed {
		for name, p := range all {
			all[name] = newAmazon(p)
		}
	}
	return invocations{protocol: all["messages"], byMember: all}
}

// choose decides by the member that has the text. Without any, chat refuses.
func (p invocations) choose(m *model, body []byte) protocol {
	names := []string{"messages", "prompt", "inputs"}
	for i, has := range m.members(body, names...) {
		if has {
			return p.byMember[names[i]]
		}
	}
	return p.protocol
}

// amazon is a protocol whose answers are carried by an AWS event stream.
type amazon struct {
	protocol
	streams script
}

func newAmazon(p protocol) *amazon {
	a := &amazon{protocol: p, streams: *p.script()}
	a.streams.contentType = amazonStream
	a.streams.wrap = func(b []byte, start int) []byte {
		payload := append([]byte(nil), b[start:]...)
		return appendMessage(b[:start], payload,
			":message-type", "event", ":event-type", "PayloadPart", ":content-type", "application/octet-stream")
	}
	a.streams.fail = func(e *events, apology *apierror.Error) error {
		body := jsonappend.String([]byte(`{"Message":`), apology.Message)
		body = append(body, `,"ErrorCode":"ModelStreamError"}`...)
		e.b = appendMessage(e.b, body, ":message-type", "exception", ":exception-type", "ModelStreamError")
		return e.sealed(false)
	}
	return a
}

func (a *amazon) script() *script { return &a.streams }

// document carries the answer in one piece.
func (a *amazon) document(dst []byte, x *answer) ([]byte, string) {
	dst, _ = a.protocol.document(dst, x)
	return a.streams.wrap(dst, 0), amazonStream
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
	const around = 16 // both lengths and both checksums
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(around+len(head)+len(payload)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(head)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
	dst = append(append(dst, head...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
}
