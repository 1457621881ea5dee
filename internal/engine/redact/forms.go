package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"
)

// minCore is the shortest piece of base64 text that is taken for a secret
// inside a longer encoded value; shorter ones occur by chance.
const minCore = 10

// forms lists every form in which a server, a log or an error may hand secret
// back: as it is, escaped for JSON, for a URL, or in base64. It may repeat
// itself.
func forms(secret string) []string {
	out := append([]string{secret}, jsonForms(secret)...)
	for _, form := range out[1:] {
		if form != secret {
			out = append(out, jsonForms(form)...) // JSON in a JSON string
		}
	}
	out = append(out, urlForms(secret)...)
	return append(out, base64Forms(secret)...)
}

// jsonForms escapes secret as encoders do: the least, HTML-safe, ASCII only,
// and with escaped slashes.
func jsonForms(secret string) []string {
	out := []string{secret}
	var least strings.Builder
	enc := json.NewEncoder(&least)
	enc.SetEscapeHTML(false)
	if enc.Encode(secret) == nil {
		plain := strings.TrimSuffix(least.String(), "\n")
		plain = plain[1 : len(plain)-1]
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

// base64Forms encodes secret in the four usual alphabets. Inside a longer
// value, such as "user:secret", the text depends on where the secret starts
// modulo three; of each start the digits that the secret alone determines are
// taken.
func base64Forms(secret string) []string {
	var out []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		raw := enc.WithPadding(base64.NoPadding)
		out = append(out, enc.EncodeToString([]byte(secret)), raw.EncodeToString([]byte(secret)))
		for shift := range 3 {
			whole := raw.EncodeToString([]byte("\x00\x00"[:shift] + secret))
			first := (shift*8 + 5) / 6
			last := (shift + len(secret)) * 8 / 6
			if last-first >= minCore {
				out = append(out, whole[first:last])
			}
		}
	}
	return out
}
