package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"aiperfd/internal/engine/plainjson"
)

// minSecret is the shortest spelling of a secret, in bytes, that is searched for in text, and the
// shortest start of one that counts at the end of a text that was cut.
const minSecret = 6

// spellings returns how a secret is written in texts, folded (see [layer.fold]). Escapes are undone
// in the text that is searched. These are the secret as it is and with the usual escapes, because
// a stray mark in front of them, as in 100%ab%21, would make them read differently; what base64 and
// hexadecimal digits make of these; and what is left of the secret if a reader undoes more escapes
// than a writer has made.
func spellings(secret string) []string {
	var out []string
	for _, form := range escaped(secret) {
		out = append(out, folded(form), hex.EncodeToString([]byte(form)))
		for before := range 3 {
			out = append(out, inBase64(form, before)...)
		}
	}
	table := foldTable()
	l, next := layer{folds: table}, layer{folds: table}
	l.load(secret)
	for level := 0; level < maxLevels && next.unescape(&l); level++ {
		l, next = next, l
		out = append(out, string(l.text))
	}
	return unique(out)
}

// escaped returns a secret as it is and as encoders escape it for JSON, and for the query, the path
// and the user info of a URL.
func escaped(secret string) []string {
	query := url.QueryEscape(secret)
	out := []string{
		secret, query, strings.ReplaceAll(query, "%2F", "/"), url.PathEscape(secret), url.User(secret).String(),
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
// front of it, in both alphabets of RFC 4648, folded.
func inBase64(text string, before int) []string {
	const bits = 6 // of a digit
	digits := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), text...))
	first := (8*before + bits - 1) / bits
	whole := 8 * (before + len(text)) / bits
	digits = digits[min(first, whole):whole]
	return []string{folded(digits), folded(strings.NewReplacer("+", "-", "/", "_").Replace(digits))}
}
