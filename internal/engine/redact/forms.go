package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/plainjson"
)

const (
	// minSecret is the shortest secret, in bytes, that is searched for in text.
	minSecret = 6
	// minPart is how many bytes of a token count wherever they stand, because servers repeat
	// keys without their start or end.
	minPart = 12
)

// needle is a spelling of a secret, squeezed (see [squeezed]).
type needle struct {
	text    string
	starts  bool // its start counts at the end of a text that was cut
	token   bool // its first or last minPart bytes or more count anywhere
	encoded bool // it is written in digits of base64 or hexadecimal ones
	number  bool // it has decimal digits only, so that it may be a number
	// before and after are the digits of base64 around it that hold bits of the secret.
	before, after int
}

// needlesOf returns the spellings of a part of a secret. Escapes are undone in the text that is
// searched (see [search]); these are the secret itself, what is left of it if a reader unescapes
// more than a writer has escaped, and what base64 and hexadecimal digits make of it. The usual
// escapes are there too: a stray mark in front of them, as in 100%ab%21, would make them read
// differently.
func needlesOf(p part) []needle {
	var out []needle
	for _, form := range plainForms(p.text) {
		for _, text := range []string{form, strings.ReplaceAll(form, " ", "+"), strings.ReplaceAll(form, "+", "")} {
			out = append(out, needle{text: squeezed(text), token: !p.named && form == p.text && partCounts(form)})
		}
	}
	for _, form := range escapes(p.text) {
		out = append(out, needle{text: squeezed(hex.EncodeToString([]byte(form))), encoded: true})
		for before := range 3 {
			out = append(out, inBase64(form, before)...)
		}
	}
	for i := range out {
		out[i].starts = !p.named
		out[i].number = allDigits(out[i].text)
	}
	return out
}

// partCounts reports whether a secret is one word of ASCII that a program has made: so long a
// part of a word of a language, or of a number, may occur by chance.
func partCounts(secret string) bool {
	printed := !strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' })
	return len(secret) > minPart && mixed(secret) && printed
}

// plainForms returns a secret with the usual escapes, with its own escapes undone, and in both
// cases if it has letters beyond ASCII.
func plainForms(secret string) []string {
	out := escapes(secret)
	plain := secret
	for range maxLevels {
		var b buffer
		l, ok := b.unescape(layer{text: plain})
		if !ok {
			break
		}
		plain = strings.Clone(l.text) + plain[l.start(len(l.text)):]
		out = append(out, plain)
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r >= utf8.RuneSelf }) {
		for _, form := range slices.Clip(out) {
			out = append(out, strings.ToUpper(form), strings.ToLower(form))
		}
	}
	return unique(out)
}

// escapes returns a secret as it is and as encoders escape it for JSON, and for the query, the
// path and the user info of a URL.
func escapes(secret string) []string {
	query := url.QueryEscape(secret)
	strict := strings.ReplaceAll(query, "+", "%20")
	out := []string{
		secret, query, strict, strings.ReplaceAll(strict, "%2F", "/"), url.PathEscape(secret), url.User(secret).String(),
		(&url.URL{Path: "/" + secret}).EscapedPath()[1:],
	}
	if least, err := plainjson.Marshal(secret); err == nil {
		plain := string(least[1 : len(least)-1])
		out = append(out, plain, strings.ReplaceAll(plain, "/", `\/`))
	}
	if safe, err := json.Marshal(secret); err == nil {
		out = append(out, string(safe[1:len(safe)-1]))
	}
	return unique(out)
}

func unique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// inBase64 returns the digits of base64 that only a text determines, with so many other bytes in
// front of it, in both alphabets of RFC 4648.
func inBase64(text string, before int) []needle {
	const bits = 6 // of a digit
	digits := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), text...))
	first := (8*before + bits - 1) / bits
	whole := 8 * (before + len(text)) / bits
	n := needle{encoded: true, before: min(before, 1), after: len(digits) - whole}
	n.text = squeezed(digits[min(first, whole):whole])
	other := n
	other.text = strings.NewReplacer("+", "-", "/", "_").Replace(n.text)
	blank := n // a reader of a query has made blanks of +
	blank.text = strings.ReplaceAll(n.text, "+", "")
	return []needle{n, other, blank}
}
