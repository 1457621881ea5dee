package redact

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"aiperfd/internal/engine/plainjson"
)

// maxEscapes is how many escapings, one around the other, are undone in a text:
// for example JSON in JSON in a query.
const maxEscapes = 3

// forms lists the texts to search for to find secret. Encodings are undone in the
// text (see [search]), so these are the secret itself and what remains of it
// if a reader unescapes more than a writer has escaped, keeps \n as it is,
// repairs the encoding or joins blanks. The usual escapes of the secret are there
// too: a stray mark in front of them, as in 100%ab%21, would make them read
// differently. It may repeat itself.
func forms(secret string) []string {
	out := formsOf(secret)
	if strings.ContainsFunc(secret, func(r rune) bool { return r >= utf8.RuneSelf }) {
		// The automaton ignores the case of the letters of ASCII only.
		out = append(append(out, formsOf(strings.ToUpper(secret))...), formsOf(strings.ToLower(secret))...)
	}
	return out
}

// formsOf is [forms] for one spelling of the letters beyond ASCII.
func formsOf(secret string) []string {
	out := append([]string{secret}, jsonForms(secret)...)
	out = append(out, urlForms(secret)...)
	plain := []string{secret}
	for range maxEscapes {
		var b buffer
		l, ok := b.unescape(layer{text: secret})
		if !ok {
			break
		}
		secret = strings.Clone(l.text) + secret[l.start(len(l.text)):]
		plain = append(plain, secret)
	}
	controls := strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`, "\b", `\b`, "\f", `\f`)
	for _, form := range plain {
		out = append(out, form,
			controls.Replace(form),
			string([]rune(form)), // JSON and Go: a U+FFFD for each bad byte
			strings.ToValidUTF8(form, "\ufffd"),
			withoutInvisible(form),
			strings.Join(strings.Fields(form), " "))
	}
	return out
}

// jsonForms escapes secret as encoders do: the least, HTML-safe, ASCII only,
// and with escaped slashes.
func jsonForms(secret string) []string {
	out := []string{secret}
	if least, err := plainjson.Marshal(secret); err == nil {
		plain := string(least[1 : len(least)-1])
		out = append(out, plain, strings.ReplaceAll(plain, "/", `\/`), asciiOnly(plain))
	}
	if safe, err := json.Marshal(secret); err == nil {
		out = append(out, string(safe[1:len(safe)-1]))
	}
	return out
}

// asciiOnly writes \uXXXX for everything beyond ASCII, as Python does.
func asciiOnly(escaped string) string {
	var b strings.Builder
	for _, r := range escaped {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		const hex = "0123456789abcdef"
		for _, unit := range utf16Units(r) {
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(hex[unit>>shift&15])
			}
		}
	}
	return b.String()
}

func utf16Units(r rune) []uint16 {
	if r < 0x10000 {
		return []uint16{uint16(r)}
	}
	r -= 0x10000
	return []uint16{uint16(0xd800 + r>>10), uint16(0xdc00 + r&0x3ff)}
}

// urlForms percent-encodes secret for a query, a path and a user name, and so
// that only unreserved characters stay (RFC 3986 section 2.3), each with upper
// and lower case digits.
func urlForms(secret string) []string {
	query := url.QueryEscape(secret)
	strict := strings.ReplaceAll(query, "+", "%20")
	upper := []string{
		query, strict,
		strings.ReplaceAll(strict, "%2F", "/"),
		url.PathEscape(secret),
		url.User(secret).String(),
		(&url.URL{Path: "/" + secret}).EscapedPath()[1:],
	}
	out := upper
	for _, form := range upper {
		out = append(out, lowerEscapes(form))
	}
	return out
}

// lowerEscapes writes %2F as %2f and leaves the rest alone.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			b[i+1], b[i+2] = lower(b[i+1]), lower(b[i+2])
			i += 2
		}
	}
	return string(b)
}
