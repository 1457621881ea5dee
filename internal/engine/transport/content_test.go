package transport

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// repeated is a body of a text that repeats.
type repeated struct {
	text  string
	count int
}

func (c repeated) Len() int { return len(c.text) * c.count }

func (c repeated) Open() io.Reader { return strings.NewReader(strings.Repeat(c.text, c.count)) }

// A body that is written while it is sent arrives whole in every way, and again after a redirect.
func TestContentOnTheWire(t *testing.T) {
	content := repeated{"0123456789", 300_001}
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			got := make(chan string, 3)
			st := perform(t, func(n int, c peer, r *bufio.Reader) {
				for {
					req, body := take(r)
					if req == nil {
						return
					}
					got <- body
					if req.URL.Path == "/v1" && n == 0 {
						io.WriteString(c, "HTTP/1.1 307 Temporary Redirect\r\nLocation: /v2\r\nContent-Length: 0\r\n\r\n")
						continue
					}
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				}
			}, Options{Dial: way.dial, TLS: way.tls})
			x := st.client.Do(t.Context(), &Request{URL: st.url, Header: http.Header{}, Content: content})
			if f := x.Response.Failure; f != nil || x.Conn.Sent != 3_000_010 {
				t.Fatalf("failure %v, %d bytes sent", f, x.Conn.Sent)
			}
			for range 2 {
				body := ""
				select {
				case body = <-got:
				default: // a server answers when it has the body
				}
				if body != strings.Repeat("0123456789", 300_001) {
					t.Errorf("%d bytes arrived that are not those of the body", len(body))
				}
			}
		})
	}
}

func TestWholeBody(t *testing.T) {
	for want, r := range map[string]*Request{
		"plain": {Body: []byte("plain")}, "abab": {Content: repeated{"ab", 2}}, "": {},
	} {
		if got := r.WholeBody(); !bytes.Equal(got, []byte(want)) || r.BodySize() != len(want) {
			t.Errorf("body %q of %d bytes, want %q", got, r.BodySize(), want)
		}
	}
}
