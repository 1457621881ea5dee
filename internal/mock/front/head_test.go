package front

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestParseHead(t *testing.T) {
	line, host, length := "POST /v1/completions HTTP/1.1\r\n", "Host: a:1\r\n", "Content-Length: 12\r\n"
	tests := []struct {
		name string
		text string
		want verdict
	}{
		{"least", line + host + length + "\r\n", ours},
		{"below the prefix", strings.Replace(line, "/v1", "/p/v1", 1) + host + length + "\r\n", ours},
		{"more headers", line + host + length + "Accept: a, b;q=\"1\"\r\nx_y: \t\r\nconnection: Keep-Alive\r\n\r\n", ours},
		{"nothing", "", needMore},
		{"half a line", line[:9], needMore},
		{"no blank line", line + host + length + "\r", needMore},
		{"other method", strings.Replace(line, "POST", "PUT", 1) + host + length + "\r\n", unusual},
		{"other path", strings.Replace(line, "/v1", "/v2", 1) + host + length + "\r\n", unusual},
		{"bare line feeds", strings.ReplaceAll(line+host+length+"\r\n", "\r\n", "\n") + "\r\n\r\n", unusual},
		{"no length", line + host + "\r\n", unusual},
		{"two lengths", line + host + length + length + "\r\n", unusual},
		{"signed length", line + host + "Content-Length: +1\r\n\r\n", unusual},
		{"empty length", line + host + "Content-Length:\r\n\r\n", unusual},
		{"large body", line + host + "Content-Length: 1048577\r\n\r\n", unusual},
		{"huge length", line + host + "Content-Length: 99999999999999999999\r\n\r\n", unusual},
		{"no host", line + length + "\r\n", unusual},
		{"two hosts", line + host + host + length + "\r\n", unusual},
		{"space before the colon", line + host + "Content-Length : 12\r\n\r\n", unusual},
		{"folded line", line + host + length + "A: b\r\n c: d\r\n\r\n", unusual},
		{"control character", line + host + length + "A: b\x00\r\n\r\n", unusual},
		{"transfer encoding", line + host + length + "Transfer-Encoding: chunked\r\n\r\n", unusual},
		{"expectation", line + host + length + "Expect: 100-continue\r\n\r\n", unusual},
		{"end of the connection", line + host + length + "Connection: close\r\n\r\n", unusual},
		{"two ids", line + host + length + "X-Request-Id: a\r\nX-Request-ID: b\r\n\r\n", unusual},
		{"too long", line + host + length + "A: " + strings.Repeat("b", headLimit) + "\r\n\r\n", unusual},
	}
	for _, tt := range tests {
		head, got := parseHead([]byte(tt.text), serves)
		if got != tt.want {
			t.Errorf("%s: verdict %d, want %d", tt.name, got, tt.want)
		}
		if got == ours && (head.length != 12 || head.size != len(tt.text)) {
			t.Errorf("%s: %d bytes of head, %d of body; want %d, 12", tt.name, head.size, head.length, len(tt.text))
		}
	}
}

// FuzzParseHead checks that net/http parses every request that the front accepts to the
// same request.
func FuzzParseHead(f *testing.F) {
	f.Add([]byte("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX-Request-Id: a\r\n\r\n{}"))
	f.Add([]byte("POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nAuthorization: Bearer x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		head, v := parseHead(data, serves)
		if v != ours {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			t.Fatalf("net/http: %v", err)
		}
		if r.Method != http.MethodPost || r.URL.RequestURI() != head.Path || r.ContentLength != int64(head.length) || r.Close ||
			r.Header.Get("X-Request-Id") != head.RequestID || r.Header.Get("X-Correlation-Id") != head.CorrelationID ||
			r.Header.Get("Authorization") != head.Authorization {
			t.Errorf("front: %+v; net/http: %+v", head, r)
		}
	})
}

func serves(path string) bool {
	return slices.Contains([]string{"/v1/chat/completions", "/v1/completions", "/p/v1/completions"}, path)
}
