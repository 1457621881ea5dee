package api

import (
	"fmt"
	"net/http"
	"strings"

	"aiperfd/internal/mock/options"
)

// hugeBody is the size of the body "huge", in bytes.
const hugeBody = 1 << 20

// FaultBody returns the body of the error response of a rule to a request, and its content
// type; "" = none.
func FaultBody(f *options.Fault, r *http.Request) (data []byte, kind string) {
	text := http.StatusText(f.Status)
	message := text + " (simulated fault)"
	openAI := func(message, class, code string) []byte {
		return fmt.Appendf(nil, `{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`,
			quote(message), quote(class), quote(code))
	}
	switch refusal := &f.Refusal; {
	case refusal.Type != "":
		return openAI(refusal.Message, refusal.Type, refusal.Code), JSON
	case refusal.Message != "":
		return AppendError(nil, NewError(f.Status, refusal.Message, "")), JSON
	}
	body := f.Body
	if f.Refusal.Name != "" {
		body = options.BodyHTML
	}
	switch body {
	case options.BodyOpenAI:
		data = openAI(message, "server_error", strings.ReplaceAll(strings.ToLower(text), " ", "_"))
	case options.BodyFastAPI:
		data = fmt.Appendf(nil, `{"detail":%s}`, quote(message))
	case options.BodySGLang:
		data = fmt.Appendf(nil, `{"object":"error","message":%s,"type":%s,"param":null,"code":%d}`,
			quote(message), quote(ErrorKind(f.Status)), f.Status)
	case options.BodyText:
		return []byte(message), "text/plain; charset=utf-8"
	case options.BodyHTML:
		return fmt.Appendf(nil, "<html>\r\n<head><title>%[1]d %[2]s</title></head>\r\n<body>\r\n"+
			"<center><h1>%[1]d %[2]s</h1></center>\r\n</body>\r\n</html>\r\n", f.Status, text), "text/html"
	case options.BodyEmpty:
		return nil, ""
	case options.BodyJSONString:
		data = quote(message)
	case options.BodyHuge:
		data = fmt.Appendf(nil, `{"error":{"message":%s,"type":"server_error","param":null,"code":%d}}`,
			quote(strings.Repeat("overflow ", hugeBody/len("overflow "))), f.Status)
	case options.BodyEchoHeaders:
		data = AppendError(nil, NewError(f.Status, echo(r), ""))
	default:
		data = AppendError(nil, NewError(f.Status, message, ""))
	}
	return data, JSON
}

func quote(s string) []byte { return AppendString(nil, s) }

// echo imitates servers that repeat the request in their errors, credentials included, to
// test that clients redact secrets.
func echo(r *http.Request) string {
	var message strings.Builder
	fmt.Fprintf(&message, "request refused: %s http://%s%s", r.Method, r.Host, r.URL.RequestURI())
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key", "Cookie"} {
		if v := r.Header.Get(name); v != "" {
			fmt.Fprintf(&message, "; %s: %s", name, v)
		}
	}
	return message.String()
}
