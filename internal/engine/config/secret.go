package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
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

// decode reads a text.
func (s *Secret) decode(f field, n *tree.Node) bool {
	v, ok := f.secretText(n, f.path)
	*s = NewSecret(v)
	return ok
}

// secretText reads a text that may be secret and is not a placeholder.
func (d *decoder) secretText(n *tree.Node, path string) (string, bool) {
	if !n.IsText() {
		d.failed[path] = true
		d.Fail(n.Place, problem.CodeWrongType, "%s: must be a string", problem.Label(n.Place))
		return "", false
	}
	if d.options.Stored {
		return strings.ReplaceAll(n.Scalar, redact.Placeholder, "redacted"), true
	}
	if strings.Contains(n.Scalar, redact.Placeholder) || strings.Contains(strings.ToLower(n.Scalar), "%3credacted%3e") {
		d.failed[path] = true
		d.Fail(n.Place, problem.CodeRedacted, "%s: contains a redaction placeholder; give the actual value", problem.Label(n.Place))
		return "", false
	}
	d.doc.injected = append(d.doc.injected, n.Secrets...)
	return n.Scalar, true
}
