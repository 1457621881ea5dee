package access

import (
	"crypto/rand"
	"maps"
	"net/http"
	"sync"
	"time"
)

// CookieName is the cookie of a session.
const CookieName = "aiperfd_session"

// The limits of sessions.
const (
	sessionLife = 12 * time.Hour
	maxSessions = 1000 // the oldest one ends when another begins
	maxOfToken  = 50   // the oldest one of this token ends when another begins
)

// sessions are the sessions of browsers, by the digest of their ids. They end with the
// process. The zero value has none.
type sessions struct {
	mu   sync.Mutex
	open map[digest]session
}

// session is a browser that has shown a token.
type session struct {
	token   digest
	expires time.Time
}

// find returns the digest of the token of a session.
func (s *sessions) find(id digest, now time.Time) (token digest, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.open[id]
	if !ok || !now.Before(found.expires) {
		return digest{}, false
	}
	return found.token, true
}

// expiry returns the end of a session; the zero time if it has ended.
func (s *sessions) expiry(id digest) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id].expires
}

// begin adds a session and returns its id.
func (s *sessions) begin(token digest, now time.Time) (id string) {
	id = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[digest]session{}
	}
	maps.DeleteFunc(s.open, func(_ digest, o session) bool { return !now.Before(o.expires) })
	own := func(o session) bool { return o.token == token }
	if n, oldest := s.oldest(own); n >= maxOfToken {
		delete(s.open, oldest)
	}
	if n, oldest := s.oldest(func(session) bool { return true }); n >= maxSessions {
		delete(s.open, oldest)
	}
	s.open[digestOf(id)] = session{token: token, expires: now.Add(sessionLife)}
	return id
}

// oldest counts sessions and returns the one that ends first. The caller holds mu.
func (s *sessions) oldest(counts func(session) bool) (n int, id digest) {
	for other, o := range s.open {
		if !counts(o) {
			continue
		}
		if n++; n == 1 || o.expires.Before(s.open[id].expires) {
			id = other
		}
	}
	return n, id
}

// end ends a session.
func (s *sessions) end(id digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// count returns the number of sessions.
func (s *sessions) count(now time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.open {
		if now.Before(o.expires) {
			n++
		}
	}
	return n
}

// Login begins a session for the bearer token of a request and returns its cookie, or a
// *Refusal if the request has no such token. Without a token file nobody needs a
// session, and the cookie is nil.
func (g *Guard) Login(r *http.Request) (*http.Cookie, error) {
	if !g.Tokens() {
		return nil, nil
	}
	id := Of(r.Context())
	if !id.Bearer() {
		return nil, &Refusal{ErrUnauthorized, "A session begins with a bearer token in the header Authorization", challenge}
	}
	begun := g.sessions.begin(id.token, time.Now())
	g.settle() // an older session may have ended
	return cookie(r, begun, sessionLife), nil
}

// Logout ends the sessions of a request and their feeds. It returns a cookie that makes
// the browser forget them.
func (g *Guard) Logout(r *http.Request) *http.Cookie {
	for _, c := range r.CookiesNamed(CookieName) {
		g.sessions.end(digestOf(c.Value))
	}
	g.settle()
	return cookie(r, "", -time.Second)
}

// cookie returns the cookie of a session. No script can read it, and no request from
// another site carries it.
func cookie(r *http.Request, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure as the connection is; without TLS there is no other way
		Name: CookieName, Value: value, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}
}
