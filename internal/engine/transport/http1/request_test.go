package http1

import (
	"bufio"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestAppendHead(t *testing.T) {
	header := http.Header{
		"X-B": {" two ", "three"}, "Content-Type": {"application/json"}, "Authorization": {"Bearer x"},
		"Host": {"evil"}, "Content-Length": {"1"}, "Transfer-Encoding": {"chunked"}, "User-Agent": {"aiperfd"},
	}
	tests := []struct {
		name string
		r    Request
		want string
	}{
		{"fields are sorted", Request{Method: "POST", Target: "/v1?a=b", Host: "h:80", Header: header, Length: 12},
			"POST /v1?a=b HTTP/1.1\r\nHost: h:80\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\nUser-Agent: aiperfd\r\nX-B: two\r\nX-B: three\r\nContent-Length: 12\r\n\r\n"},
		{"not used again", Request{Method: "POST", Target: "/", Host: "h", Close: true},
			"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
		{"no body, none expected", Request{Method: "GET", Target: "/", Host: "h"}, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"close is said once", Request{Method: "PUT", Target: "/", Host: "h", Close: true, Header: http.Header{"Connection": {"Close"}}},
			"PUT / HTTP/1.1\r\nHost: h\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := AppendHead([]byte("before"), &tt.r)
			if err != nil || string(got) != "before"+tt.want {
				t.Fatalf("AppendHead = %q, %v; want %q", got, err, tt.want)
			}
			if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(tt.want))); err != nil {
				t.Errorf("net/http cannot read it: %v", err)
			}
		})
	}
}

func TestAppendHeadRefusesInjection(t *testing.T) {
	const bad = "a\r\nX-Evil: 1"
	tests := []struct {
		name string
		r    Request
	}{
		{"method", Request{Method: bad, Target: "/", Host: "h"}},
		{"no method", Request{Target: "/", Host: "h"}},
		{"target", Request{Method: "POST", Target: "/" + bad, Host: "h"}},
		{"space in the target", Request{Method: "POST", Target: "/ HTTP/1.1", Host: "h"}},
		{"no target", Request{Method: "POST", Host: "h"}},
		{"host", Request{Method: "POST", Target: "/", Host: bad}},
		{"no host", Request{Method: "POST", Target: "/"}},
		{"name", Request{Method: "POST", Target: "/", Host: "h", Header: http.Header{bad: {"x"}}}},
		{"empty name", Request{Method: "POST", Target: "/", Host: "h", Header: http.Header{"": {"x"}}}},
		{"name with a colon", Request{Method: "POST", Target: "/", Host: "h", Header: http.Header{"A:": {"x"}}}},
		{"value", Request{Method: "POST", Target: "/", Host: "h", Header: http.Header{"A": {bad}}}},
		{"line feed alone", Request{Method: "POST", Target: "/", Host: "h", Header: http.Header{"A": {"a\nb"}}}},
		{"NUL", Request{Method: "POST", Target: "/", Host: "h", Header: http.Header{"A": {"a\x00"}}}},
	}
	for _, tt := range tests {
		got, err := AppendHead(nil, &tt.r)
		if !errors.Is(err, ErrRequest) || strings.Contains(string(got), "Evil") {
			t.Errorf("%s: AppendHead = %q, %v; want ErrRequest", tt.name, got, err)
		}
		if tt.name == "value" && strings.Contains(err.Error(), "Evil") {
			t.Errorf("the error shows the value: %v", err)
		}
	}
}

func TestAppendHeadAllocatesNothing(t *testing.T) {
	r := Request{Method: "POST", Target: "/v1", Host: "h", Header: http.Header{"A": {"b"}, "C": {"d"}}, Length: 1, Close: true}
	buf := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() { buf, _ = AppendHead(buf[:0], &r) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
