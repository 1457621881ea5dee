package redact_test

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/redact"
)

// table is a small flag table in the shape of the program's own.
type table map[string]struct {
	kind  redact.FlagKind
	multi bool
}

func (t table) Kind(flag string) (redact.FlagKind, bool, bool) {
	row, ok := t[flag]
	return row.kind, row.multi, ok
}

var _ redact.Flags = table(nil)

func flagTable() table {
	return table{
		"model":                    {redact.Plain, false},
		"m":                        {redact.Plain, false},
		"url":                      {redact.URLs, true},
		"u":                        {redact.URLs, true},
		"header":                   {redact.Header, true},
		"H":                        {redact.Header, true},
		"h":                        {redact.Bool, false},
		"v":                        {redact.Bool, false},
		"vv":                       {redact.Bool, false},
		"streaming":                {redact.Bool, false},
		"api-key":                  {redact.Secret, false},
		"api-key-file":             {redact.File, false},
		"api-port":                 {redact.Plain, false},
		"ui":                       {redact.Plain, false},
		"request-count":            {redact.Plain, false},
		"extra-inputs":             {redact.KeyValue, true},
		"otel-url":                 {redact.URLs, false},
		"otel-resource-attributes": {redact.KeyValue, true},
		"mlflow-tag":               {redact.KeyValue, true},
		"mlflow-tracking-uri":      {redact.URLs, false},
		"gpu-telemetry":            {redact.URLs, true},
		"server-metrics":           {redact.URLs, true},
		"output-tokens-mean":       {redact.Plain, false},
		"session-header":           {redact.Plain, false},
		"secrets":                  {redact.Secret, true},
	}
}

var commandCases = []struct {
	name string
	argv []string
	want string
}{
	{"documented example",
		strings.Fields("profile --model my-model --url http://localhost:8000 --api-key sk-secret-12345 --api-port 9097 --request-count 1000"),
		"profile --model 'my-model' --url 'http://localhost:8000' --api-key '<redacted>' --api-port 9097 --request-count 1000"},
	{"secret flag", []string{"--api-key", "sk-1"}, "--api-key '<redacted>'"},
	{"secret flag inline", []string{"--api-key=sk-1"}, "--api-key='<redacted>'"},
	{"secret flag empty inline", []string{"--api-key="}, "--api-key='<redacted>'"},
	{"secret flag upper case", []string{"--API-KEY", "x"}, "--API-KEY '<redacted>'"},
	{"secret flag underscore", []string{"--api_key", "x"}, "--api_key '<redacted>'"},
	{"secret with dash", []string{"--api-key", "-dash"}, "--api-key '<redacted>'"},
	{"secret like a flag", []string{"--api-key", "--url"}, "--api-key '<redacted>'"},
	{"secret empty", []string{"--api-key", ""}, "--api-key '<redacted>'"},
	{"secret number", []string{"--api-key", "12345"}, "--api-key '<redacted>'"},
	{"secret missing", []string{"--api-key"}, "--api-key"},
	{"single dash", []string{"-api-key", "x"}, "-api-key '<redacted>'"},
	{"colon for equals", []string{"--api-key:sk-1"}, "'--api-key:<redacted>'"},
	{"several secrets", []string{"--secrets", "a", "b", "--model", "c"}, "--secrets '<redacted>' '<redacted>' --model 'c'"},

	{"header", []string{"-H", "Authorization: Bearer x"}, "-H '<redacted>'"},
	{"header long inline", []string{"--header=Authorization: Bearer x"}, "--header='<redacted>'"},
	{"header short inline", []string{"-H=Authorization: Bearer x"}, "-H='<redacted>'"},
	{"header glued", []string{"-HAuthorization: Bearer x"}, "-H'<redacted>'"},
	{"header glued behind a boolean", []string{"-vHAuthorization: Bearer x"}, "-vH'<redacted>'"},
	{"second header", []string{"-H", "X-A: 1", "Authorization: Bearer x"}, "-H 'X-A: 1' '<redacted>'"},
	{"header JSON", []string{"-H", `{"Authorization":"Bearer x"}`}, "-H '<redacted>'"},
	{"header JSON plain", []string{"-H", `{"X-A":"1"}`}, `-H '{"X-A":"1"}'`},
	{"header JSON broken", []string{"-H", `{"Authorization":"Bearer x"`}, "-H '<redacted>'"},
	{"header custom", []string{"-H", "X-Acme-Token: t"}, "-H '<redacted>'"},
	{"header with quote", []string{"-H", "Authorization: Bearer it's"}, "-H '<redacted>'"},
	{"header as two tokens", []string{"-H", "x-api-key", "val"}, "-H '<redacted>' '<redacted>'"},
	{"header name then flag", []string{"-H", "x-api-key", "--model", "m"}, "-H '<redacted>' --model 'm'"},
	{"header not quoted", []string{"-H", "Authorization:", "Basic", "dTpw==", "X-A:1"}, "-H '<redacted>' '<redacted>' '<redacted>' 'X-A:1'"},
	{"header half quoted", []string{"-H", "Authorization:Bearer", "abc"}, "-H '<redacted>' '<redacted>'"},
	{"header plain with address", []string{"-H", "X-User-Email:a@b.c"}, "-H 'X-User-Email:a@b.c'"},
	{"header plain with URL", []string{"-H", "Referer: http://u:p@h/"}, "-H 'Referer: http://<redacted>@h/'"},

	{"URL user info", []string{"--url", "http://u:p@h"}, "--url 'http://<redacted>@h'"},
	{"URL short inline", []string{"-u=http://u:p@h"}, "-u='http://<redacted>@h'"},
	{"URL glued", []string{"-uhttp://u:p@h"}, "-u'http://<redacted>@h'"},
	{"URL bare", []string{"--url", "u:p@h"}, "--url '<redacted>@h'"},
	{"URL bare in window", []string{"-u", "http://h1", "u:p@h2"}, "-u 'http://h1' '<redacted>@h2'"},
	{"URL token only", []string{"--url", "tokenonly@h"}, "--url '<redacted>@h'"},
	{"URL last at", []string{"--url", "http://u:p@ss@h"}, "--url 'http://<redacted>@h'"},
	{"URL unparsable", []string{"--url", "http://u:p/ss@h"}, "--url '<redacted>'"},
	{"URL query", []string{"--url", "http://h/?api_key=Q&token=T#f"}, "--url 'http://h/?api_key=<redacted>&token=<redacted>#f'"},
	{"second URL query", []string{"--url", "http://h1", "http://h2/?api_key=S"}, "--url 'http://h1' 'http://h2/?api_key=<redacted>'"},
	{"URL comma list", []string{"--url", "http://h1,http://u:p@h2"}, "--url 'http://h1,http://<redacted>@h2'"},
	{"hosts comma list", []string{"--url", "h1:8000,h2:8001"}, "--url 'h1:8000,h2:8001'"},
	{"comma in password", []string{"--url", "http://u:12,w@h"}, "--url 'http://<redacted>@h'"},
	{"comma in query", []string{"--url", "http://h/?api_key=X,Y"}, "--url 'http://h/?api_key=<redacted>'"},
	{"URL harmless", []string{"--url", "http://h/?token_count=3&monkey=1"}, "--url 'http://h/?token_count=3&monkey=1'"},
	{"GPU telemetry", []string{"--gpu-telemetry", "dcgm", "http://d/metrics?token=T"}, "--gpu-telemetry 'dcgm' 'http://d/metrics?token=<redacted>'"},
	{"server metrics", []string{"--server-metrics", "http://d/metrics?api_key=K"}, "--server-metrics 'http://d/metrics?api_key=<redacted>'"},
	{"OTel URL", []string{"--otel-url=http://u:p@h:4318"}, "--otel-url='http://<redacted>@h:4318'"},
	{"tracking URI", []string{"--mlflow-tracking-uri", "http://u:p@h"}, "--mlflow-tracking-uri 'http://<redacted>@h'"},
	{"URL in a plain flag", []string{"--model", "http://u:p@h/m"}, "--model 'http://<redacted>@h/m'"},
	{"URL in an unknown flag", []string{"--proxy", "http://u:p@h"}, "--proxy 'http://<redacted>@h'"},

	{"extra inputs", []string{"--extra-inputs", "api_key:X"}, "--extra-inputs 'api_key:<redacted>'"},
	{"extra inputs list", []string{"--extra-inputs", "a:1,api_key:X,Y,b:2"}, "--extra-inputs 'a:1,api_key:<redacted>,b:2'"},
	{"extra inputs JSON", []string{"--extra-inputs", `{"api_key":"X"}`}, `--extra-inputs '{"api_key":"<redacted>"}'`},
	{"extra inputs JSON deep", []string{"--extra-inputs", `{"n":1.50,"o":{"password":"X"}}`}, `--extra-inputs '{"n":1.50,"o":{"password":"<redacted>"}}'`},
	{"extra inputs JSON value", []string{"--extra-inputs", `o:{"password":"X"}`}, `--extra-inputs 'o:{"password":"<redacted>"}'`},
	{"extra inputs two tokens", []string{"--extra-inputs", "api_key", "X"}, "--extra-inputs 'api_key' '<redacted>'"},
	{"extra inputs harmless", []string{"--extra-inputs", "max_tokens:100", "min_tokens:5,ignore_eos:true"}, "--extra-inputs 'max_tokens:100' 'min_tokens:5,ignore_eos:true'"},
	{"resource attributes", []string{"--otel-resource-attributes", "api_key=X"}, "--otel-resource-attributes 'api_key=<redacted>'"},
	{"MLflow tag", []string{"--mlflow-tag", "team:a", "token:X"}, "--mlflow-tag 'team:a' 'token:<redacted>'"},

	{"unknown token", []string{"--token", "x"}, "--token '<redacted>'"},
	{"unknown hf-token", []string{"--hf-token=x"}, "--hf-token='<redacted>'"},
	{"unknown password", []string{"--password", "-x"}, "--password '<redacted>'"},
	{"unknown password then flag", []string{"--password", "--model", "m"}, "--password --model 'm'"},
	{"token file", []string{"--auth-token-file", "/p"}, "--auth-token-file '/p'"},
	{"key file", []string{"--api-key-file", "/p"}, "--api-key-file '/p'"},
	{"output tokens", []string{"--output-tokens-mean", "12"}, "--output-tokens-mean 12"},
	{"model with at", []string{"--model", "foo@bar"}, "--model 'foo@bar'"},
	{"session header", []string{"--session-header", "X-Session-ID"}, "--session-header 'X-Session-ID'"},

	{"none is a string", []string{"--ui", "none"}, "--ui 'none'"},
	{"POSIX quoting", []string{"--model", "it's"}, `--model 'it'\''s'`},
	{"inline safe", []string{"--model=a/b", "--request-count=10"}, "--model=a/b --request-count=10"},
	{"inline quoted", []string{"--model=it's me"}, `--model='it'\''s me'`},
	{"inline empty", []string{"--model="}, "--model=''"},
	{"scalars", []string{"--a", "1", "--b", "-1.5", "--c", "true", "--d", "007", "--e", "1e3", "--f", "."},
		"--a 1 --b -1.5 --c true --d '007' --e '1e3' --f '.'"},
	{"odd flag", []string{"-x y"}, "'-x y'"},
	{"boolean", []string{"--streaming", "-vv"}, "--streaming -vv"},
	{"profile as a value", []string{"profile", "--model", "profile"}, "profile --model 'profile'"},
	{"secret in a prompt", []string{"--system", "use Bearer abc123def"}, "--system 'use Bearer <redacted>'"},
}

func TestCommandLine(t *testing.T) {
	for _, tc := range commandCases {
		t.Run(tc.name, func(t *testing.T) {
			got := redact.CommandLine("aiperf", tc.argv, flagTable())
			if want := "aiperf " + tc.want; got != want {
				t.Errorf("CommandLine(%q)\n got %s\nwant %s", tc.argv, got, want)
			}
		})
	}
}

// TestCommandLineAgain checks that the line can be read by a shell and that
// redacting what it reads changes nothing.
func TestCommandLineAgain(t *testing.T) {
	for _, tc := range commandCases {
		once := redact.CommandLine("aiperf", tc.argv, flagTable())
		if twice := redact.CommandLine("aiperf", shellSplit(t, once)[1:], flagTable()); twice != once {
			t.Errorf("%s:\n once %s\ntwice %s", tc.name, once, twice)
		}
	}
}

func TestCommandLineWithoutTable(t *testing.T) {
	got := redact.CommandLine("aiperfd", []string{"serve", "--token", "x", "--url", "http://u:p@h"}, nil)
	if want := "aiperfd serve --token '<redacted>' --url 'http://<redacted>@h'"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := redact.CommandLine("aiperf", nil, nil); got != "aiperf" {
		t.Errorf("CommandLine of nothing = %q", got)
	}
}

// shellSplit reads a line like a shell that supports blanks, single quotes and
// backslashes.
func shellSplit(tb testing.TB, line string) []string {
	tb.Helper()
	var tokens []string
	var token strings.Builder
	started := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ':
			if started {
				tokens = append(tokens, token.String())
				token.Reset()
				started = false
			}
		case '\'':
			started = true
			n := strings.IndexByte(line[i+1:], '\'')
			if n < 0 {
				tb.Fatalf("open quote in %q", line)
			}
			token.WriteString(line[i+1 : i+1+n])
			i += n + 1
		case '\\':
			started = true
			i++
			token.WriteByte(line[i])
		default:
			started = true
			token.WriteByte(c)
		}
	}
	if started {
		tokens = append(tokens, token.String())
	}
	return tokens
}
