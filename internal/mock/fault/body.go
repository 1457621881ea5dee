package fault

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"aiperfd/internal/mock/wire"
)

// hugeBody is the size of the body kind "huge", in bytes.
const hugeBody = 1 << 20

// bodyKinds lists the kinds of ErrorBody.
func bodyKinds() []string {
	return []string{"vllm", "openai", "fastapi", "sglang", "text", "html", "empty", "json_string", "huge", "echo_headers"}
}

// ErrorBody renders the body of an error response. r is the request whose headers
// echo_headers repeats; it may be nil to check only the kind. ok is false for an unknown
// kind.
func ErrorBody(kind string, status int, r *http.Request) (body Body, ok bool) {
	text := http.StatusText(status)
	message := fmt.Sprintf("%s (simulated fault)", text)
	switch kind {
	case "vllm":
		return jsonBody(wire.AppendError(nil, wire.NewError(status, message, ""))), true
	case "openai":
		return jsonBody(fmt.Appendf(nil, `{"error":{"message":%s,"type":"server_error","param":null,"code":%s}}`,
			quote(message), quote(strings.ReplaceAll(strings.ToLower(text), " ", "_")))), true
	case "fastapi":
		return jsonBody(fmt.Appendf(nil, `{"detail":%s}`, quote(message))), true
	case "sglang":
		return jsonBody(fmt.Appendf(nil, `{"object":"error","message":%s,"type":%s,"param":null,"code":%d}`,
			quote(message), quote(wire.ErrorKind(status)), status)), true
	case "text":
		return Body{"text/plain; charset=utf-8", []byte(message)}, true
	case "html":
		return Body{"text/html", fmt.Appendf(nil, "<html>\r\n<head><title>%d %s</title></head>\r\n<body>\r\n"+
			"<center><h1>%d %s</h1></center>\r\n</body>\r\n</html>\r\n", status, text, status, text)}, true
	case "empty":
		return Body{}, true
	case "json_string":
		return jsonBody(wire.String(nil, message)), true
	case "huge":
		return jsonBody(fmt.Appendf(nil, `{"error":{"message":%s,"type":"server_error","param":null,"code":%d}}`,
			quote(strings.Repeat("overflow ", hugeBody/len("overflow "))), status)), true
	case "echo_headers":
		return echoBody(status, r), true
	}
	return Body{}, false
}

// Body is the body of an error response.
type Body struct {
	ContentType string // "" = none
	Data        []byte
}

func jsonBody(data []byte) Body { return Body{"application/json", data} }

func quote(s string) []byte { return wire.String(nil, s) }

// echoBody imitates servers that repeat the request in their errors, credentials
// included, to test that clients redact secrets.
func echoBody(status int, r *http.Request) Body {
	var message strings.Builder
	message.WriteString("request refused")
	if r != nil {
		fmt.Fprintf(&message, ": %s http://%s%s", r.Method, r.Host, r.URL.RequestURI())
		for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key", "Cookie"} {
			if v := r.Header.Get(name); v != "" {
				fmt.Fprintf(&message, "; %s: %s", name, v)
			}
		}
	}
	return jsonBody(wire.AppendError(nil, wire.NewError(status, message.String(), "")))
}

// malformedKinds lists the kinds of Corrupt.
func malformedKinds() []string {
	return []string{badJSON, truncatedJSON, nanNumber, invalidUTF8, rawNewline, wrongTypes, notSSE, twoObjects}
}

// Corrupt makes the JSON text data[start:] invalid in the given way and returns data.
func Corrupt(data []byte, start int, kind string) []byte {
	doc := data[start:]
	switch kind {
	case badJSON:
		if i := bytes.IndexByte(doc, ':'); i >= 0 {
			doc[i] = '='
		}
	case truncatedJSON:
		return data[:start+len(doc)/2]
	case nanNumber:
		for _, key := range []string{`"created":`, `"sequence_number":`, `"index":`} {
			i := bytes.Index(doc, []byte(key))
			if i < 0 {
				continue
			}
			from := start + i + len(key)
			to := from
			for to < len(data) && data[to] >= '0' && data[to] <= '9' {
				to++
			}
			return splice(data, from, to, "NaN")
		}
	case rawNewline:
		if i := bytes.IndexByte(doc, ':'); i >= 0 {
			return splice(data, start+i+1, start+i+1, "\n")
		}
	case wrongTypes:
		if i := bytes.Index(doc, []byte(`"choices":`)); i >= 0 {
			at := start + i + len(`"choices":`)
			return splice(data, at, at, `"none","were":`)
		}
		return append(data[:start], `["not","an","object"]`...)
	case notSSE:
		return append(data[:bytes.LastIndexAny(data[:start], "\r\n")+1], "this is no event"...)
	case twoObjects:
		return append(data, doc...)
	case invalidUTF8:
		for _, key := range []string{`"content":"`, `"text":"`, `"delta":"`, `"thinking":"`, `"reasoning`, `"id":"`} {
			if i := bytes.Index(doc, []byte(key)); i >= 0 {
				at := start + i + len(key)
				return splice(data, at, at, "\xff\xfe")
			}
		}
	}
	return data
}

// splice replaces data[from:to].
func splice(data []byte, from, to int, with string) []byte {
	tail := bytes.Clone(data[to:])
	return append(append(data[:from], with...), tail...)
}
