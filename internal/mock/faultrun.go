package mock

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"aiperfd/internal/mock/apierror"
	"aiperfd/internal/mock/fault"
	"aiperfd/internal/mock/random"
)

// beforeHeaders lets the fault rule act before anything is sent.
func (x *exchange) beforeHeaders() error {
	if x.rule == nil {
		return nil
	}
	switch x.rule.Action {
	case fault.ActStatus:
		x.acted = true
		return x.faultStatus()
	case fault.ActSlowHeaders:
		x.acted = true
		return x.held(x.rule.Hold)
	case fault.ActEmpty:
		if x.rule.Kind == fault.EmptyBody {
			x.acted = true
			x.head(http.StatusOK)
			x.w.Header().Set("Content-Length", "0")
			x.w.WriteHeader(http.StatusOK)
			return errFaulted
		}
	case fault.ActReset, fault.ActClose, fault.ActStall, fault.ActStreamError, fault.ActMalformed, fault.ActSlowBody, fault.ActJob, fault.ActBadChunk:
	}
	return x.checkpoint(fault.PosBeforeHeaders, 0)
}

// held waits while counting as waiting instead of running.
func (x *exchange) held(d time.Duration) error {
	x.s.waiting.Add(1)
	defer x.s.waiting.Add(-1)
	return x.hold(d)
}

// faultStatus answers with the rule's error.
func (x *exchange) faultStatus() error {
	body := fault.Body{ContentType: x.rule.FixedType, Data: []byte(x.rule.Fixed)}
	if x.rule.Fixed == "" {
		body, _ = fault.ErrorBody(x.rule.Body, x.rule.Status, x.r)
	}
	x.head(x.rule.Status)
	h := x.w.Header()
	if x.rule.RetryAfter != "" {
		h.Set("Retry-After", x.rule.RetryAfter)
	}
	if x.rule.Redirects {
		h.Set("Location", x.r.URL.Path)
	}
	if body.ContentType != "" {
		h.Set("Content-Type", body.ContentType)
	}
	h.Set("Content-Length", strconv.Itoa(len(body.Data)))
	x.w.WriteHeader(x.rule.Status)
	// The outcome is the fault; a client that left meanwhile changes nothing.
	_, _ = x.w.Write(body.Data)
	return errFaulted
}

// due says whether the rule, if it has the given action, is to act at pos, after
// tokens tokens of every choice.
func (x *exchange) due(pos fault.Position, tokens int) bool {
	return x.rule != nil && !x.acted && x.rule.Pos == pos && tokens >= x.rule.Tokens
}

// checkpoint lets a reset, close or stall rule act at a position.
func (x *exchange) checkpoint(pos fault.Position, tokens int) error {
	if !x.due(pos, tokens) {
		return nil
	}
	switch x.rule.Action {
	case fault.ActReset:
		x.acted = true
		x.cut(true)
		return errFaulted
	case fault.ActClose:
		x.acted = true
		x.cut(false)
		return errFaulted
	case fault.ActStall:
		x.acted = true
		if pos == fault.PosBeforeHeaders {
			return x.held(x.rule.Hold)
		}
		return x.hold(x.rule.Hold)
	case fault.ActBadChunk:
		x.acted = true
		x.breakChunk()
		return errFaulted
	case fault.ActStatus, fault.ActSlowHeaders, fault.ActStreamError, fault.ActMalformed, fault.ActEmpty, fault.ActSlowBody, fault.ActJob:
	}
	return nil
}

// Cut ends the connection: by a reset where the connection can do that, else and
// otherwise by closing it, without the end of the answer.
func (x *exchange) cut(reset bool) {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		x.panics = true
		return
	}
	if reset {
		abortOnClose(conn)
	}
	// There is no one to tell: the connection is given up either way.
	_ = conn.Close()
}

// abortOnClose makes a later Close send RST instead of FIN. Connections without
// lingering are left as they are.
func abortOnClose(conn net.Conn) {
	if l, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = l.SetLinger(0)
	}
}

// dripEvery is how often a slow body gets its next bytes, where a byte does not
// take longer.
const dripEvery = 50 * time.Millisecond

// slow says whether bodies go out slowly.
func (x *exchange) slow() bool { return x.rule != nil && x.rule.Action == fault.ActSlowBody }

// drip writes b as slowly as the rule says.
func (x *exchange) drip(b []byte) error {
	x.acted = true
	rate := x.rule.PerSecond
	size := max(1, int(int64(rate)*int64(dripEvery)/int64(time.Second)))
	for len(b) > 0 {
		n := min(size, len(b))
		if _, err := x.w.Write(b[:n]); err != nil || x.flush() != nil {
			return errClientGone
		}
		b = b[n:]
		if err := x.waitUntil(x.s.now() + int64(n)*int64(time.Second)/int64(rate)); err != nil {
			return err
		}
	}
	return nil
}

// breakChunk sends what is no chunk of HTTP's and closes the connection.
func (x *exchange) breakChunk() {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		x.panics = true
		return
	}
	// There is no one to tell: the connection is given up either way.
	_, _ = conn.Write([]byte("not-a-size\r\nrubbish\r\n"))
	_ = conn.Close()
}

// Headers by which a request controls its own answer.
const (
	headerStatus = "X-Mock-Status" // answer with this error
	headerAction = "X-Mock-Action" // A fault rule as of Parse
	headerTTFT   = "X-Mock-Ttft"   // A distribution as of ParseDelay
	headerITL    = "X-Mock-Itl"
	headerTokens = "X-Mock-Tokens" // length of the answer
)

// control obeys the control headers of a request. Problems become a refusal.
func (x *exchange) control(h http.Header) *apierror.Error {
	if x.s.opt.NoControlHeaders {
		return nil
	}
	bad := func(name string, err error) *apierror.Error {
		return apierror.BadRequest(name, fmt.Sprintf("%s: %v", name, err))
	}
	rule := h.Get(headerAction)
	if status := h.Get(headerStatus); status != "" {
		rule = "status:" + status
	}
	if rule != "" {
		f, err := fault.Parse(rule)
		if err != nil {
			return bad(headerAction, err)
		}
		x.rule = &f
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
		if err != nil || n < 1 || n > x.s.opt.MaxModelLen {
			return apierror.BadRequest(headerTokens, fmt.Sprintf("%s is %q, want a whole number between 1 and %d", headerTokens, text, x.s.opt.MaxModelLen))
		}
		x.ownTokens = n
	}
	return nil
}
