package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"aiperfd/internal/engine/allow"
)

// Collector is where metrics or spans are sent.
type Collector struct {
	URL     *url.URL // http or https; without a path, that of the protocol is used
	GRPC    bool     // instead of OTLP/HTTP
	Header  http.Header
	Timeout time.Duration // of one request, > 0
	Plain   bool          // payloads are not compressed
	Allow   *allow.List   // checked when a connection is opened
	// Dial opens connections; nil = the system's, to allowed addresses.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// signal is a kind of payload: its paths in the protocols, and what collectors count of it.
type signal struct{ httpPath, grpcPath, unit string }

func metricsSignal() signal {
	return signal{"/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "points"}
}

func tracesSignal() signal {
	return signal{"/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export", "spans"}
}

// client sends the payloads of a signal to a collector.
type client struct {
	*Collector
	signal
	target string
	http   *http.Client
}

func newClient(c *Collector, of signal) *client {
	var protocols http.Protocols
	protocols.SetHTTP1(!c.GRPC)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(c.GRPC)
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: c.Timeout, Control: c.Allow.Control}).DialContext
	}
	at := *c.URL
	at.User = nil
	switch {
	case c.GRPC:
		at.Path = of.grpcPath
	case at.Path == "" || at.Path == "/":
		at.Path = of.httpPath
	}
	return &client{Collector: c, signal: of, target: at.String(), http: &http.Client{
		// A redirect could lead to a server that is not allowed, and take the headers along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dial, Protocols: &protocols, DisableCompression: true, MaxIdleConnsPerHost: 1,
		},
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// temporaryError is a failure after which the same payload may be sent again.
type temporaryError struct {
	err   error
	after time.Duration // that the collector asks to wait; 0 = it does not say
}

func (e *temporaryError) Error() string { return e.err.Error() }
func (e *temporaryError) Unwrap() error { return e.err }

// partial is what a collector refused of a payload that it accepted.
type partial struct {
	rejected int64
	message  string
}

// describe says what a collector refused of a signal.
func (p partial) describe(of signal) string {
	text := fmt.Sprintf("the collector rejected %d %s", p.rejected, of.unit)
	if p.message != "" {
		text += ": " + p.message
	}
	return text
}

// maxAnswer is the most that is read of an answer.
const maxAnswer = 64 << 10

// deliver sends a payload, and again while the collector says that this helps, until it is superseded or ctx ends.
func (c *client) deliver(ctx context.Context, payload []byte, superseded <-chan struct{}) (refused partial, err error) {
	pause := firstPause
	for attempt := 0; ; attempt++ {
		if ctx.Err() != nil {
			return partial{}, errFlush
		}
		refused, err = c.export(ctx, payload)
		again, temporary := errors.AsType[*temporaryError](err)
		if !temporary || attempt == retries {
			return refused, err
		}
		wait := pause
		if again.after > 0 {
			wait = again.after
		}
		if wait > longestPause {
			return refused, fmt.Errorf("%w; it asks to wait for %v", err, wait)
		}
		select {
		case <-time.After(wait):
		case <-superseded:
			return refused, err
		case <-ctx.Done():
		}
		pause *= 2
	}
}

// export sends a payload once.
func (c *client) export(ctx context.Context, payload []byte) (partial, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	body, err := c.body(payload)
	if err != nil {
		return partial{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target, bytes.NewReader(body))
	if err != nil {
		return partial{}, fmt.Errorf("make the request: %w", err)
	}
	c.head(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return partial{}, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return partial{}, c.unreachable(ctx, err)
	}
	if c.GRPC {
		return grpcAnswer(resp, answer)
	}
	return httpAnswer(resp, answer)
}

// unreachable explains why there is no answer.
func (c *client) unreachable(ctx context.Context, err error) error {
	if denied, ok := errors.AsType[*allow.Denied](err); ok {
		return denied
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v", c.Timeout)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the URL, which may have secrets
	}
	return &temporaryError{err: fmt.Errorf("%s: %w", c.URL.Host, err)}
}

// body returns a payload as the protocol sends it.
func (c *client) body(payload []byte) ([]byte, error) {
	var out bytes.Buffer
	const prefix = 5 // a flag and the length of a message of gRPC
	if c.GRPC {
		out.Write(make([]byte, prefix))
	}
	if c.Plain {
		out.Write(payload)
	} else {
		z := gzip.NewWriter(&out)
		_, err := z.Write(payload)
		if err = errors.Join(err, z.Close()); err != nil {
			return nil, fmt.Errorf("compress the payload: %w", err)
		}
	}
	b := out.Bytes()
	if c.GRPC {
		if !c.Plain {
			b[0] = 1
		}
		binary.BigEndian.PutUint32(b[1:], uint32(len(b)-prefix))
	}
	return b, nil
}

// head sets the headers of a request.
func (c *client) head(req *http.Request) {
	h := req.Header
	maps.Copy(h, c.Header)
	if u := c.URL.User; u != nil && h.Get("Authorization") == "" {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	h.Set("User-Agent", "aiperfd")
	if !c.GRPC {
		h.Set("Content-Type", "application/x-protobuf")
		if !c.Plain {
			h.Set("Content-Encoding", "gzip")
		}
		return
	}
	h.Set("Content-Type", "application/grpc+proto")
	h.Set("Te", "trailers")
	if !c.Plain {
		h.Set("Grpc-Encoding", "gzip")
	}
	h.Set("Grpc-Timeout", strconv.FormatInt(c.Timeout.Milliseconds(), 10)+"m")
}

// httpAnswer reads an answer of OTLP/HTTP.
func httpAnswer(resp *http.Response, answer []byte) (partial, error) {
	if resp.StatusCode/100 == 2 {
		if resp.Header.Get("Content-Type") != "application/x-protobuf" {
			return partial{}, nil
		}
		return partialSuccess(answer), nil
	}
	err := fmt.Errorf("%s: %s", resp.Request.URL.Host, resp.Status)
	if text := shown(answer); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return partial{}, &temporaryError{err, retryAfter(resp.Header.Get("Retry-After"))}
	}
	return partial{}, err
}

// retryAfter reads how long the collector asks to wait, in seconds or as a date.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// shown returns the text of an error for a message: one line, at most 200 bytes.
func shown(answer []byte) string {
	const most = 200
	printable := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(answer[:min(len(answer), most)]), ""))
	return strings.TrimSpace(printable)
}

// grpcAnswer reads an answer of OTLP/gRPC: a message behind a prefix of five bytes, and the status behind it,
// or in front of it if there is no message.
func grpcAnswer(resp *http.Response, answer []byte) (partial, error) {
	if resp.StatusCode != http.StatusOK {
		return httpAnswer(resp, answer)
	}
	field := func(name string) string {
		if v := resp.Trailer.Get(name); v != "" {
			return v
		}
		return resp.Header.Get(name)
	}
	text := field("Grpc-Status")
	code, err := strconv.Atoi(text)
	if err != nil {
		return partial{}, fmt.Errorf("%s: the answer is not gRPC", resp.Request.URL.Host)
	}
	if code == 0 {
		const prefix = 5
		if len(answer) < prefix || answer[0] != 0 {
			return partial{}, nil
		}
		return partialSuccess(answer[prefix:]), nil
	}
	message, err := url.PathUnescape(field("Grpc-Message"))
	if err != nil {
		message = field("Grpc-Message")
	}
	failure := fmt.Errorf("%s: gRPC status %d: %s", resp.Request.URL.Host, code, shown([]byte(message)))
	switch code {
	case 1, 4, 8, 10, 11, 14, 15: // those that OTLP calls retryable
		return partial{}, &temporaryError{err: failure}
	}
	return partial{}, failure
}

// partialSuccess reads an answer: of field 1, field 1 is the number of rejected points and field 2 a text.
func partialSuccess(answer []byte) (p partial) {
	eachField(answer, func(n protowire.Number, _ uint64, inner []byte) {
		if n != 1 {
			return
		}
		eachField(inner, func(n protowire.Number, v uint64, text []byte) {
			if n == 1 {
				p.rejected = int64(v)
			}
			if n == 2 {
				p.message = shown(text)
			}
		})
	})
	return p
}

// eachField calls each for the fields of a message, as long as they can be read.
func eachField(b []byte, each func(n protowire.Number, v uint64, text []byte)) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		var v uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return
		}
		each(number, v, text)
		b = b[n:]
	}
}
