package api

import (
	"bufio"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/klauspost/compress/gzhttp"

	"aiperfd/internal/api/access"
	"aiperfd/internal/api/listen"
	"aiperfd/internal/api/respond"
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
	// Browsers keep scripts and style sheets, so that they are compressed rarely.
	pack, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	return []middleware{
		s.observe,
		s.recover,
		s.keepRoom,
		s.checkHost,
		s.Access.Identify,
		s.checkOrigin,
		func(next http.Handler) http.Handler {
			compressed, packed := compress(next), pack(next)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == feedPath || strings.HasSuffix(r.URL.Path, "/events") { // sent in pieces
					next.ServeHTTP(w, r)
					return
				}
				if strings.HasPrefix(r.URL.Path, "/assets/") {
					packed.ServeHTTP(w, r)
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
	stepLimit    = 30 * time.Second // of one write of a file, and of a WebSocket handshake
)

// observe sets the headers of every response, counts requests and logs them.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := r.Header.Get(respond.HeaderRequestID)
		if !respond.Visible(id, maxRequestID) {
			id = strings.ToLower(rand.Text())
		}
		h := w.Header()
		h.Set(respond.HeaderRequestID, id)
		h.Set("X-Content-Type-Options", "nosniff")
		// Errors are those of the ResponseWriters of tests, which have no deadlines.
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(start.Add(writeLimit))
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(start.Add(s.Limits.BodyTimeout))
		}
		recorded := &response{ResponseWriter: w}
		routing := chi.RouteContext(r.Context()) // the router fills it in
		defer func() {
			route := routing.RoutePattern()
			if route == "" || recorded.status == http.StatusNotFound && strings.HasSuffix(route, "/*") {
				route = "unmatched"
			}
			s.requests.WithLabelValues(route, strconv.Itoa(recorded.status)).Inc()
			line := s.Log.Debug().Str("method", r.Method).Str("path", r.URL.Path).Int("status", recorded.status).
				Dur("took", time.Since(start)).Str("remote", r.RemoteAddr).Str("request_id", id)
			if of := h.Get(respond.HeaderRunID); of != "" {
				line.Str("run", of)
			}
			line.Msg("request")
		}()
		next.ServeHTTP(recorded, r)
	})
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
			s.Log.Error().Interface("panic", cause).Bytes("stack", debug.Stack()).Str("path", r.URL.Path).
				Str("request_id", w.Header().Get(respond.HeaderRequestID)).Msg("handler panicked")
			if recorded, ok := w.(*response); ok && recorded.status != 0 {
				panic(http.ErrAbortHandler) // too late to respond: close the connection
			}
			s.out.WriteProblem(w, r, respond.ErrInternal)
		}()
		next.ServeHTTP(w, r)
	})
}

// keepRoom answers nothing but probes on the connections that are kept for them, and
// closes these connections after the response. Bodies of the others are tracked, so
// that a connection that waits for one can give way. It also closes the connections of
// requests in chunks: net/http does not tell which of them had a Content-Length, too, so
// that a proxy may see another end of the request (RFC 9112 section 6.1).
func (s *Server) keepRoom(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case listen.Spare(r.Context()):
			w.Header().Set("Connection", "close")
			if !probe(r) {
				s.out.WriteProblem(w, r, respond.ErrTooManyConnections)
				return
			}
		case r.ContentLength != 0: // with HTTP/2, requests without a body are not those with NoBody
			if len(r.TransferEncoding) > 0 {
				w.Header().Set("Connection", "close")
			}
			r.Body = listen.Body(r.Context(), r.Body)
		}
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !probe(r) && !s.named(r) {
			s.out.WriteProblem(w, r, respond.ErrHost)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// named reports whether the Host header of a request is a name of this server.
func (s *Server) named(r *http.Request) bool {
	host, ok := hostname(r.Host)
	return ok && (access.Loopback(host) || host == strings.ToLower(s.Bind) ||
		slices.ContainsFunc(s.AllowedHosts, func(name string) bool { return strings.ToLower(name) == host }))
}

// hostname returns the host of a Host header (RFC 9110, section 7.2), without port and
// brackets, in lower case. ok is false if the header has another form.
func hostname(hostport string) (host string, ok bool) {
	host, port, _ := strings.Cut(hostport, ":")
	if inside, found := strings.CutPrefix(hostport, "["); found {
		var rest string
		if host, rest, ok = strings.Cut(inside, "]"); !ok || !strings.Contains(host, ":") || net.ParseIP(host) == nil {
			return "", false
		}
		if port, found = strings.CutPrefix(rest, ":"); !found && rest != "" {
			return "", false
		}
	}
	if strings.ContainsFunc(port, func(c rune) bool { return c < '0' || c > '9' }) || strings.ContainsAny(host, "[]") {
		return "", false
	}
	return strings.ToLower(host), host != ""
}

// checkOrigin rejects requests with side effects from pages of other sites, and answers
// the questions of browsers whether such a page may send a request (preflights).
func (s *Server) checkOrigin(next http.Handler) http.Handler {
	csrf := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.Access.CrossOrigin(w.Header(), r, csrf.Check) {
			s.out.WriteProblem(w, r, respond.ErrOrigin)
			return
		}
		if access.Preflight(r) {
			access.AllowPreflight(w.Header(), s.allowed(r.URL.EscapedPath()))
		}
		next.ServeHTTP(w, r)
	})
}
