package redact

import (
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// maxRounds bounds how often a text is redacted again because what was left reads differently
// without what was taken out. Two rounds are the rule: the second finds nothing.
const maxRounds = 4

// Set holds the secrets of one run and removes them from all its output.
// The zero value and nil redact by patterns only. All methods may be called at
// the same time; text that is redacted while a secret is added may or may not
// still hold it.
type Set struct {
	mu      sync.Mutex
	needles []string // ordered and unique
	finder  atomic.Pointer[finder]
}

// NewSet returns a Set of secrets, as by [Set.Add].
func NewSet(secrets ...string) *Set {
	s := new(Set)
	s.Add(secrets...)
	return s
}

// Add adds secrets and their parts: what stands behind Bearer or Basic, user and password of a
// Basic token, the values of cookies. All are found in upper and lower case, with blanks, line
// breaks, plus signs or invisible characters in them, escaped for JSON, URLs or HTML, also in one
// another, and in base64 or hexadecimal digits, also of the text that is escaped for JSON or a URL.
// Those shorter than 6 bytes are left out, because they occur by chance.
func (s *Set) Add(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		for _, part := range parts(secret) {
			if len(part) >= minSecret && !isLiteral(part) {
				s.needles = append(s.needles, spellings(part)...)
			}
		}
	}
	s.needles = slices.DeleteFunc(unique(s.needles), func(n string) bool {
		return len(n) < minSecret || isLiteral(n) || strings.IndexByte(n, wall) >= 0
	})
	s.finder.Store(newFinder(s.needles))
}

// parts takes a header value apart: scheme, Basic user and password, cookies.
func parts(secret string) []string {
	secret = strings.TrimSpace(secret)
	out := []string{secret}
	scheme, token, _ := strings.Cut(secret, " ")
	if token = strings.TrimSpace(token); len(token) >= minSecret {
		switch strings.ToLower(scheme) {
		case "bearer", "token", "apikey", "api-key", "key", "negotiate":
			return []string{token}
		case "basic":
			out = []string{token}
		}
	}
	if plain, ok := decodeBase64(token); ok && strings.EqualFold(scheme, "basic") {
		user, password, _ := strings.Cut(plain, ":")
		return append(out, plain, user, password)
	}
	for cookie := range strings.SplitSeq(secret, "; ") {
		if _, value, found := strings.Cut(cookie, "="); found && len(value) >= 8 {
			out = append(out, value)
		}
	}
	return out
}

func decodeBase64(token string) (string, bool) {
	token = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(token, "="))
	plain, err := base64.RawStdEncoding.DecodeString(token)
	return string(plain), err == nil
}

// isLiteral lists words that stand for no value at all; replacing them would
// break every JSON document.
func isLiteral(word string) bool {
	switch strings.ToLower(word) {
	case "null", "none", "true", "false", "undefined":
		return true
	}
	return false
}

// String returns text without the secrets of s, in any of their forms, and
// without what [Text] finds. Text that holds none is returned as it is, without
// an allocation. A text of 256 bytes or more may have been cut: the start of a
// secret at its end, of 6 bytes or more, counts as the secret.
func (s *Set) String(text string) string {
	for range maxRounds {
		clean := Text(s.Exact(text))
		if clean == text {
			break
		}
		text = clean
	}
	return text
}

// Exact is [Set.String] without the patterns: for structured data and
// generated text, where patterns may find what only looks like a secret.
func (s *Set) Exact(text string) string {
	if f := s.current(); f != nil {
		return f.redactAll(text)
	}
	return text
}

// current returns the finder of all secrets so far, nil for none.
func (s *Set) current() *finder {
	if s == nil {
		return nil
	}
	return s.finder.Load()
}

// Bytes is [Set.String] for bodies, files and frames. It never changes b; it
// returns b itself if there is nothing to redact, otherwise a new slice.
func (s *Set) Bytes(b []byte) []byte {
	// The string shares b's memory, lives in this call only, and b is not
	// written meanwhile.
	view := unsafe.String(unsafe.SliceData(b), len(b))
	clean := s.String(view)
	if len(clean) == len(view) && unsafe.StringData(clean) == unsafe.StringData(view) {
		return b
	}
	return []byte(clean)
}

// Writer returns a writer that passes every Write on to w redacted as one unit:
// a log line or a whole document, never a part of one. Write returns len(p)
// once w has taken all of it. The writer is as safe for concurrent use as w.
func (s *Set) Writer(w io.Writer) io.Writer { return setWriter{s, w} }

type setWriter struct {
	set *Set
	to  io.Writer
}

// Write implements io.Writer.
func (w setWriter) Write(p []byte) (int, error) {
	if _, err := w.to.Write(w.set.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
