// Package secret holds the texts of a document that must not be shown, and finds them in
// URLs and JSON.
package secret

import (
	"encoding/json"
	"fmt"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/redact"
)

// Text is a text that must never be shown. It formats as the placeholder
// under every verb, in JSON, YAML and in logs; only [Text.Reveal] gives the
// text, and only the code that builds requests calls it. The zero Text is
// empty. Copies share the text.
type Text struct{ text *string }

// New wraps a text; the empty text makes the zero Text.
func New(text string) Text {
	if text == "" {
		return Text{}
	}
	return Text{text: &text}
}

// Reveal returns the text.
func (s Text) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Equal reports whether both hold the same text.
func (s Text) Equal(t Text) bool { return s.Reveal() == t.Reveal() }

// Empty reports whether there is no text.
func (s Text) Empty() bool { return s.text == nil }

// String returns the placeholder, or "" for an empty secret.
func (s Text) String() string {
	if s.text == nil {
		return ""
	}
	return redact.Placeholder
}

// Format implements fmt.Formatter, so that no verb and no flag shows the text.
func (s Text) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// GoString is for %#v of types that contain a Text.
func (s Text) GoString() string { return s.String() }

// MarshalJSON writes the placeholder, or null for an empty secret. It does not
// escape HTML, so that "<redacted>" stays readable.
func (s Text) MarshalJSON() ([]byte, error) {
	if s.text == nil {
		return []byte("null"), nil
	}
	return []byte(`"` + redact.Placeholder + `"`), nil
}

// UnmarshalJSON reads a JSON string or null.
func (s *Text) UnmarshalJSON(b []byte) error {
	var text *string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("read secret: not a string")
	}
	*s = Text{}
	if text != nil {
		*s = New(*text)
	}
	return nil
}

// MarshalText writes the placeholder, for map keys and text encoders.
func (s Text) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalZerologObject keeps the text out of logs.
func (s Text) MarshalZerologObject(e *zerolog.Event) { e.Str("secret", s.String()) }
