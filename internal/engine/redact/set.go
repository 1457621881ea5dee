package redact

import (
	"encoding/base64"
	"io"
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
	mu       sync.Mutex
	needles  map[string]needle
	verbatim []string                // secrets of which squeezing leaves too little
	built    atomic.Pointer[machine] // nil: needles changed since
}

// machine is the finder of a Set; nil if it has no secrets.
type machine struct{ finder *finder }

// NewSet returns a Set of secrets, each as by [Set.Add].
func NewSet(secrets ...string) *Set {
	s := new(Set)
	for _, secret := range secrets {
		s.Add(secret)
	}
	return s
}

// Add adds a secret and its parts: what stands behind Bearer or Basic, user and password of a
// Basic token, the values of cookies. All are found in upper and lower case, with blanks, line
// breaks or invisible characters in them, escaped for JSON, URLs or HTML, also in one another, and
// in base64 or hexadecimal digits, also of the text that is escaped for JSON or a URL. Of a part
// that is a token, the first or last 12 characters or more count too. Those shorter than 6 bytes
// are left out, because they occur by chance.
func (s *Set) Add(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.needles == nil {
		s.needles = map[string]needle{}
	}
	for _, part := range parts(secret) {
		if len(part.text) < minSecret || isLiteral(part.text) {
			continue
		}
		if len(squeezed(part.text)) < minSecret {
			s.verbatim = append(s.verbatim, part.text)
		}
		for _, n := range needlesOf(part) {
			if len(n.text) < minSecret || isLiteral(n.text) || strings.Contains(n.text, Placeholder) {
				continue
			}
			known := s.needles[n.text]
			n.starts = n.starts || known.starts
			n.token = n.token || known.token
			s.needles[n.text] = n
		}
	}
	s.built.Store(nil)
}

// part is a piece of a secret.
type part struct {
	text  string
	named bool // it begins with the name of a scheme, and what stands behind it is a part too
}

// parts takes a header value apart: scheme, Basic user and password, cookies.
func parts(secret string) []part {
	secret = strings.TrimSpace(secret)
	out := []part{{text: secret}}
	scheme, token, found := strings.Cut(secret, " ")
	token = strings.TrimSpace(token)
	switch strings.ToLower(scheme) {
	case "bearer", "token", "apikey", "api-key", "key", "negotiate":
		if found {
			out = append(out, part{text: token})
		}
	case "basic":
		out = append(out, part{text: token})
		if plain, ok := decodeBase64(token); ok {
			user, password, _ := strings.Cut(plain, ":")
			out = append(out, part{text: plain}, part{text: user}, part{text: password})
		}
	}
	out[0].named = len(out) > 1
	for cookie := range strings.SplitSeq(secret, "; ") {
		if _, value, found := strings.Cut(cookie, "="); found && len(value) >= 8 {
			out = append(out, part{text: value})
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
	f := s.finder()
	if f == nil {
		return text
	}
	// Without a part, the rest of a secret would no longer be recognized: parts come last.
	text, parts := f.redactAll(text, false)
	if parts {
		text, _ = f.redactAll(text, true)
	}
	return text
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
	clean := w.set.Bytes(p)
	n, err := w.to.Write(clean)
	if err == nil && n < len(clean) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// finder returns the current finder and builds it if need be.
func (s *Set) finder() *finder {
	if s == nil {
		return nil
	}
	if m := s.built.Load(); m != nil {
		return m.finder
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &machine{newFinder(s.needles, s.verbatim)}
	s.built.Store(m)
	return m.finder
}
