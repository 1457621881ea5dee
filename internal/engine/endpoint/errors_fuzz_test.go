package endpoint

import (
	"net/http"
	"slices"
	"testing"
	"unicode/utf8"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/answer"
	"aiperfd/internal/engine/endpoint/openai"
)

// FuzzStatus: every response with an error status becomes a failure of a
// known class, with a short message and a delay that can be believed.
func FuzzStatus(f *testing.F) {
	for _, body := range []string{
		`{"error":{"message":"m","type":"t","code":400}}`, `{"error":"m","error_type":"t"}`, `{"object":"error","message":"m","code":"c"}`,
		`{"detail":[{"loc":["body","x"],"msg":"m","type":"t"}]}`, `{"ErrorCode":"x","OriginalMessage":"{\"error\":\"y\"}","OriginalStatusCode":400}`,
		"<html><title>502 Bad Gateway</title></html>", "[[[[", "{'error': 'm'}", "\xff\xfe",
	} {
		f.Add(400, []byte(body), "1", "")
		f.Add(503, []byte(body), "Wed, 21 Oct 2015 07:28:00 GMT", "/elsewhere?key=k")
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, after, location string) {
		resp := &bench.Response{
			Status: 300 + (status&0xffff)%700, Framing: bench.FramingJSON, Body: body, BodyAt: 1,
			Header: http.Header{"Retry-After": {after}, "Location": {location}, "Date": {"Wed, 21 Oct 2015 07:00:00 GMT"}},
		}
		a := answer.Decode(openai.Grammar())(resp, true)
		failure := a.Failure
		switch {
		case failure == nil || !slices.Contains(bench.Classes(), failure.Class):
			t.Fatalf("failure %+v", failure)
		case failure.Message == "" || len(failure.Message) > longestError || !utf8.ValidString(failure.Message):
			t.Errorf("message of %d bytes: %.200q", len(failure.Message), failure.Message)
		case failure.RetryAfter < 0 || failure.RetryAfter > longestWait:
			t.Errorf("retry after %v", failure.RetryAfter)
		}
	})
}
