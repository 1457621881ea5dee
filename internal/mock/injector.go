package mock

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/mock/api"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// injector applies the fault rule of an exchange.
type injector struct {
	x      *exchange
	rule   *options.Fault // nil = none
	panics bool           // the connection must be aborted, and only net/http can do that
}

// beforeHeaders applies a rule that acts before anything is sent.
func (f *injector) beforeHeaders() error {
	x := f.x
	if f.rule == nil {
		return nil
	}
	switch f.rule.Action {
	case options.ActStatus:
		x.Acted = true
		return f.status()
	case options.ActSlowHeaders:
		x.Acted = true
		return f.held(f.rule.Hold)
	case options.ActEmpty:
		if f.rule.Kind == options.EmptyBody {
			x.Acted = true
			x.head(http.StatusOK)
			x.Header.Set("Content-Length", "0")
			x.w.WriteHeader(http.StatusOK)
			return errFaulted
		}
	case options.ActReset, options.ActClose, options.ActStall, options.ActStreamError, options.ActMalformed,
		options.ActSlowBody, options.ActJob, options.ActBadChunk:
	}
	return f.checkpoint(options.PosBeforeHeaders, 0)
}

// held waits; meanwhile the request counts as waiting, not as running.
func (f *injector) held(d time.Duration) error {
	f.x.s.waiting.Add(1)
	defer f.x.s.waiting.Add(-1)
	return f.x.hold(d)
}

// status responds with the error of the rule.
func (f *injector) status() error {
	x, rule := f.x, f.rule
	body, kind := api.FaultBody(rule, x.HTTP)
	x.head(rule.Status)
	if rule.RetryAfter != "" {
		x.Header.Set("Retry-After", rule.RetryAfter)
	}
	if rule.Redirects {
		x.Header.Set("Location", x.HTTP.URL.Path)
	}
	if kind != "" {
		x.Header.Set("Content-Type", kind)
	}
	x.Header.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(rule.Status)
	// The outcome is the fault, even if the client has disconnected.
	_, _ = x.w.Write(body)
	return errFaulted
}

// empties reports whether the rule removes the given part of the answer.
func (f *injector) empties(kind string) bool {
	return f.rule != nil && f.rule.Action == options.ActEmpty && f.rule.Kind == kind
}

// due reports whether the rule acts at pos, after tokens tokens of every choice.
func (f *injector) due(pos options.Position, tokens int) bool {
	return f.rule != nil && !f.x.Acted && f.rule.Pos == pos && tokens >= f.rule.Tokens
}

// checkpoint applies a reset, close or stall rule at a position.
func (f *injector) checkpoint(pos options.Position, tokens int) error {
	if !f.due(pos, tokens) {
		return nil
	}
	switch f.rule.Action {
	case options.ActReset:
		f.x.Acted = true
		f.cut(true)
		return errFaulted
	case options.ActClose:
		f.x.Acted = true
		f.cut(false)
		return errFaulted
	case options.ActStall:
		f.x.Acted = true
		if pos == options.PosBeforeHeaders {
			return f.held(f.rule.Hold)
		}
		return f.x.hold(f.rule.Hold)
	case options.ActBadChunk:
		f.x.Acted = true
		f.breakChunk()
		return errFaulted
	case options.ActStatus, options.ActSlowHeaders, options.ActStreamError, options.ActMalformed, options.ActEmpty,
		options.ActSlowBody, options.ActJob:
	}
	return nil
}

// hijack takes over the connection. It returns nil if only net/http can end the
// connection.
func (f *injector) hijack() net.Conn {
	conn, _, err := http.NewResponseController(f.x.w).Hijack()
	if err != nil {
		f.panics = true
		return nil
	}
	return conn
}

// cut ends the connection before the end of the response: by a reset if requested and
// possible, otherwise by closing it.
func (f *injector) cut(reset bool) {
	conn := f.hijack()
	if conn == nil {
		return
	}
	if reset {
		abortOnClose(conn)
	}
	_ = conn.Close() // the connection ends in any case
}

// abortOnClose makes a later Close send RST instead of FIN. Connections without
// lingering are left as they are.
func abortOnClose(conn net.Conn) {
	if l, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = l.SetLinger(0)
	}
}

// breakChunk sends an invalid HTTP chunk and closes the connection.
func (f *injector) breakChunk() {
	conn := f.hijack()
	if conn == nil {
		return
	}
	// The connection ends in any case.
	_, _ = conn.Write([]byte("not-a-size\r\nrubbish\r\n"))
	_ = conn.Close()
}

// dripEvery is the interval between the writes of a slow body, unless one byte takes
// longer.
const dripEvery = 50 * time.Millisecond

// slow reports whether bodies are sent slowly.
func (f *injector) slow() bool { return f.rule != nil && f.rule.Action == options.ActSlowBody }

// drip writes b at the rate of the rule.
func (f *injector) drip(b []byte) error {
	x := f.x
	x.Acted = true
	rate := f.rule.PerSecond
	size := max(1, int(int64(rate)*int64(dripEvery)/int64(time.Second)))
	for len(b) > 0 {
		n := min(size, len(b))
		if _, err := x.w.Write(b[:n]); err != nil || x.flush() != nil {
			return api.ErrClientGone
		}
		b = b[n:]
		if err := x.wait.until(x.Now() + int64(n)*int64(time.Second)/int64(rate)); err != nil {
			return err
		}
	}
	return nil
}

// Headers with which a request controls its own answer.
const (
	headerStatus = "X-Mock-Status" // answer with this error
	headerAction = "X-Mock-Action" // a fault rule, see options.ParseFault
	headerTTFT   = "X-Mock-Ttft"   // a distribution, see random.ParseDelay
	headerITL    = "X-Mock-Itl"
	headerTokens = "X-Mock-Tokens" // length of the answer
)

// control applies the control headers of a request. Errors become an error response.
func (x *exchange) control(h http.Header) *api.Error {
	if x.Options.NoControlHeaders {
		return nil
	}
	bad := func(name string, err error) *api.Error {
		return api.BadRequest(name, fmt.Sprintf("%s: %v", name, err))
	}
	rule := h.Get(headerAction)
	if status := h.Get(headerStatus); status != "" {
		rule = "status:" + status
	}
	if rule != "" {
		f, err := options.ParseFault(rule)
		if err != nil {
			return bad(headerAction, err)
		}
		x.fault.rule = &f
	}
	for name, to := range map[string]*random.Delay{headerTTFT: &x.ownTTFT, headerITL: &x.ownITL} {
		text := h.Get(name)
		if text == "" {
			continue
		}
		d, err := random.ParseDelay(text)
		if err == nil && x.s.accelerator != nil {
			err = fmt.Errorf("an accelerator gives the times")
		}
		if err != nil {
			return bad(name, err)
		}
		*to = d
	}
	if text := h.Get(headerTokens); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > x.Options.MaxModelLen {
			return api.BadRequest(headerTokens, fmt.Sprintf("%s is %q, want a whole number between 1 and %d",
				headerTokens, text, x.Options.MaxModelLen))
		}
		x.ownTokens = n
	}
	return nil
}
