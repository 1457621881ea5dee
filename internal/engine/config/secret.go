package config

import (
	"encoding/json"
	"fmt"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/redact"
)

// Secret is a text that must never be shown. It formats as the placeholder
// under every verb, in JSON, YAML and in logs; only [Secret.Reveal] gives the
// text, and only the code that builds requests calls it. The zero Secret is
// empty. Copies share the text.
type Secret struct{ text *string }

// NewSecret wraps a text; the empty text makes the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Equal reports whether both hold the same text.
func (s Secret) Equal(t Secret) bool { return s.Reveal() == t.Reveal() }

// Empty reports whether there is no text.
func (s Secret) Empty() bool { return s.text == nil }

// String returns the placeholder, or "" for an empty secret.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return redact.Placeholder
}

// Format implements fmt.Formatter, so that no verb and no flag shows the text.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// GoString is for %#v of types that contain a Secret.
func (s Secret) GoString() string { return s.String() }

// MarshalJSON writes the placeholder, or null for an empty secret. It does not
// escape HTML, so that "<redacted>" stays readable.
func (s Secret) MarshalJSON() ([]byte, error) {
	if s.text == nil {
		return []byte("null"), nil
	}
	return []byte(`"` + redact.Placeholder + `"`), nil
}

// UnmarshalJSON reads a JSON string or null.
func (s *Secret) UnmarshalJSON(b []byte) error {
	var text *string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("read secret: not a string")
	}
	*s = Secret{}
	if text != nil {
		*s = NewSecret(*text)
	}
	return nil
}

// MarshalText writes the placeholder, for map keys and text encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalZerologObject keeps the text out of logs.
func (s Secret) MarshalZerologObject(e *zerolog.Event) { e.Str("secret", s.String()) }

// URL is a base URL of a server. User information and key-like query values in
// it are secret: it formats redacted under every verb and in JSON.
type URL struct{ raw Secret }

// NewURL wraps a URL as the user wrote it.
func NewURL(raw string) URL { return URL{raw: NewSecret(raw)} }

// Reveal returns the URL with its secrets.
func (u URL) Reveal() string { return u.raw.Reveal() }

// Equal reports whether both are the same URL, secrets included.
func (u URL) Equal(v URL) bool { return u.raw.Equal(v.raw) }

// String returns the URL without its secrets.
func (u URL) String() string { return redact.URL(u.raw.Reveal()) }

// Format implements fmt.Formatter like [Secret.Format].
func (u URL) Format(f fmt.State, _ rune) { fmt.Fprint(f, u.String()) }

// GoString is for %#v.
func (u URL) GoString() string { return u.String() }

// MarshalText writes the redacted URL.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads a URL.
func (u *URL) UnmarshalText(b []byte) error {
	*u = NewURL(string(b))
	return nil
}
