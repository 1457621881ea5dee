package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/redact"
)

// encoders are the ways in which a text is written inside another.
func encoders() []encoder {
	return []encoder{
		{"json", jsonText},
		{"json for html", func(s string) string { b, _ := json.Marshal(s); return strings.Trim(string(b), `"`) }}, //nolint:errchkjson // a text encodes
		{"json with slashes", func(s string) string { return strings.ReplaceAll(jsonText(s), "/", `\/`) }},
		{"query", url.QueryEscape},
		{"path", url.PathEscape},
		{"user", func(s string) string { return url.User(s).String() }},
		{"lower case", func(s string) string { return everyByte(s, "%%%02x") }},
		{"bytes", func(s string) string { return everyByte(s, `\x%02x`) }},
		{"html", html.EscapeString},
		{"xml", func(s string) string {
			return strings.NewReplacer(`"`, "&quot;", "<", "&lt;", "'", "&#x27;").Replace(s)
		}},
		{"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
		{"base64 for URLs", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }},
		{"base64 in lines", func(s string) string { return inLines(base64.StdEncoding.EncodeToString([]byte(s)), 20, "\n") }},
		{"base64 in a header", func(s string) string { return inLines(base64.StdEncoding.EncodeToString([]byte(s)), 16, " ") }},
		{"base64 in indented lines", func(s string) string { return inLines(base64.StdEncoding.EncodeToString([]byte(s)), 16, "\r\n    ") }},
		{"hexadecimal", func(s string) string { return everyByte(s, "%02x") }},
		{"hexadecimal in capitals", func(s string) string { return everyByte(s, "%02X") }},
		{"hexadecimal in lines", func(s string) string { return inLines(everyByte(s, "%02x"), 19, "\n") }},
		{"capitals", strings.ToUpper},
		{"small letters", strings.ToLower},
		{"lines", func(s string) string { return inLines(s, 20, "\n") }},
		{"decimal entities", func(s string) string { return everyCharacter(s, "&#%d;") }},
		{"hexadecimal entities", func(s string) string { return everyCharacter(s, "&#x%x;") }},
		{"code units", func(s string) string { return everyCharacter(s, `\u%04X`) }},
		{"base64 inside", func(s string) string { return base64.StdEncoding.EncodeToString([]byte("name:" + s + "\n")) }},
	}
}

type encoder struct {
	name   string
	encode func(string) string
}

func jsonText(s string) string {
	b, _ := plainjson.Marshal(s) // a text encodes
	return string(b[1 : len(b)-1])
}

func everyByte(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

// lossy reports whether a text in one encoding cannot be read back from another: the
// digits of base64 depend on their case, and no reader joins lines within an escape.
func lossy(inner, outer string) bool {
	switch outer {
	case "capitals", "small letters":
		return strings.HasPrefix(inner, "base64")
	case "lines":
		return strings.Contains(inner, "lines") || inner == "base64 in a header" ||
			!strings.HasPrefix(inner, "base64") && !strings.HasPrefix(inner, "hexadecimal") || strings.HasSuffix(inner, "entities")
	case "query":
		return inner == "base64 in indented lines" || inner == "base64 in a header" // the indentation becomes digits
	}
	return false
}

// beyond reports whether a secret is not searched for in these two encodings: in the digits of
// base64 and hexadecimal numbers it is, if it is escaped for JSON or a URL in them, and in no other
// way.
func beyond(inner, outer string) bool {
	if !strings.HasPrefix(outer, "base64") && !strings.HasPrefix(outer, "hexadecimal") || strings.HasSuffix(outer, "entities") {
		return false
	}
	return !slices.Contains([]string{"json", "json for html", "json with slashes", "query", "path", "user"}, inner)
}

func everyCharacter(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

// inLines breaks a text into lines of so many bytes.
func inLines(s string, width int, end string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if i > 0 && i%width == 0 && utf8.RuneStart(s[i]) {
			b.WriteString(end)
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// TestSetEncoded encodes a secret in every way, alone and inside another that is undone, with text
// around it at each level.
func TestSetEncoded(t *testing.T) {
	const secret = `x"<s3cret&>/+\é%41 value'x`
	var set redact.Set
	set.Add(secret)
	around := func(s string) string { return "a=" + s + " of 2" }
	for _, inner := range encoders() {
		for _, outer := range encoders() {
			if lossy(inner.name, outer.name) || beyond(inner.name, outer.name) {
				continue
			}
			t.Run(inner.name+" in "+outer.name, func(t *testing.T) {
				for pad := range 3 { // moves base64
					once := "start" + strings.Repeat("-", pad) + around(inner.encode(secret))
					twice := "<p>" + outer.encode(once) + "</p>"
					for _, text := range []string{once, twice} {
						got := set.Exact(text)
						if !strings.Contains(got, redact.Placeholder) || readable(got, "s3cret") || readable(got, "41 value") {
							t.Errorf("Exact(%q) = %q", text, got)
						}
						if again := set.Exact(got); again != got {
							t.Errorf("Exact is not idempotent:\n%q\n%q", got, again)
						}
					}
				}
			})
		}
	}
}

// readable reports whether a word of small letters can be read in text, in any case,
// plain or in base64 or hexadecimal, one inside the other, and over line breaks.
func readable(text, word string) bool {
	text = strings.NewReplacer("\n", "", "\r", "", " ", "", `\n`, "", `\r`, "").Replace(text)
	word = strings.ReplaceAll(word, " ", "")
	if strings.Contains(strings.ToLower(text), word) || strings.Contains(strings.ToLower(text), hex.EncodeToString([]byte(word))) ||
		strings.Contains(strings.ToLower(text), hex.EncodeToString([]byte(strings.ToUpper(word)))) {
		return true
	}
	for run := range strings.FieldsFuncSeq(strings.NewReplacer("-", "+", "_", "/").Replace(text), func(r rune) bool {
		return r != '+' && r != '/' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}) {
		for len(run) >= len(word) {
			whole := run[:len(run)/4*4]
			if len(run)-len(whole) > 1 {
				whole = run
			}
			if plain, err := base64.RawStdEncoding.DecodeString(whole); err == nil && strings.Contains(strings.ToLower(string(plain)), word) {
				return true
			}
			run = run[1:]
		}
	}
	return false
}

// TestSetEncodings has the texts that servers sent, as a whole.
func TestSetEncodings(t *testing.T) {
	const secret = `x"<canary&>/+\x`
	basic := base64.StdEncoding.EncodeToString([]byte("name:" + secret)) // bmFtZTp4IjxjYW5hcnkmPi8rXHg=
	for _, tc := range []struct{ name, secret, in, want string }{
		{"query twice", secret, "api_key%3Dx%2522%253Ccanary%2526%253E%252F%252B%255Cx%26plain", "api_key%3DR%26plain"},
		{"query, then path", secret, "a=x%2522%253Ccanary%2526%253E%252F%252B%255Cx&b", "a=R&b"},
		{"header in a query", "Bearer " + secret, "Authorization%3A+Bearer+x%22%3Ccanary%26%3E%2F%2B%5Cx%0AContent", "Authorization%3A+R%0AContent"},
		{"header in a path", "Bearer " + secret, "Authorization:%20Bearer%20x%22%3Ccanary&%3E%2F+%5Cx%0AContent", "Authorization:%20R%0AContent"},
		{"blanks as plus", "one two", "one+two one%20two one two", "R R R"},
		{"plus as blank", "one+two", "one two", "R"},
		{"query in base64", secret, base64.StdEncoding.EncodeToString([]byte("POST /?k=" + url.QueryEscape(secret) + "&x")), "UE9TVCAvP2s9RmeA=="},
		{"basic in a query", "Basic " + basic, "Basic+bmFtZTp4IjxjYW5hcnkmPi8rXHg%3D%0A", "R%0A"},
		{"user in basic in a query", secret, "Basic+bmFtZTp4IjxjYW5hcnkmPi8rXHg%3D%0A", "Basic+bmFtZTR%0A"},
		{"JSON in a query", secret, url.QueryEscape(`{"k":"` + jsonText(secret) + `"}`), "%7B%22k%22%3A%22R%22%7D"},
		{"JSON three times", secret, jsonText(jsonText(jsonText(secret))), "R"},
		{"newline", "one\ntwo\tthree", `"one\ntwo\tthree" one%0Atwo%09three one\\ntwo\\tthree`, `"R" R R`},
		{"control characters", "one\x01two", `one\u0001two`, "R"},
		{"surrogates", "one😀two", `one\ud83d\ude00two one\u0001 \ud83d\ude00`, `R one\u0001 \ud83d\ude00`},
		{"lone surrogate", "one\ufffdtwo", `one\ud83dtwo one\ud83d\u0041two`, `R one\ud83d\u0041two`},
		{"joined blanks", "one  two", "one two", "R"},
		{"repaired", "one\xfftwo", `one\ufffdtwo`, "R"},
		{"entities", `one<"&'>two`, "one&lt;&#34;&amp;&#39;&gt;two one&lt;&quot;&amp;&apos;&gt;two one&#60;&#x22;&#x26;&#x27;&#x3E;two", "R R R"},
		{"capitals", "key-ÿ-one", "KEY-Ÿ-ONE Key-ÿ-One", "R R"},
		{"hexadecimal", "secret+value", "7365637265742b76616c7565 0x7365637265742B76616C7565 a7365637265742b76616c7565", "R 0xR aR"},
		{"hexadecimal in a path", secret, "/debug/78223c63616e617279263e2f2b5c78/x", "/debug/R/x"},
		{"broken lines", "secret-value", "a sec\nret-\r\n  value\nb", "a R\nb"},
		{"broken lines in JSON", "secret-value", `{"a":"sec\nret-\r\nvalue\n"}`, `{"a":"R\n"}`},
		{"base64 in lines", "secret-value", "a: YTpzZWNyZXQtdmFs\ndWU=\nend", "a: YTR\nend"},
		{"base64 in lines in JSON", "secret-value", `{"a":"YTpzZWNyZXQtdmFs\r\ndWU=\r\n"}`, `{"a":"YTR\r\n"}`},
		{"base64 in lines in a query", "secret-value", "YTpzZWNyZXQtdmFs%0AdWU%3D%0A", "YTR%0A"},
		{"base64 in lines, then in a header", "secret-value", "a: YTpzZWNyZXQtdmFs dWU= end", "a: YTR end"},
		{"broken by blanks", "secret-value", "a sec ret- value b", "a R b"},
		{"query ten times", `a"b&c%41`, strings.Repeat("a%252525252525252522b%252525252525252526c%25252525252525252541 ", 2) + "%25252525252", "R R %25252525252"},
		{"a number in two lines", "12345678", "took 1234\n5678 ms", "took 1234\n5678 ms"},
		{"escapes in capitals", secret, `X\U0022&LT;CANARY&AMP;&GT;/+\X5Cx`, "R"},
		{"escaped secret", "p%40ssword", "p%40ssword p@ssword p%2540ssword", "R R R"},
		{"an escape in front", "secret%21", `\secret%2521 \\secret%2521 \nsecret%2521`, `\R \\R \nR`},
		{"no escape", "secret%21", "secret%zz 100% &amp &#xyz; &nothing; \\q \\u12 \\ud8 %", "secret%zz 100% &amp &#xyz; &nothing; \\q \\u12 \\ud8 %"},
		{"number in base64 and JSON", "12345678", `{"a":12345678,"b":"MTIzNDU2Nzg="}`, `{"a":12345678,"b":"R"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := strings.ReplaceAll(tc.want, "R", redact.Placeholder)
			got := redact.NewSet(tc.secret).Exact(tc.in)
			if got != want {
				t.Errorf("Exact(%q)\n got %q\nwant %q", tc.in, got, want)
			}
		})
	}
}

// TestSetCut cuts a text with a secret at every byte.
func TestSetCut(t *testing.T) {
	const secret = `s3"cret<canary>&value`
	set := redact.NewSet("Bearer "+secret, "session="+secret)
	before := strings.Repeat("lorem ipsum ", 30)
	for _, e := range encoders() {
		t.Run(e.name, func(t *testing.T) {
			text := before + e.encode(secret)
			for n := len(before); n <= len(text); n++ {
				for _, mark := range []string{"", "...", "…", "\ufffd"} {
					got := set.Exact(text[:n] + mark)
					if readable(got, "cret") || strings.Contains(got, "canary") {
						t.Errorf("cut behind %q: %q", text[len(before):n]+mark, got[len(before):])
					}
					if again := set.Exact(got); again != got {
						t.Errorf("Exact is not idempotent:\n%q\n%q", got, again)
					}
				}
			}
		})
	}
}

func TestSetCutKept(t *testing.T) {
	set := redact.NewSet("Bearer secret-value", "session=another-value", "12345678")
	long := strings.Repeat("lorem ipsum ", 30)
	for _, tc := range []struct{ name, in, want string }{
		{"start", long + "secret-", long + "R"},
		{"too little of it", long + "secre", long + "secre"},
		{"a short text is whole", "secret-", "secret-"},
		{"not at the end", long + "secret- ", long + "secret- "},
		{"name only", long + "Bearer", long + "Bearer"},
		{"name of a cookie", long + "session=", long + "R"}, // which may as well be a part of a key
		{"name and value", long + "Bearer secret-", long + "Bearer R"},
		{"cookie", long + "session=another", long + "R"},
		{"behind a wall", long + "sec<redacted>ret-", long + "sec<redacted>ret-"},
		{"number", long + "took 0.123456", long + "took 0.123456"},
		{"digits", long + "key 123456", long + "key R"},
		{"cut in front of dots", long + "secret-v...", long + "R..."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := strings.ReplaceAll(tc.want, "R", redact.Placeholder)
			if got := set.Exact(tc.in); got != want {
				t.Errorf("Exact(…%q)\n got …%q\nwant …%q", tc.in[max(0, len(tc.in)-30):], got[max(0, len(got)-30):], want[max(0, len(want)-30):])
			}
		})
	}
}

// TestSetIdempotent draws texts of the bytes that encodings are made of, around
// the length from which a text may be cut.
func TestSetIdempotent(t *testing.T) {
	set := redact.NewSet("Bearer secret/+value", `"%41\n&lt;x`, "Basic dXNlcjpwYXNzd29yZA==")
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"secret/+value", "secret%2F%2Bvalue", "secret/", "c2VjcmV0Lyt2YWx1ZQ", `\"%2541\\n&amp;lt;x`, `"%41\n`, "dXNlcjpwYXNz",
			"password", "passwo", "%", "%2", "5", "&", "amp;", "#", `\`, `\u00`, `"`, "key=", "Authorization: ", "Bearer ", "=", " ", "\n", "x", "<redacted>", "...",
		}), 1, 40).Draw(t, "pieces")
		text := strings.Repeat("-", rapid.SampledFrom([]int{0, 200}).Draw(t, "before")) + strings.Join(pieces, "")
		once := set.String(text)
		if twice := set.String(once); twice != once {
			t.Fatalf("String(%q)\n is %q\nthen %q", text, once, twice)
		}
	})
}

// FuzzSetExact searches any text for any secret.
func FuzzSetExact(f *testing.F) {
	f.Add("secret%21", `a \"secret%2521\" c2VjcmV0JTIx`)
	f.Add("Basic dXNlcjpwYXNzd29yZA==", strings.Repeat(" ", 300)+"QmFzaWMgZFhObGNqcHdZWE56ZDI5eVpB")
	f.Fuzz(func(t *testing.T, secret, text string) {
		set := redact.NewSet(secret)
		once := set.Exact(text)
		if twice := set.Exact(once); twice != once {
			t.Errorf("secret %q: Exact(%q)\n is %q\nthen %q", secret, text, once, twice)
		}
		if secret == "" && once != text {
			t.Errorf("Exact(%q) = %q without secrets", text, once)
		}
	})
}
