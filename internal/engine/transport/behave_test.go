package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/transport/testcert"
)

// ways are the paths to a server: both transports, without and with TLS.
func ways() []way {
	dial := (&net.Dialer{}).DialContext
	return []way{
		{name: "net/http", dial: dial}, {name: "loop"},
		{name: "net/http with TLS", dial: dial, tls: new(tls.Config)}, {name: "loop with TLS", tls: new(tls.Config)},
	}
}

// way is one way of the client to a server.
type way struct {
	name string
	dial func(context.Context, string, string) (net.Conn, error)
	tls  *tls.Config // not nil = https; perform adds the authority
}

// peer is the server's end of a connection, above TLS.
type peer interface {
	net.Conn
	SetLinger(sec int) error
}

// securePeer is a peer with TLS.
type securePeer struct {
	*tls.Conn
	tcp *net.TCPConn
}

// SetLinger implements peer.
func (p securePeer) SetLinger(sec int) error { return p.tcp.SetLinger(sec) }

// script is what a server does with the nth connection (from 0). The first
// request has not been read yet.
type script func(n int, c peer, r *bufio.Reader)

// stage is one server and one client on loopback.
type stage struct {
	client *Client
	url    *url.URL
	mu     sync.Mutex
	dials  int // guarded by mu
}

// perform starts a server and a client of one way; both end with the test.
func perform(t *testing.T, s script, o Options) *stage {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{url: &url.URL{Scheme: "http", Host: ln.Addr().String(), Path: "/v1", RawQuery: "a=b"}}
	wrap := func(c *net.TCPConn) peer { return c }
	if o.TLS != nil {
		made := testcert.New(t, "127.0.0.1")
		st.url.Scheme, o.TLS = "https", &tls.Config{RootCAs: made.Pool}
		wrap = func(c *net.TCPConn) peer {
			return securePeer{tls.Server(c, &tls.Config{Certificates: []tls.Certificate{made.Pair}}), c}
		}
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			st.mu.Lock()
			n := st.dials
			st.dials++
			st.mu.Unlock()
			group.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(2 * time.Minute))
				p := wrap(conn.(*net.TCPConn))
				defer p.Close()
				s(n, p, bufio.NewReader(p))
			})
		}
	})
	o.Clock = bench.NewClock()
	st.client = New(o)
	t.Cleanup(func() {
		ln.Close()
		st.client.Close()
		group.Wait()
	})
	return st
}

func (s *stage) request() *Request {
	return &Request{URL: s.url, Header: http.Header{"Content-Type": {"application/json"}, "X-A": {"b"}}, Body: []byte(`{"a":1}`), Streaming: true}
}

func (s *stage) do(ctx context.Context) Exchange { return s.client.Do(ctx, s.request()) }

func (s *stage) dialed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

// take reads one request.
func take(r *bufio.Reader) (*http.Request, string) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, ""
	}
	body, _ := io.ReadAll(req.Body)
	return req, string(body)
}

// answers replies the same text to every request of a connection, in writes of
// their own, and then closes it if told so.
func answers(closes bool, texts ...string) script {
	return func(_ int, c peer, r *bufio.Reader) {
		for {
			if req, _ := take(r); req == nil {
				return
			}
			for _, text := range texts {
				io.WriteString(c, text)
			}
			if closes {
				return
			}
		}
	}
}

// lingers until the client closes the connection.
func lingers(c peer) { io.Copy(io.Discard, c) }

// view is what tests compare of an exchange; stamps are reduced to whether they
// are there and in order.
type view struct {
	Status  int
	Body    string // or the data of all events, one a line
	Done    bool
	End     bench.End
	Class   bench.Class
	Step    bench.Step
	Reached string // stamps that are set
	Type    string
}

func look(t *testing.T, x *Exchange) view {
	t.Helper()
	r := x.Response
	v := view{Status: r.Status, Body: string(r.Body), Done: r.Done, End: r.End, Type: r.Header.Get("Content-Type")}
	for e := range r.Events.All() {
		v.Body += string(e.Data) + "\n"
	}
	if r.Failure != nil {
		v.Class, v.Step = r.Failure.Class, r.Failure.Step
	}
	s := x.Stamps
	last := s.Start
	for _, stamp := range []struct {
		name string
		at   time.Duration
	}{{"connected", s.Connected}, {"first", s.FirstByte}, {"headers", s.Headers}, {"end", s.End}} {
		if stamp.at == 0 {
			continue
		}
		v.Reached += stamp.name + " "
		if stamp.at < last {
			t.Errorf("%s at %v, before what came before it at %v", stamp.name, stamp.at, last)
		}
		last = stamp.at
	}
	return v
}

func TestExchanges(t *testing.T) {
	const (
		head    = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
		all     = "connected first headers end "
		event   = "text/event-stream"
	)
	plain := func(status int, body string, end bench.End) view {
		return view{Status: status, Body: body, End: end, Reached: all, Type: event}
	}
	broken := func(class bench.Class, step bench.Step, end bench.End, reached string) view {
		return view{Class: class, Step: step, End: end, Reached: reached}
	}
	cut := plain(200, "a\n", bench.EndReset)
	cut.Class, cut.Step = bench.ConnectionReset, bench.StepBody
	idle := cut
	idle.Class, idle.End = bench.TimeoutIdle, bench.EndTimeout
	total := idle
	total.Class = bench.TimeoutTotal
	done := plain(200, "a\n", bench.EndEOF)
	done.Done = true
	tests := []struct {
		name  string
		serve script
		opts  Options
		want  view
	}{
		{"chunks", answers(false, chunked, "9\r\ndata: a\n\n\r\n", "10\r\ndata: b\n\ndata: c", "\r\n2\r\n\n\n\r\n0\r\n\r\n"), Options{}, plain(200, "a\nb\nc\n", bench.EndEOF)},
		{"content length", answers(false, head+"Content-Length: 18\r\n\r\ndata: a\n\ndata: b\n\n"), Options{}, plain(200, "a\nb\n", bench.EndEOF)},
		{"until close", answers(true, head+"\r\ndata: a\n\n"), Options{}, plain(200, "a\n", bench.EndEOF)},
		{"HTTP/1.0", answers(true, "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n"), Options{}, plain(200, "a\n", bench.EndEOF)},
		{"byte by byte", answers(false, strings.Split(chunked+"9\r\ndata: a\n\n\r\n0\r\n\r\n", "")...), Options{}, plain(200, "a\n", bench.EndEOF)},
		{"interim response", answers(false, "HTTP/1.1 100 Continue\r\n\r\n", head+"Content-Length: 9\r\n\r\ndata: a\n\n"), Options{}, plain(200, "a\n", bench.EndEOF)},
		{"status without a body", answers(false, "HTTP/1.1 204 No Content\r\nContent-Type: text/event-stream\r\n\r\n"), Options{}, plain(204, "", bench.EndEOF)},
		{"end marker, then silence", func(_ int, c peer, r *bufio.Reader) {
			take(r)
			io.WriteString(c, chunked+"17\r\ndata: a\n\ndata: [DONE]\n\n\r\n")
			lingers(c)
		}, Options{}, done},
		{"cut length", answers(true, head+"Content-Length: 99\r\n\r\ndata: a\n\n"), Options{}, cut},
		{"cut chunk", answers(true, chunked+"99\r\ndata: a\n\n"), Options{}, cut},
		{"no last chunk", answers(true, chunked+"9\r\ndata: a\n\n\r\n"), Options{}, cut},
		{"bad chunk", answers(false, chunked+"9\r\ndata: a\n\n\r\nzz\r\n"), Options{}, cut},
		{"closed without an answer", answers(true), Options{}, broken(bench.ConnectionReset, bench.StepHeaders, bench.EndReset, "connected end ")},
		{"reset without an answer", func(_ int, c peer, r *bufio.Reader) {
			take(r)
			c.SetLinger(0)
		}, Options{}, broken(bench.ConnectionReset, bench.StepHeaders, bench.EndReset, "connected end ")},
		{"reset in the body", func(_ int, c peer, r *bufio.Reader) {
			take(r)
			io.WriteString(c, chunked+"9\r\ndata: a\n\n\r\n")
			c.SetLinger(0) // what arrived before the reset can still be read
		}, Options{}, cut},
		{"malformed head", answers(false, "SSH-2.0-OpenSSH_9\r\n\r\n"), Options{}, broken(bench.ConnectionReset, bench.StepHeaders, bench.EndReset, "connected first end ")},
		{"cut head", answers(true, "HTTP/1.1 200 OK\r\nContent-"), Options{}, broken(bench.ConnectionReset, bench.StepHeaders, bench.EndReset, "connected first end ")},
		{"no head in time", func(_ int, c peer, r *bufio.Reader) {
			take(r)
			lingers(c)
		}, Options{HeadersTimeout: 30 * time.Millisecond}, broken(bench.TimeoutHeaders, bench.StepHeaders, bench.EndTimeout, "connected end ")},
		{"silence in the body", func(_ int, c peer, r *bufio.Reader) {
			take(r)
			io.WriteString(c, chunked+"9\r\ndata: a\n\n\r\n")
			lingers(c)
		}, Options{HeadersTimeout: 10 * time.Second, IdleTimeout: 300 * time.Millisecond}, idle},
		{"total budget spent", func(_ int, c peer, r *bufio.Reader) {
			take(r)
			io.WriteString(c, chunked+"9\r\ndata: a\n\n\r\n")
			lingers(c)
		}, Options{IdleTimeout: 10 * time.Second, TotalTimeout: 2 * time.Second}, total},
	}
	for _, tt := range tests {
		for _, way := range ways() {
			t.Run(tt.name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				o := tt.opts
				o.Dial, o.TLS = way.dial, way.tls
				x := perform(t, tt.serve, o).do(t.Context())
				if diff := cmp.Diff(tt.want, look(t, &x)); diff != "" {
					t.Errorf("%v (-want +got):\n%s", x.Response.Failure, diff)
				}
			})
		}
	}
}

func TestRequestOnTheWire(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			got := make(chan string, 1)
			st := perform(t, func(_ int, c peer, r *bufio.Reader) {
				req, body := take(r)
				got <- fmt.Sprintf("%s %s host=%t x-a=%s length=%d %s", req.Method, req.RequestURI, req.Host != "", req.Header.Get("X-A"), req.ContentLength, body)
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}, Options{Dial: way.dial, TLS: way.tls})
			x := st.do(t.Context())
			if want := `POST /v1?a=b host=true x-a=b length=7 {"a":1}`; <-got != want || x.Conn.Sent != 7 || x.Conn.Received != 2 || x.Conn.Reads < 1 || x.Conn.Reused {
				t.Errorf("want %s; conn %+v", want, x.Conn)
			}
		})
	}
}

func TestMethods(t *testing.T) {
	for _, way := range ways() {
		for method, want := range map[string]string{"": "POST 7", "GET": "GET 0", "PUT": "PUT 7", "HEAD": "HEAD 0", "DELETE": "DELETE 0"} {
			t.Run(way.name+"/"+method, func(t *testing.T) {
				got := make(chan string, 1)
				st := perform(t, func(_ int, c peer, r *bufio.Reader) {
					req, body := take(r)
					got <- fmt.Sprint(req.Method, " ", len(body))
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}, Options{Dial: way.dial, TLS: way.tls})
				r := st.request()
				r.Method = method
				if strings.HasSuffix(want, " 0") {
					r.Body = nil
				}
				x := st.client.Do(t.Context(), r)
				if g := <-got; g != want || x.Response.Failure != nil || x.Response.Status != 200 {
					t.Errorf("server saw %s, want %s; %v", g, want, x.Response.Failure)
				}
			})
		}
	}
}

func TestConnectionRefused(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			st := perform(t, answers(true), Options{Dial: way.dial, TLS: way.tls})
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			st.url.Host = ln.Addr().String()
			ln.Close()
			f := st.do(t.Context()).Response.Failure
			if f == nil || f.Class != bench.ConnectError || f.Code != "refused" || f.Step != bench.StepConnect || f.Message != "connect to "+st.url.Host+": connection refused; is the server running, and is the port right?" {
				t.Errorf("failure %+v, want connect_error/refused", f)
			}
		})
	}
}

func TestUnknownHost(t *testing.T) {
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			st := perform(t, answers(true), Options{Dial: way.dial, TLS: way.tls, ConnectTimeout: 15 * time.Second})
			st.url.Host = "no-such-host.invalid:80"
			f := st.do(t.Context()).Response.Failure
			if f == nil || f.Step != bench.StepConnect || (f.Class != bench.ConnectError || f.Code != "dns") && f.Class != bench.TimeoutConnect {
				t.Errorf("failure %+v, want connect_error/dns", f)
			}
		})
	}
}
