// Package client uses the HTTP API of a daemon: it submits, lists, cancels and deletes
// runs and downloads their files. It repeats requests that can be repeated without harm,
// and returns the problems of the daemon as errors.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The limits of a request.
const (
	requestLimit = 30 * time.Second
	dialLimit    = 10 * time.Second
	stallLimit   = 60 * time.Second // without a byte, a connection is given up
	maxAnswer    = 64 << 20         // bytes of an answer that is kept in memory
)

// Options configure a client.
type Options struct {
	Server    string         // http://HOST:PORT or https://HOST:PORT; without a scheme, http
	Token     string         // bearer token; empty = none
	Roots     *x509.CertPool // authorities of servers; nil = those of the system
	UserAgent string
	Dial      func(ctx context.Context, network, address string) (net.Conn, error) // nil = TCP
}

// Client is a client of one daemon. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	agent string
	http  *http.Client
}

// New returns a client. It does not connect yet.
func New(o Options) (*Client, error) {
	base, err := ParseServer(o.Server)
	if err != nil {
		return nil, err
	}
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialLimit}).DialContext
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialLimit, IdleConnTimeout: stallLimit,
		TLSClientConfig: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return watchedConn{conn}, nil
		},
	}
	return &Client{base: base, token: o.Token, agent: o.UserAgent, http: &http.Client{Transport: transport, CheckRedirect: sameOrigin}}, nil
}

// ParseServer reads the address of a daemon.
func ParseServer(text string) (*url.URL, error) {
	full := text
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	switch {
	case err != nil: // the text may contain a password
		return nil, errors.New("server: not a URL; accepted is http://HOST:PORT or https://HOST:PORT")
	case u.User != nil:
		return nil, fmt.Errorf("server %s: must not contain a user or a password; a token is given separately", u.Redacted())
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("server %q: must be http://HOST:PORT or https://HOST:PORT", text)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("server %s://%s: must have neither a query nor a fragment", u.Scheme, u.Host)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// Server returns the address of the daemon.
func (c *Client) Server() string { return c.base.String() }

// sameOrigin follows redirects only within the server, so that nobody else gets the token.
func sameOrigin(req *http.Request, via []*http.Request) error {
	const most = 5
	first := via[0].URL
	if len(via) >= most || req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// watchedConn is a connection that fails when nothing arrives for stallLimit.
type watchedConn struct{ net.Conn }

// Read implements net.Conn.
func (w watchedConn) Read(p []byte) (int, error) {
	if err := w.SetReadDeadline(time.Now().Add(stallLimit)); err != nil {
		return 0, err
	}
	return w.Conn.Read(p)
}

// request is a request to the daemon.
type request struct {
	method, path string // the path is escaped
	query        url.Values
	header       map[string]string
	body         []byte
	repeat       bool // a second request does no harm
}

// answer is a successful response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call performs a request, repeatedly if this can help.
func (c *Client) call(ctx context.Context, r request) (*answer, error) {
	for attempt := 0; ; attempt++ {
		out, err := c.once(ctx, r)
		pause, again := pauseAfter(err, attempt)
		if !again || !r.repeat || Sleep(ctx, pause) != nil {
			return out, err
		}
	}
}

// once performs a request, and reads the answer.
func (c *Client) once(ctx context.Context, r request) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestLimit, errNoAnswer)
	defer cancel()
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, unreachable(ctx, c.Server(), err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("%s answered with more than %d MiB", c.base.Host, maxAnswer>>20)
	}
	return &answer{resp.StatusCode, resp.Header, body}, nil
}

// send performs a request; an answer that is no success is an error.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	target := c.base.String() + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept", "application/json, application/problem+json, */*;q=0.1")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(ctx, c.Server(), err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, problemOf(c.Server(), resp)
}

// get performs a GET request and returns the JSON of the answer.
func (c *Client) get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	out, err := c.call(ctx, request{method: http.MethodGet, path: path, query: query, repeat: true})
	if err != nil {
		return nil, err
	}
	if !json.Valid(out.body) {
		return nil, fmt.Errorf("%s answered GET %s with something else than JSON; is it an aiperfd daemon?", c.base.Host, path)
	}
	return out.body, nil
}

// Sleep waits; it returns early with the error of the context.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
