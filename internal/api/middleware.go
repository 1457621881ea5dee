package api

import (
	"bufio"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/klauspost/compress/gzhttp"

	"aiperfd/internal/api/access"
)

// middleware is one layer around every handler.
type middleware = func(http.Handler) http.Handler

// minCompressed is the size of a body from which it is compressed.
const minCompressed = 1 << 10

// layers returns the middleware, the outermost first.
func (s *Server) layers() ([]middleware, error) {
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed))
	if err != nil {
		return nil, err
	}
	return []middleware{
		s.observe,
		s.recover,
		s.checkHost,
		s.Access.Identify,
		s.checkOrigin,
		func(next http.Handler) http.Handler {
			compressed := compress(next)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == feedPath {
					next.ServeHTTP(w, r)
					return
				}
				compressed.ServeHTTP(w, r)
			})
		},
	}, nil
}

// response records the status of a response.
type response struct {
	http.ResponseWriter
	status int
}

// WriteHeader records the status. The bytes of a compressed body differ from those of
// the stored one, so its strong entity tag becomes a weak one.
func (w *response) WriteHeader(status int) {
	if w.status == 0 || w.status < http.StatusOK {
		w.status = status
	}
	h := w.Header()
	if tag := h.Get("Etag"); tag != "" && h.Get("Content-Encoding") != "" && !strings.HasPrefix(tag, "W/") {
		h.Set("Etag", "W/"+tag)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap supports http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack supports the WebSocket upgrade.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status = http.StatusSwitchingProtocols
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

const (
	maxRequestID = 128
	writeLimit   = 90 * time.Second // longer than any handler waits
)

// observe sets the headers of every response, counts requests and logs them.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := r.Header.Get(headerRequestID)
		if !sane(id) {
			id = strings.ToLower(rand.Text())
		}
		h := w.Header()
		h.Set(headerRequestID, id)
		h.Set("X-Content-Type-Options", "nosniff")
		// Errors are those of the ResponseWriters of tests, which have no deadlines.
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(start.Add(writeLimit))
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(start.Add(bodyLimit))
		}
		recorded := &response{ResponseWriter: w}
		routing := chi.RouteContext(r.Context()) // the router fills it in
		defer func() {
			route := routing.RoutePattern()
			if route == "" || recorded.status == http.StatusNotFound && strings.HasSuffix(route, "/*") {
				route = "unmatched"
			}
			s.self.requested(route, recorded.status)
			s.log.Debug().Str("method", r.Method).Str("path", r.URL.Path).Int("status", recorded.status).
				Dur("took", time.Since(start)).Str("request_id", id).Msg("request")
		}()
		next.ServeHTTP(recorded, r)
	})
}

// sane reports whether a request id may be copied to headers and logs.
func sane(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// recover turns a panic of a handler into an internal problem.
func (s *Server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			s.log.Error().Interface("panic", cause).Bytes("stack", debug.Stack()).Str("path", r.URL.Path).Msg("handler panicked")
			if recorded, ok := w.(*response); ok && recorded.status != 0 {
				panic(http.ErrAbortHandler) // too late to respond: close the connection
			}
			s.writeProblem(w, r, errInternal)
		}()
		next.ServeHTTP(w, r)
	})
}

// checkHost rejects requests for other hosts, so that a page of another site cannot
// reach a loopback server through a name that it controls (DNS rebinding). If the
// server is reachable from other machines, hosts are checked only if AllowedHosts
// is set. The probes are not checked.
func (s *Server) checkHost(next http.Handler) http.Handler {
	if !access.Loopback(s.Bind) && len(s.AllowedHosts) == 0 {
		return next
	}
	allowed := []string{"localhost", "127.0.0.1", "::1", strings.ToLower(s.Bind)}
	for _, h := range s.AllowedHosts {
		allowed = append(allowed, strings.ToLower(h))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		probe := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		if !probe && !slices.Contains(allowed, hostname(r.Host)) {
			s.writeProblem(w, r, errHost)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostname returns the host of a Host header, without port and brackets, in lower
// case.
func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.ToLower(host)
}

// checkOrigin rejects requests with side effects from pages of other sites, and answers
// the questions of browsers whether such a page may send a request (preflights).
func (s *Server) checkOrigin(next http.Handler) http.Handler {
	csrf := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.Access.CrossOrigin(w.Header(), r, csrf.Check) {
			s.writeProblem(w, r, errOrigin)
			return
		}
		if access.Preflight(r) {
			access.AllowPreflight(w.Header(), s.allowed(r.URL.EscapedPath()))
		}
		next.ServeHTTP(w, r)
	})
}
