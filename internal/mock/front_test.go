package mock

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// servedBy starts a server on a TCP port: with the front, if the platform has one, or
// with net/http alone. It returns the address.
func servedBy(t *testing.T, opt options.Options, serve ServeOptions, onlyNetHTTP bool) (*Server, string) {
	t.Helper()
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if onlyNetHTTP {
		ln = struct{ net.Listener }{ln} // not a *net.TCPListener any more
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, ln, s, serve) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s, addr
}

func dialTest(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// transcript sends requests one after the other over one connection and returns all
// bytes of the responses except the parts that depend on the time of day.
func transcript(t *testing.T, addr string, requests []string) string {
	t.Helper()
	c := dialTest(t, addr)
	var raw bytes.Buffer
	in := bufio.NewReader(io.TeeReader(c, &raw))
	for _, text := range requests {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		for range max(strings.Count(text, " HTTP/1."), 1) {
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("after %q: %v", raw.String(), err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatalf("after %q: %v", raw.String(), err)
			}
		}
	}
	now := regexp.MustCompile(`Date: [^\r]*|"created":\d+`)
	return now.ReplaceAllString(raw.String(), "TIME")
}

// post renders a request; lines are further header lines.
func post(path, body string, lines ...string) string {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: mock.test\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, len(body))
	for _, l := range lines {
		head += l + "\r\n"
	}
	return head + "\r\n" + body
}

const (
	streamBody = `{"model":"m","messages":[{"role":"user","content":"Hi there"}],"stream":true,"max_tokens":4%s}`
	plainBody  = `{"model":"m","messages":[{"role":"user","content":"Hi there"}],"max_tokens":4}`
	textBody   = `{"model":"m","prompt":["one","two"],"stream":true,"max_tokens":3,"n":2}`
)

// TestFrontBytes checks that the front sends the same bytes as net/http, and that a
// connection can be passed from one to the other.
func TestFrontBytes(t *testing.T) {
	stream := fmt.Sprintf(streamBody, "")
	usage := fmt.Sprintf(streamBody, `,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`)
	all := []string{
		post(chatPath, stream), post(chatPath, usage), post(chatPath, plainBody), post(completionPath, textBody),
		post(completionPath, strings.Replace(textBody, `"stream":true,`, "", 1)),
	}
	tests := []struct {
		name     string
		opt      options.Options
		requests []string
	}{
		{"defaults", options.Options{}, all},
		{"delays", options.Options{TTFT: random.ConstDelay(3 * ms), ITL: random.ConstDelay(ms)}, all},
		{"drawn delays and lengths", options.Options{Seed: 7, TTFT: mustDelay(t, "exp:1ms"), ITL: mustDelay(t, "exp:1ms"),
			TokensPerChunk: mustLength(t, "uniform:1:3"), OutputMode: options.OutputNatural}, all},
		{"reasoning", options.Options{ReasoningTokens: 2}, all},
		{"roles early", options.Options{RoleChunk: options.RoleEarly}, all},
		{"roles with the first token", options.Options{RoleChunk: options.RoleWithFirst, FinishChunk: options.FinishWithLast, LineEnd: options.LineCRLF}, all},
		{"gathered", options.Options{Coalesce: 3, Usage: options.UsageAlways, NoDone: true}, all},
		{"request ids", options.Options{RequestIDHeaders: true},
			[]string{post(chatPath, stream, "X-Request-Id: abc"), post(chatPath, plainBody, "x-request-id:  d e ")}},
		{"prefix", options.Options{Prefix: "/v2/x"}, []string{post("/v2/x"+chatPath, stream), post(chatPath, stream)}},
		{"key", options.Options{APIKey: "k"}, []string{
			post(chatPath, plainBody, "Authorization: Bearer k"), post(chatPath, plainBody, "Authorization: Bearer x"),
			post(chatPath, plainBody, "Authorization: Bearer k"),
		}},
		{"refusals", options.Options{ServedModels: []string{"other"}}, []string{
			post(chatPath, stream), post(chatPath, "{"), post(chatPath, "[]"), post(chatPath, ""), post(completionPath, `{"model":"other"}`),
		}},
		{"other routes between", options.Options{}, []string{
			post(chatPath, stream), "GET /version HTTP/1.1\r\nHost: a\r\n\r\n", post(chatPath, plainBody),
			post("/v1/nothing", stream), post(chatPath+"?q", plainBody),
		}},
		{"chunked request", options.Options{}, []string{
			post(chatPath, plainBody),
			"POST " + chatPath + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
				fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(plainBody), plainBody),
		}},
		{"expectation", options.Options{}, []string{post(chatPath, plainBody, "Expect: x")}},
		{"pipelined", options.Options{TTFT: random.ConstDelay(ms)}, []string{post(chatPath, stream) + post(chatPath, plainBody) + post(chatPath, stream)}},
		{"pipelined, at once", options.Options{Fast: true}, []string{post(chatPath, plainBody) + post(chatPath, stream)}},
		{"closing", options.Options{}, []string{post(chatPath, stream, "Connection: close")}},
		{"HTTP/1.0", options.Options{}, []string{strings.Replace(post(chatPath, plainBody), "HTTP/1.1", "HTTP/1.0", 1)}},
		{"no host", options.Options{}, []string{strings.Replace(post(chatPath, plainBody), "Host: mock.test\r\n", "", 1)}},
		{"bad host", options.Options{}, []string{strings.Replace(post(chatPath, plainBody), "mock.test", "a b", 1)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sFront, front := servedBy(t, tt.opt, ServeOptions{}, false)
			sNet, netHTTP := servedBy(t, tt.opt, ServeOptions{}, true)
			want, got := transcript(t, netHTTP, tt.requests), transcript(t, front, tt.requests)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("front differs from net/http (-net/http +front):\n%s", diff)
			}
			if diff := cmp.Diff(outcomes(t, sNet), outcomes(t, sFront)); diff != "" {
				t.Errorf("truths (-net/http +front):\n%s", diff)
			}
		})
	}
}

// outcomes renders records without stamps. The record of a request is complete shortly
// after the client has its answer; outcomes waits for that.
func outcomes(t *testing.T, s *Server) []string {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for s.Summary().Running > 0 && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	var out []string
	for _, x := range s.Truth() {
		out = append(out, fmt.Sprintf("%d %s %q %s %v %d n=%d %d/%d/%d/%d %s %v %s", x.Seq, x.Path, x.RequestID, x.Model, x.Stream,
			x.Status, x.N, x.MaxTokens, x.PromptTokens, x.OutputTokens, x.ReasoningTokens, x.FinishReason, x.TTFTMs != nil, x.Outcome))
	}
	slices.Sort(out)
	return out
}

// TestFrontCuts checks that a request in pieces is parsed like a whole one.
func TestFrontCuts(t *testing.T) {
	request := post(chatPath, fmt.Sprintf(streamBody, ""), "X-Request-Id: r")
	_, addr := servedBy(t, options.Options{Fast: true}, ServeOptions{}, false)
	want := transcript(t, addr, []string{request})
	for _, at := range []int{1, 5, strings.Index(request, "\r\n\r\n") + 2, strings.Index(request, "\r\n\r\n") + 4, len(request) - 1} {
		c := dialTest(t, addr)
		if err := c.SetNoDelay(true); err != nil {
			t.Fatal(err)
		}
		var raw bytes.Buffer
		in := bufio.NewReader(io.TeeReader(c, &raw))
		io.WriteString(c, request[:at])
		// An exchange on another connection shows that the front has continued.
		transcript(t, addr, []string{request})
		io.WriteString(c, request[at:])
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		got := regexp.MustCompile(`Date: [^\r]*|"created":\d+`).ReplaceAllString(raw.String(), "TIME")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", at, diff)
		}
	}
}

// TestFrontSlowReader checks that no bytes are lost or sent twice if a client does not
// read.
func TestFrontSlowReader(t *testing.T) {
	const tokens = 60_000 // about 12 MB, more than the buffers of sockets
	s, addr := servedBy(t, options.Options{Fast: true, RoleChunk: options.RoleNone}, ServeOptions{}, false)
	slow := dialTest(t, addr)
	io.WriteString(slow, post(chatPath, strings.Replace(fmt.Sprintf(streamBody, ""), `"max_tokens":4`, fmt.Sprintf(`"max_tokens":%d`, tokens), 1)))
	// The others are served while this one waits.
	for range 20 {
		transcript(t, addr, []string{post(chatPath, fmt.Sprintf(streamBody, ""))})
	}
	resp, err := http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if n, done := readTokens(string(body)); n != tokens || !done {
		t.Errorf("%d tokens, done %v; want %d, true", n, done, tokens)
	}
	if got := outcomes(t, s); len(got) != 21 || !strings.HasSuffix(got[0], " "+api.OutcomeOK) {
		t.Errorf("truths: %q", got)
	}
}

// TestFrontEnds checks the outcomes of exchanges that fail.
func TestFrontEnds(t *testing.T) {
	body := fmt.Sprintf(streamBody, "")
	t.Run("the client leaves", func(t *testing.T) {
		s, addr := servedBy(t, options.Options{RoleChunk: options.RoleEarly, TTFT: random.ConstDelay(time.Hour)}, ServeOptions{}, false)
		c := dialTest(t, addr)
		io.WriteString(c, post(chatPath, body))
		if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if got := outcomes(t, s); len(got) != 1 || !strings.HasSuffix(got[0], api.OutcomeClientGone) {
			t.Errorf("truths: %q", got)
		}
	})
	for _, onlyNetHTTP := range []bool{true, false} {
		t.Run(fmt.Sprintf("the server stops, net/http alone %v", onlyNetHTTP), func(t *testing.T) {
			s, addr := servedBy(t, options.Options{TTFT: random.ConstDelay(time.Hour)}, ServeOptions{}, onlyNetHTTP)
			stream, plain := dialTest(t, addr), dialTest(t, addr)
			io.WriteString(stream, post(chatPath, body))
			io.WriteString(plain, post(chatPath, plainBody))
			in := bufio.NewReader(stream)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			for s.Summary().Running < 2 {
				runtime.Gosched()
			}
			s.Stop()
			if b, err := io.ReadAll(resp.Body); err != nil || len(b) != 0 {
				t.Errorf("stream: %q, %v; want an end without an event", b, err)
			}
			resp, err = http.ReadResponse(bufio.NewReader(plain), nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || len(b) != 0 || resp.StatusCode != http.StatusOK || resp.ContentLength != 0 {
				t.Errorf("plain: %d, %q, %v; want 200 and nothing", resp.StatusCode, b, err)
			}
			for _, got := range outcomes(t, s) {
				if !strings.HasSuffix(got, api.OutcomeShutdown) {
					t.Errorf("truth: %q", got)
				}
			}
			io.WriteString(stream, post(chatPath, body))
			if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("after the stop: %v, %v; want 503", resp, err)
			}
		})
	}
	t.Run("idle connections", func(t *testing.T) {
		_, addr := servedBy(t, options.Options{Fast: true}, ServeOptions{KeepAlive: 5 * ms}, false)
		c := dialTest(t, addr)
		io.WriteString(c, post(chatPath, plainBody))
		in := bufio.NewReader(c)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		if n, err := in.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("Read = %d, %v; want the end", n, err)
		}
	})
}
