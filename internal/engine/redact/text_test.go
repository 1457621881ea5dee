package redact_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"aiperfd/internal/engine/redact"
)

// unchanged texts hold no secret; prose, JSON and logs.
var unchanged = []string{
	"", "cookie monster", "the cookie: ", "max_tokens=100, output tokens: 12", "tokenizer: meta-llama/Llama-3.1-8B",
	`{"max_tokens":128,"tokens":[1,2],"tokenizer":"gpt2","time_to_first_token":{"unit":"ms","avg":1.5}}`,
	`{"session_id":"3f2a9c1e-0000-4444-8888-123456789abc","session":"conv-000001-abcdef"}`,
	`{"token":"Hello","logprob":-0.1,"bytes":[72]}`, `{"token":12,"key":"region","value":"eu-west-1"}`,
	`{"key":"gen_ai.request.top_p2_value","auth":true}`,
	"unexpected token: }", "Invalid token: '<'", "first token: 12ms after abcdef123456", "sort key=name", "token=5",
	"Bearer token is missing", "Bearer authentication required", `WWW-Authenticate: Bearer realm="api", error="invalid_token"`,
	"Basic usage of the basic API", "a bearer of bad news", "Basic HTTP 101 course",
	"hf_tei_rankings and hf-tei-rankings", "hf-internal-testing/tiny-random-gpt2", "skeletonization of risk-assessments",
	"skylake2024xeon", "pkg-config", "sk-1", "foo@bar", "mail a@b.c or http://h/x and c@d.e",
	"http://localhost:8000/v1?token_count=3&monkey=1", "dial tcp [::1]:8000: connect: connection refused",
	"http://h:8000/v1", "std::token::Type", "12:34:56 key: value", "password:", "password is wrong", "the password = ",
	"password: null, secret=None", `{"password":null,"secret":true,"cookie":{}}`, "api_key=${API_KEY}",
	"by reference `${secret:NAME}` only", "`;api_key=`, `key=`/`secret=`-like values", "send `Authorization: Bearer` too",
	"Idempotency-Key: nightly-2026-05-04", "PWD=/home/user/project1", "author: me", "function signature: f(x)", "sig = 9",
	"<redacted>", "Authorization: <redacted>", "http://<redacted>@h/?key=<redacted>", `{"password":"<redacted>"}`,
	"eyJhbGciOiJIUzI1NiJ9", "日本語: トークン=値", "\x00\xff=\xfe:",
}

func TestTextUnchanged(t *testing.T) {
	for _, in := range unchanged {
		if got := redact.Text(in); got != in {
			t.Errorf("Text(%q) = %q, want it unchanged", in, got)
		}
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		// R stands for the placeholder.
		{"Cannot connect to host http://u:p@h:80/", "Cannot connect to host http://R@h:80/"},
		{`Get "http://u:p@ss@h/v1?api_key=S&x=1": dial`, `Get "http://R@h/v1?api_key=R&x=1": dial`},
		{"(see http://tokenonly@h)", "(see http://R@h)"},
		{"http://u:p/ss@h failed", "http://R@h failed"},
		{`{"u":"http:\/\/u:p@h\/x"}`, `{"u":"http:\/\/R@h\/x"}`},
		{"http+unix://u:p@h", "http+unix://R@h"},
		{"http://h/?next=http://u:p@i", "http://h/?next=http://R@i"},
		{"GET /metrics?token=T http/2", "GET /metrics?token=R http/2"},
		{`GET \"/x?a=1\u0026key=S\u0026b=2\"`, `GET \"/x?a=1\u0026key=R\u0026b=2\"`},
		{"http://h/;api_key=S#access_token=T", "http://h/;api_key=R#access_token=R"},
		{"http://h/?a=1&amp;code=S", "http://h/?a=1&amp;code=R"},
		{"(http://h/?key=S).", "(http://h/?key=R)."},

		{"Bearer abc", "Bearer R"},
		{"got bearer abcdef0123456789abcdef", "got bearer R"},
		{"Bearer%20abc123", "Bearer%20R"},
		{"Basic dXNlcjpwYXNz", "Basic R"},
		{"Basic dTpw.", "Basic R."},
		{`"Bearer abc=",`, `"Bearer R",`},
		{"key sk-secret-12345!", "key R!"},
		{"sk-abcdefghijklmnop", "R"},
		{"hf_AbCdEfGhIjKlMnOp", "R"}, {"nvapi-0123456789abcd", "R"}, {"AKIAIOSFODNN7EXAMPLE", "R"},
		{"aiperfd_QAIFD24HVN676RQZYWYDMYITR6", "R"}, {"aiperfd_http_requests_total aiperfd_QAIFD24HVN676QZ", "aiperfd_http_requests_total aiperfd_QAIFD24HVN676QZ"},
		{"xoxb-123456789012-abc", "R"}, {"ghp_0123456789abcdefABCD", "R"}, {"pk_live_0123456789", "R"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "R"},

		{"access_token=abc password=hunter2", "access_token=R password=R"},
		{"token=abc", "token=R"},
		{"api_key: S, x", "api_key: R, x"},
		{"API key: S", "API key: R"},
		{"password=12345;x", "password=R;x"},
		{"password='it\\'s' x", "password='R' x"},
		{`password="a b" x`, `password="R" x`},
		{"secret => abc", "secret => R"},
		{"key=abcd1234", "key=R"},
		{"auth: 0123456789abcdef", "auth: R"},
		{"X-Acme-Token: t", "X-Acme-Token: R"},
		{"--api-key=abc", "--api-key=R"},
		{"Authorization: Custom a b c\nX: y", "Authorization: R\nX: y"},
		{"Cookie: a=b; c=d\r\nX: y", "Cookie: R\r\nX: y"},
		{"authorization=abc status=200", "authorization=R status=200"},
		{"authorization=Bearer abc", "authorization=R"},

		{`{"password":"S","n":1}`, `{"password":"R","n":1}`},
		{`{"password": 12345}`, `{"password": "R"}`},
		{`{"password":"a\"b\\","n":1}`, `{"password":"R","n":1}`},
		{`{"e":"{\"api_key\":\"S\",\"n\":1}"}`, `{"e":"{\"api_key\":\"R\",\"n\":1}"}`},
		{`{"e":"\"password\":"}`, `{"e":"\"password\":"}`},
		{`{"e":"{\"password\": 12}"}`, `{"e":"{\"password\": \"R\"}"}`},
		{`{"e":"password=abc\\","n":1}`, `{"e":"password=R","n":1}`},
		{`{"e":"password='abc","n":"it's"}`, `{"e":"password='R","n":"it's"}`},
		{`{"e":"Authorization: Bearer abc","n":1}`, `{"e":"Authorization: R","n":1}`},
		{`{"e":"Authorization: x\nY: z"}`, `{"e":"Authorization: R\nY: z"}`},
		{`{"Authorization":["Bearer a","b"],"n":[1]}`, `{"Authorization":["R","R"],"n":[1]}`},
		{`{"token":"abcdef0123456789"}`, `{"token":"R"}`},
		{`{'authorization': b'Bearer x', 'n': 1}`, `{'authorization': b'R', 'n': 1}`},
		{"map[Authorization:[Bearer x] X:[y]]", "map[Authorization:[R] X:[y]]"},
	} {
		want := strings.ReplaceAll(tc.want, "R", redact.Placeholder)
		got := redact.Text(tc.in)
		if got != want {
			t.Errorf("Text(%q)\n got %q\nwant %q", tc.in, got, want)
		}
		if again := redact.Text(got); again != got {
			t.Errorf("Text(%q) = %q, then %q", tc.in, got, again)
		}
		if json.Valid([]byte(tc.in)) && !json.Valid([]byte(got)) {
			t.Errorf("Text(%q) = %q is no longer JSON", tc.in, got)
		}
	}
}

// TestTextLinear runs hostile texts of two lengths. Eight times the length may
// take eight times as long, and half of 64 times, what quadratic code would take,
// is beyond what a busy machine does to the best of fifty.
func TestTextLinear(t *testing.T) {
	set := redact.NewSet("aaaaaaab", "abababab", "password")
	took := func(unit string, size int) time.Duration {
		text := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		redact.Text(text)
		redact.URL("http://h/" + text)
		set.String(text)
		redact.CommandLine("x", []string{"--url", text, "--extra-inputs", text, "-H", text, "-" + text}, flagTable())
		return time.Since(start)
	}
	const small, large = 16 << 10, 128 << 10
	for _, unit := range []string{
		"a", "=", "token=", "token:", `token="`, `token='`, "key=a1/", "Bearer ", "basic a", "http://", "http://a:b/", "u:p@", `\"`, `\`,
		"?token=", "&a;", "sk-", "password", "authorization:[", `"password":["`, "password='", "<redacted>", "a.", "-", "api key:", "eyJ.",
		"http%3A%2F%2F", ",a:", "?a=http%253A//", "://@", "ab\n", `\n`, "0123456789abcdef\n", "passw\n", "aaaa\n    ",
	} {
		ratio := math.Inf(1)
		for range 50 {
			if ratio <= 32 {
				break
			}
			ratio = min(ratio, float64(took(unit, large))/float64(took(unit, small)))
		}
		if ratio > 32 {
			t.Errorf("%d KiB of %q takes %.0f times as long as %d KiB", large>>10, unit, ratio, small>>10)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range append(unchanged,
		`{"password":"a\"b\\","n":1}`, "http://u:p@h/?key=S#code=x", `authorization: "x`, "Bearer abc= token='x",
		`\"api_key\": \"x\"`, "api key: x max token=abc1", "password=http://u:p@h", `cookie:["a","b`, "secret:[x]y",
		"Bearer max token=abc1", "BeArer token=A", `"sig":-1.5e3}`) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := redact.Text(text)
		if twice := redact.Text(once); twice != once {
			t.Errorf("Text(%q)\n is %q\nthen %q", text, once, twice)
		}
		doc, err := json.Marshal(map[string]string{"m": text})
		if err != nil {
			t.Fatal(err)
		}
		if got := redact.Text(string(doc)); !json.Valid([]byte(got)) {
			t.Errorf("Text(%s) = %s is not JSON", doc, got)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(once)) {
			t.Errorf("Text(%s) = %s is no longer JSON", text, once)
		}
	})
}
