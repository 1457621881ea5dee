package answer

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
		want       Detail
	}{
		{"OpenAI", `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, Detail{"m", "t", "c"}},
		{"vLLM, code as a number", `{"error":{"message":"m","type":"BadRequestError","code":400}}`, Detail{"m", "BadRequestError", "400"}},
		{"TGI, OpenAI route", `{"error":{"message":"m","http_status_code":422}}`, Detail{"m", "", "422"}},
		{"Anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}`, Detail{"m", "overloaded_error", ""}},
		{"TGI", `{"error":"m","error_type":"validation"}`, Detail{"m", "validation", ""}},
		{"bare error", `{"error":"Unauthorized"}`, Detail{"Unauthorized", "", ""}},
		{"SGLang", `{"object":"error","message":"m","type":"t","param":null,"code":400}`, Detail{"m", "t", "400"}},
		{"Responses event", `{"type":"error","code":"c","message":"m","param":null}`, Detail{"m", "", "c"}},
		{"Responses failed", `{"type":"response.failed","response":{"error":{"code":"c","message":"m"}}}`, Detail{"m", "response.failed", "c"}},
		{"FastAPI text", `{"detail":"m"}`, Detail{"m", "", ""}},
		{"FastAPI object", `{"detail":{"error":{"message":"m","code":"c"}}}`, Detail{"m", "", "c"}},
		{
			"FastAPI list", `{"detail":[{"loc":["body","messages",0],"msg":"one","type":"x"},{"msg":"two"},"three",{}]}`,
			Detail{"body.messages.0: one; two; three", "", ""},
		},
		{"TEI, OpenAI route", `{"message":"m","code":413,"error_type":"Validation"}`, Detail{"m", "Validation", "413"}},
		{"Cohere", `{"message":"m"}`, Detail{"m", "", ""}},
		{"AWS", `{"Message":"m"}`, Detail{"m", "", ""}},
		{"list of errors", `{"errors":[{},{"message":"m","code":3}]}`, Detail{"m", "", "3"}},
		{"problem", `{"title":"t","detail":"d"}`, Detail{"d", "", ""}},
		{"problem without detail", `{"title":"t","detail":null}`, Detail{"t", "", ""}},
		{"Gemini", `[{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}]`, Detail{"m", "", "404"}},
		{"HTML", "<html><head><title>\n 502 Bad &amp; Gateway </title></head><body>x</body>", Detail{"502 Bad & Gateway", "", ""}},
		{"HTML without title", "<html><style>p{}</style><p>no<b>thing</b></p></html>", Detail{"no thing", "", ""}},
		{"Envoy", "upstream connect error\n or  disconnect", Detail{"upstream connect error or disconnect", "", ""}},
		{"long text", long, Detail{long[:300], "", ""}},
		{"empty", "", Detail{"Bad Gateway", "", ""}},
		{"white space", " \r\n", Detail{"Bad Gateway", "", ""}},
		{"wrong types", `{"error":{"message":{"message":5},"type":[],"code":{}},"detail":7}`, Detail{`{"error":{"message":{"message":5},"type":[],"code":{}},"detail":7}`, "", ""}},
		{"empty message, then another", `{"error":{"message":""},"message":"m"}`, Detail{"m", "", ""}},
		{"not JSON after all", `{"error":`, Detail{`{"error":`, "", ""}},
		{"NaN beside it", `{"error":{"message":"m","score":NaN}}`, Detail{"m", "", ""}},
		{"too deep", strings.Repeat(`{"error":`, 20) + `"m"` + strings.Repeat("}", 20), Detail{strings.Repeat(`{"error":`, 20) + `"m"` + strings.Repeat("}", 20), "", ""}},
		{"no UTF-8", "caf\xe9", Detail{"caf\ufffd", "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Describe([]byte(tt.body), 502), cmp.AllowUnexported(Detail{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := Describe(nil, 529).Message; got != "HTTP status 529" {
		t.Errorf("a status without text gives %q", got)
	}
	big := Describe([]byte(`{"error":"`+strings.Repeat("é", 4000)+`"}`), 500).Message
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
