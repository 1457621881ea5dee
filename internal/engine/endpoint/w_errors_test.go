package endpoint

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
)

func TestStatusClass(t *testing.T) {
	for want, statuses := range map[bench.Class][]int{
		bench.Redirect: {300, 301, 302, 303, 307, 399}, bench.Auth: {401, 403}, bench.NotFound: {404, 405},
		bench.Timeout: {408}, bench.PayloadTooLarge: {413}, bench.RateLimited: {429}, bench.Overloaded: {503, 529},
		bench.Gateway: {502, 504, 520, 524, 527}, bench.BadRequest: {400, 402, 409, 422, 424, 460, 499},
		bench.ServerError: {500, 501, 505, 519, 528, 561, 599},
	} {
		for _, status := range statuses {
			if got := statusClass(status); got != want {
				t.Errorf("statusClass(%d) = %s, want %s", status, got, want)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	long := strings.Repeat("ab ", 200)
	for _, tt := range []struct {
		name, body string
		want       detail
	}{
		{"OpenAI", `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, detail{"m", "t", "c"}},
		{"vLLM, code as a number", `{"error":{"message":"m","type":"BadRequestError","code":400}}`, detail{"m", "BadRequestError", "400"}},
		{"TGI, OpenAI route", `{"error":{"message":"m","http_status_code":422}}`, detail{"m", "", "422"}},
		{"Anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}`, detail{"m", "overloaded_error", ""}},
		{"TGI", `{"error":"m","error_type":"validation"}`, detail{"m", "validation", ""}},
		{"bare error", `{"error":"Unauthorized"}`, detail{"Unauthorized", "", ""}},
		{"SGLang", `{"object":"error","message":"m","type":"t","param":null,"code":400}`, detail{"m", "t", "400"}},
		{"Responses event", `{"type":"error","code":"c","message":"m","param":null}`, detail{"m", "", "c"}},
		{"Responses failed", `{"type":"response.failed","response":{"error":{"code":"c","message":"m"}}}`, detail{"m", "response.failed", "c"}},
		{"FastAPI text", `{"detail":"m"}`, detail{"m", "", ""}},
		{"FastAPI object", `{"detail":{"error":{"message":"m","code":"c"}}}`, detail{"m", "", "c"}},
		{
			"FastAPI list", `{"detail":[{"loc":["body","messages",0],"msg":"one","type":"x"},{"msg":"two"},"three",{}]}`,
			detail{"body.messages.0: one; two; three", "", ""},
		},
		{"TEI, OpenAI route", `{"message":"m","code":413,"error_type":"Validation"}`, detail{"m", "Validation", "413"}},
		{"Cohere", `{"message":"m"}`, detail{"m", "", ""}},
		{"AWS", `{"Message":"m"}`, detail{"m", "", ""}},
		{"list of errors", `{"errors":[{},{"message":"m","code":3}]}`, detail{"m", "", "3"}},
		{"problem", `{"title":"t","detail":"d"}`, detail{"d", "", ""}},
		{"problem without detail", `{"title":"t","detail":null}`, detail{"t", "", ""}},
		{"Gemini", `[{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}]`, detail{"m", "", "404"}},
		{"HTML", "<html><head><title>\n 502 Bad &amp; Gateway </title></head><body>x</body>", detail{"502 Bad & Gateway", "", ""}},
		{"HTML without title", "<html><style>p{}</style><p>no<b>thing</b></p></html>", detail{"no thing", "", ""}},
		{"Envoy", "upstream connect error\n or  disconnect", detail{"upstream connect error or disconnect", "", ""}},
		{"long text", long, detail{long[:300], "", ""}},
		{"empty", "", detail{"Bad Gateway", "", ""}},
		{"white space", " \r\n", detail{"Bad Gateway", "", ""}},
		{"wrong types", `{"error":{"message":{"message":5},"type":[],"code":{}},"detail":7}`, detail{`{"error":{"message":{"message":5},"type":[],"code":{}},"detail":7}`, "", ""}},
		{"empty message, then another", `{"error":{"message":""},"message":"m"}`, detail{"m", "", ""}},
		{"not JSON after all", `{"error":`, detail{`{"error":`, "", ""}},
		{"NaN beside it", `{"error":{"message":"m","score":NaN}}`, detail{"m", "", ""}},
		{"too deep", strings.Repeat(`{"error":`, 20) + `"m"` + strings.Repeat("}", 20), detail{strings.Repeat(`{"error":`, 20) + `"m"` + strings.Repeat("}", 20), "", ""}},
		{"no UTF-8", "caf\xe9", detail{"caf\ufffd", "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, describe([]byte(tt.body), 502), cmp.AllowUnexported(detail{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := describe(nil, 529).message; got != "HTTP status 529" {
		t.Errorf("a status without text gives %q", got)
	}
	big := describe([]byte(`{"error":"`+strings.Repeat("é", 4000)+`"}`), 500).message
	if len(big) != maxMessage || big != strings.Repeat("é", maxMessage/2) {
		t.Errorf("a long message has %d bytes, want %d", len(big), maxMessage)
	}
}

func TestRetryAfter(t *testing.T) {
	const date = "Wed, 21 Oct 2015 07:28:00 GMT"
	for _, tt := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"none", nil, 0},
		{"seconds", http.Header{"Retry-After": {" 120 "}}, 2 * time.Minute},
		{"zero", http.Header{"Retry-After": {"0"}}, 0},
		{"fraction", http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		{"milliseconds win", http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"1500"}}, 1500 * time.Millisecond},
		{"bad milliseconds do not", http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"soon"}}, 9 * time.Second},
		{"date", http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:28:30 GMT"}, "Date": {date}}, 30 * time.Second},
		{"date in the past", http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:00:00 GMT"}, "Date": {date}}, 0},
		{"date without Date", http.Header{"Retry-After": {date}}, 0},
		{"negative", http.Header{"Retry-After": {"-1"}}, 0},
		{"not a number", http.Header{"Retry-After": {"NaN"}}, 0},
		{"endless", http.Header{"Retry-After": {"1e300"}}, maxRetryAfter},
	} {
		if got := retryAfter(tt.header); got != tt.want {
			t.Errorf("%s: retryAfter = %v, want %v", tt.name, got, tt.want)
		}
	}
}
