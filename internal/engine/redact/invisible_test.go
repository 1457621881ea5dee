package redact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"aiperfd/internal/engine/redact"
)

// hidden are characters that programs remove from texts, one of each kind.
var hidden = []string{
	"\x00", "\b", "\v", "\x1b", "\x7f", "\u0085", "\u009b", // control characters
	"\u00ad", "\u061c", "\u180e", "\u200b", "\u200d", "\u202e", "\u2060", "\u2066", "\ufeff", "\U000e0041", // format characters
	"\u034f", "\u115f", "\u3164", "\ufe0f", "\U000e0100", // fillers and selectors
	"\ufffd", "\xff", "\u200b\x00\u00ad", // no text, and several together
}

// TestSetInvisible hides characters in secrets at every place, as they are and escaped.
func TestSetInvisible(t *testing.T) {
	const secret = "sk-live-Qx8RkT2mNv5w"
	set := redact.NewSet("Bearer " + secret)
	escapes := []encoder{
		{"as it is", func(s string) string { return s }},
		{"in JSON", jsonText},
		{"in JSON in JSON", func(s string) string { return jsonText(jsonText(s)) }},
		{"as an entity", func(s string) string { return strings.ReplaceAll(s, "\u200b", "&#8203;") }},
		{"in base64 digits", nil},
	}
	for _, mark := range hidden {
		for _, e := range escapes {
			t.Run(fmt.Sprintf("%q %s", mark, e.name), func(t *testing.T) {
				plain, encode := secret, e.encode
				if encode == nil {
					plain, encode = encoders()[10].encode(secret), escapes[0].encode
				}
				everywhere := strings.Join(strings.Split(plain, ""), mark)
				texts := []string{everywhere}
				for at := 1; at < len(plain); at++ {
					texts = append(texts, plain[:at]+mark+plain[at:])
				}
				for _, text := range texts {
					text = "refused: " + encode(text) + " of 2"
					got := set.Exact(text)
					if got != "refused: "+redact.Placeholder+" of 2" && !(e.encode == nil && strings.Contains(got, redact.Placeholder)) {
						t.Errorf("Exact(%q) = %q", text, got)
					}
				}
			})
		}
	}
}

// TestSetInvisibleSecret has invisible characters in the secret, which a server or a
// reader removes.
func TestSetInvisibleSecret(t *testing.T) {
	for _, mark := range hidden {
		secret := "sk-live" + mark + "Qx8RkT2mNv5w"
		set := redact.NewSet(secret)
		for _, text := range []string{secret, "sk-liveQx8RkT2mNv5w", "sk-\u200blive" + mark + "Qx8RkT2mNv5w"} {
			if got := set.Exact("key " + text + " is wrong"); got != "key "+redact.Placeholder+" is wrong" {
				t.Errorf("Exact(%q) = %q", text, got)
			}
		}
	}
}

// TestTextInvisible hides characters in credentials that are no secret of the run, and
// leaves texts without any as they are.
func TestTextInvisible(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"key", "bad key sk-li\u200bve-0123456789abcdef", "bad key <redacted>"},
		{"bearer", "Bear\u00ader abc\x00def123", "Bearer <redacted>"},
		{"named", `{"pass` + "\u2060" + `word":"oth` + "\u2060" + `er"}`, `{"password":"<redacted>"}`},
		{"none", "a\u200bb \u00e9\x00 \u4f60\u597d", "a\u200bb \u00e9\x00 \u4f60\u597d"},
		{"emoji", "\u2764\ufe0f ok", "\u2764\ufe0f ok"},
	} {
		if got := redact.Text(tc.in); got != tc.want {
			t.Errorf("%s: Text(%q) = %q, want %q", tc.name, tc.in, got, tc.want)
		}
	}
}

// TestPiecesInvisible streams a secret in pieces of every size with an invisible character
// between them, in events of their own and in those of the pieces.
func TestPiecesInvisible(t *testing.T) {
	const secret = "sk-live-Qx8RkT2mNv5w"
	set := redact.NewSet("Bearer " + secret)
	for _, mark := range []string{"\u200b", "\x00", "\u00ad"} {
		for size := 1; size < len(secret); size++ {
			for _, apart := range []bool{true, false} {
				var events []string
				for piece := range slices.Chunk([]byte(secret), size) {
					if apart {
						events = append(events, chunk(0, string(piece)), chunk(0, mark))
					} else {
						events = append(events, chunk(0, string(piece)+mark))
					}
				}
				set.Pieces(events)
				text := strings.NewReplacer(mark, "", jsonText(mark), "").Replace(contents(events))
				if !strings.Contains(text, redact.Placeholder) || strings.Contains(text, "Qx8RkT") || strings.Contains(text, "mNv5") {
					t.Errorf("%q, size %d, apart %v: %q", mark, size, apart, events)
				}
			}
		}
	}
}
