package mock

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// dataOf parses a stream according to the WHATWG specification of server-sent events and
// returns the data of its events.
func dataOf(stream string) []string {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	var events []string
	var data []string
	for line := range strings.SplitSeq(stream, "\n") {
		if line == "" {
			if data != nil {
				events = append(events, strings.Join(data, "\n"))
			}
			data = nil
			continue
		}
		if name, value, _ := strings.Cut(line, ":"); name == "data" {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return events
}

const shapeChat = `{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":30,"stream":true}`

// serveOnce answers one request without a network.
func serveOnce(t *testing.T, opt options.Options, w http.ResponseWriter) {
	t.Helper()
	opt.Fast = true
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := httptest.NewRequest(http.MethodPost, chatPath, strings.NewReader(shapeChat))
	r.Header.Set("X-Request-Id", "r")
	s.Handler().ServeHTTP(w, r)
}

// TestShapes checks that the content of a stream does not depend on its form.
func TestShapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := httptest.NewRecorder()
		serveOnce(t, options.Options{}, plain)
		want := dataOf(plain.Body.String())
		if len(want) != 33 {
			t.Fatalf("%d events: %q", len(want), want)
		}
		for _, tt := range []struct {
			name string
			opt  options.Options
			has  string
		}{
			{"cr", options.Options{LineEnd: options.LineCR}, "}\r\rdata: {"},
			{"mixed", options.Options{LineEnd: options.LineMixed}, "}\n\ndata: "},
			{"mixed too", options.Options{LineEnd: options.LineMixed}, "}\r\n\r\ndata: "},
			{"mixed three", options.Options{LineEnd: options.LineMixed}, "}\r\rdata: "},
			{"bom", options.Options{BOM: true}, "\ufeffdata: "},
			{"no space", options.Options{NoSpace: true}, "data:{\"id\""},
			{"extra fields", options.Options{ExtraFields: true}, "id: 7\nretry: 3000\nx-unknown: 1\ndata: {"},
			{"several lines", options.Options{MultiLine: true}, "data: {\"id\":\"chatcmpl-r\",\ndata: \"object\""},
			{"everything", options.Options{MultiLine: true, ExtraFields: true, NoSpace: true, BOM: true, LineEnd: options.LineCRLF, Coalesce: 7}, "\r\ndata:\"object\""},
			{"event named", options.Options{Done: options.DoneNamed}, "event: done\ndata: [DONE]\n\n"},
		} {
			got := httptest.NewRecorder()
			serveOnce(t, tt.opt, got)
			if !strings.Contains(got.Body.String(), tt.has) {
				t.Errorf("%s: no %q in %.300q", tt.name, tt.has, got.Body.String())
			}
			events := dataOf(got.Body.String())
			for i := range events {
				events[i] = strings.Replace(events[i], ",\n\"", ",\"", 1)
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("%s (-plain +shaped):\n%s", tt.name, diff)
			}
		}
		ends := httptest.NewRecorder()
		serveOnce(t, options.Options{Done: options.DoneNoNewline}, ends)
		if !strings.HasSuffix(ends.Body.String(), "\n\ndata: [DONE]") {
			t.Errorf("no newline: %q", ends.Body.String())
		}
		ends = httptest.NewRecorder()
		serveOnce(t, options.Options{Trailing: "rubbish"}, ends)
		if !strings.HasSuffix(ends.Body.String(), "data: [DONE]\n\nrubbish") {
			t.Errorf("trailing: %q", ends.Body.String())
		}
	})
}

// writesRecorder records every write.
type writesRecorder struct {
	header http.Header
	writes []string
}

func (w *writesRecorder) Header() http.Header { return w.header }
func (w *writesRecorder) WriteHeader(int)     {}
func (w *writesRecorder) Write(b []byte) (int, error) {
	w.writes = append(w.writes, string(b))
	return len(b), nil
}
func (w *writesRecorder) Flush() {}

// TestSplits checks that writes are split according to the option, and nothing is lost.
func TestSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := httptest.NewRecorder()
		serveOnce(t, options.Options{Content: options.ContentUnicode}, whole)
		for _, tt := range []struct {
			split string
			good  func(write string) bool // of all but the last write of an event
			least int
		}{
			{"bytes:7", func(w string) bool { return len(w) == 7 }, 300},
			{options.SplitEveryByte, func(w string) bool { return len(w) == 1 }, 2000},
			{options.SplitRandom, func(w string) bool { return len(w) > 0 }, 60},
			{options.SplitMidUTF8, func(w string) bool { return !utf8.ValidString(w) }, 35},
			{options.SplitBeforeNewline, func(w string) bool { return !strings.Contains(w[1:], "\n") }, 90},
		} {
			w := &writesRecorder{header: http.Header{}}
			serveOnce(t, options.Options{Content: options.ContentUnicode, Split: tt.split}, w)
			if got := strings.Join(w.writes, ""); got != whole.Body.String() {
				t.Errorf("%s: the stream has changed: %.200q", tt.split, got)
			}
			if len(w.writes) < tt.least {
				t.Errorf("%s: %d writes, want at least %d", tt.split, len(w.writes), tt.least)
			}
			for _, write := range w.writes {
				if !tt.good(write) && !strings.HasSuffix(write, "\n") {
					t.Errorf("%s: write %q", tt.split, write)
				}
			}
		}
	})
	for split, want := range map[string]string{"bytes:0": `split is "bytes:0", want bytes:N with N ≥ 1`, "bytes:": "want bytes:N"} {
		if _, err := New(options.Options{Split: split}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New with split %q: %v", split, err)
		}
	}
}

// TestStreamType: the content type of streams can be wrong or missing, on both
// ways to the server.
func TestStreamType(t *testing.T) {
	for mode, want := range map[string][]string{
		options.StreamTypeRight: {api.EventStream}, options.StreamTypePlain: {"text/plain"}, options.StreamTypeJSON: {"application/json"}, options.StreamTypeMissing: nil,
	} {
		for name, opt := range map[string]options.Options{"front": {}, "handler": {Comments: time.Hour}} {
			opt.Fast, opt.StreamType = true, mode
			r := newTCPRig(t, opt)
			a := r.post(chatPath, shapeChat)
			if diff := cmp.Diff(want, a.header["Content-Type"]); diff != "" || len(dataOf(a.body)) != 33 {
				t.Errorf("%s, %s: %s\n%d events", mode, name, diff, len(dataOf(a.body)))
			}
			r.stop()
		}
	}
}

// TestMoreFaults checks the actions of fault/kind.go.
func TestMoreFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			rule, body string
			status     int
			header     [2]string
			has        string
			fails      bool
		}{
			{"kind:rate_limit", shapeChat, 429, [2]string{"Retry-After", "1"}, `"code":"rate_limit_exceeded"`, false},
			{"kind:rate_limit,retry_after=7,body=text", shapeChat, 429, [2]string{"Retry-After", "7"}, "Too Many Requests (simulated fault)", false},
			{"kind:invalid_api_key", shapeChat, 401, [2]string{}, `"code":"invalid_api_key"`, false},
			{"kind:context_length", shapeChat, 400, [2]string{}, "maximum context length is 4096 tokens", false},
			{"kind:model_not_found", shapeChat, 404, [2]string{}, "model_not_found", false},
			{"kind:overloaded", shapeChat, 503, [2]string{}, "currently overloaded", false},
			{"kind:bad_gateway", shapeChat, 502, [2]string{"Content-Type", "text/html"}, "<h1>502 Bad Gateway</h1>", false},
			{"html_200", shapeChat, 200, [2]string{"Content-Type", "text/html"}, "<html>", false},
			{"redirect:307,requests=1", shapeChat, 307, [2]string{"Location", chatPath}, "", false},
			{"bad_chunk:after_tokens:3", shapeChat, 200, [2]string{}, "data: {", true},
			{"empty:choices", shapeChat, 200, [2]string{}, "data: [DONE]", false},
			{"empty:choices", `{"messages":[{"role":"user","content":"x"}]}`, 200, [2]string{}, `"choices":[],"usage"`, false},
			{"malformed:after_tokens:2,kind=raw_newline", shapeChat, 200, [2]string{}, "\"id\":\n\"chatcmpl", false},
			{"malformed:after_tokens:2,kind=wrong_field_types", shapeChat, 200, [2]string{}, `"choices":"none","were":[{`, false},
			{"malformed:after_tokens:2,kind=not_sse", shapeChat, 200, [2]string{}, "\n\nthis is no event\n\ndata: {", false},
			{"malformed:after_tokens:2,kind=two_objects", shapeChat, 200, [2]string{}, `]}{"id":"chatcmpl-`, false},
			{"malformed:after_tokens:0,kind=not_sse", `{"messages":[{"role":"user","content":"x"}]}`, 200, [2]string{}, "this is no event", false},
		} {
			r := newRig(t, options.Options{Faults: mustFaults(t, tt.rule)})
			r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			a := r.post(chatPath, tt.body)
			if a.status != tt.status || !strings.Contains(a.body, tt.has) || (a.err != nil) != tt.fails {
				t.Errorf("%s: %d %.300q, error %v, want %d %q", tt.rule, a.status, a.body, a.err, tt.status, tt.has)
			}
			if tt.header[0] != "" && a.header.Get(tt.header[0]) != tt.header[1] {
				t.Errorf("%s: %s is %q, want %q", tt.rule, tt.header[0], a.header.Get(tt.header[0]), tt.header[1])
			}
			if record := r.lastTruth(); record.Outcome != api.OutcomeFault+tt.rule {
				t.Errorf("%s: outcome %s", tt.rule, record.Outcome)
			}
			r.stop()
		}
		for rule, want := range map[string]string{
			"kind:odd": `unknown kind "odd", accepted: rate_limit, `, "redirect:200": "redirect is 200, accepted: 301", "slow_body:0": "slow_body is 0, accepted: 1 to",
			"slow_body:x": "want bytes per second", "html_200:x": "html_200 takes no argument", "bad_chunk:here": `unknown position "here"`,
		} {
			if _, err := options.ParseFault(rule); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("ParseFault(%s) = %v, want %q", rule, err, want)
			}
		}
	})
}

// TestSlowBody checks that the duration of a body matches its rate, streamed or not.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{Fast: false, TTFT: random.ConstDelay(0), ITL: random.ConstDelay(0), Faults: mustFaults(t, "slow_body:1000")})
		for _, body := range []string{shapeChat, `{"messages":[{"role":"user","content":"x"}]}`} {
			begin := time.Now()
			a := r.post(chatPath, body)
			took, want := time.Since(begin), time.Duration(len(a.body))*time.Millisecond
			if a.err != nil || took < want-100*time.Millisecond || took > want+100*time.Millisecond {
				t.Errorf("%d bytes took %v, error %v", len(a.body), took, a.err)
			}
		}
	})
}

// TestControlHeaders checks that a request controls its own answer.
func TestControlHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{})
		ask := func(header ...string) (reply, time.Duration) {
			t.Helper()
			begin := time.Now()
			resp, err := r.send(t.Context(), chatPath, shapeChat, header...)
			a := r.read(resp, err)
			return a, time.Since(begin)
		}
		if a, took := ask("X-Mock-TTFT", "1s", "X-Mock-ITL", "const:10ms", "X-Mock-Tokens", "11"); took != 1100*time.Millisecond || len(dataOf(a.body)) != 14 {
			t.Errorf("times: %v and %d events, want 1.1 s and 14", took, len(dataOf(a.body)))
		}
		if a, _ := ask("X-Mock-Status", "418"); a.status != 418 {
			t.Errorf("status: %d", a.status)
		}
		if a, _ := ask("X-Mock-Action", "close:after_tokens:2"); a.err == nil || len(dataOf(a.body)) != 3 {
			t.Errorf("action: %v, %q", a.err, a.body)
		}
		for header, want := range map[string]string{
			"X-Mock-Status=20": "status is 20, accepted", "X-Mock-Action=boom": `unknown action \"boom\"`, "X-Mock-TTFT=soon": "is not a duration",
			"X-Mock-Tokens=0": `X-Mock-Tokens is \"0\", want a whole number between 1 and 131072`,
		} {
			name, value, _ := strings.Cut(header, "=")
			if a, _ := ask(name, value); a.status != 400 || !strings.Contains(a.body, want) {
				t.Errorf("%s: %d %s, want %s", header, a.status, a.body, want)
			}
		}
		r.stop()
		r = newRig(t, options.Options{NoControlHeaders: true, Cases: []options.Case{{ID: "c", Status: 204, End: options.Tail{How: options.EndEOF}}}})
		if a, _ := ask("X-Mock-Status", "418", "X-Mock-Case", "c"); a.status != 200 {
			t.Errorf("without control headers: status %d", a.status)
		}
		r.stop()
		r = newRig(t, options.Options{Accelerator: tiny(t)})
		if a, _ := ask("X-Mock-ITL", "1s"); a.status != 400 || !strings.Contains(a.body, "an accelerator gives the times") {
			t.Errorf("with an accelerator: %d %s", a.status, a.body)
		}
	})
}

// TestChunkTokens checks that a record has the tokens of every event that was sent.
func TestChunkTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, options.Options{TruthChunks: true, TokensPerChunk: random.ConstLength(4), Faults: mustFaults(t, "close:after_tokens:8,requests=2")})
		for _, want := range [][]int{{4, 4, 4, 4, 4, 4, 4, 2}, {4, 4}} {
			r.post(chatPath, shapeChat)
			if got := r.lastTruth(); !cmp.Equal(got.ChunkTokens, want) || len(got.ChunkNs) != len(want) {
				t.Errorf("tokens %v, %d times, want %v", fmt.Sprint(got.ChunkTokens), len(got.ChunkNs), want)
			}
		}
	})
}
