package mock

import (
	"net"
	"net/http"
	"strconv"
	"time"
)

// beforeHeaders lets the fault rule act before anything is sent.
func (x *exchange) beforeHeaders() error {
	if x.rule == nil {
		return nil
	}
	switch x.rule.action {
	case actStatus:
		x.acted = true
		return x.faultStatus()
	case actSlowHeaders:
		x.acted = true
		return x.held(x.rule.hold)
	case actEmpty:
		if x.rule.kind == emptyBody {
			x.acted = true
			x.head(http.StatusOK)
			x.w.Header().Set("Content-Length", "0")
			x.w.WriteHeader(http.StatusOK)
			return errFaulted
		}
	case actReset, actClose, actStall, actStreamError, actMalformed, actSlowBody, actJob, actBadChunk:
	}
	return x.checkpoint(posBeforeHeaders, 0)
}

// held waits while counting as waiting instead of running.
func (x *exchange) held(d time.Duration) error {
	x.s.waiting.Add(1)
	defer x.s.waiting.Add(-1)
	return x.hold(d)
}

// faultStatus answers with the rule's error.
func (x *exchange) faultStatus() error {
	body := faultBody{x.rule.fixedType, []byte(x.rule.fixed)}
	if x.rule.fixed == "" {
		body, _ = errorBody(x.rule.body, x.rule.status, x.r)
	}
	x.head(x.rule.status)
	h := x.w.Header()
	if x.rule.retryAfter != "" {
		h.Set("Retry-After", x.rule.retryAfter)
	}
	if x.rule.redirects {
		h.Set("Location", x.r.URL.Path)
	}
	if body.contentType != "" {
		h.Set("Content-Type", body.contentType)
	}
	h.Set("Content-Length", strconv.Itoa(len(body.data)))
	x.w.WriteHeader(x.rule.status)
	// The outcome is the fault; a client that left meanwhile changes nothing.
	_, _ = x.w.Write(body.data)
	return errFaulted
}

// due says whether the rule, if it has the given action, is to act at pos, after
// tokens tokens of every choice.
func (x *exchange) due(pos position, tokens int) bool {
	return x.rule != nil && !x.acted && x.rule.pos == pos && tokens >= x.rule.tokens
}

// checkpoint lets a reset, close or stall rule act at a position.
func (x *exchange) checkpoint(pos position, tokens int) error {
	if !x.due(pos, tokens) {
		return nil
	}
	switch x.rule.action {
	case actReset:
		x.acted = true
		x.cut(true)
		return errFaulted
	case actClose:
		x.acted = true
		x.cut(false)
		return errFaulted
	case actStall:
		x.acted = true
		if pos == posBeforeHeaders {
			return x.held(x.rule.hold)
		}
		return x.hold(x.rule.hold)
	case actBadChunk:
		x.acted = true
		x.breakChunk()
		return errFaulted
	case actStatus, actSlowHeaders, actStreamError, actMalformed, actEmpty, actSlowBody, actJob:
	}
	return nil
}

// cut ends the connection: by a reset where the connection can do that, else and
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
