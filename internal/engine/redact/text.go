package redact

import (
	"encoding/base64"
	"strings"
)

const (
	// maxName is how many bytes in front of '=' or ':' are read as a name.
	maxName = 64
	// maxLook bounds every look ahead that may end without a redaction; it
	// keeps hostile text linear.
	maxLook = 256
)

// Text returns free text with everything replaced that has the shape of a
// credential: user info of URLs, Bearer and Basic tokens, keys with well-known
// prefixes, and "name=value", "name: value" or "name": "value" with a
// sensitive name. JSON stays JSON. Names that are common words (token, key,
// signature) count only if the value looks like a credential; session names
// never do, because conversations are sessions too.
//
// Credentials are found through [view.Invisible] characters too; a text in which these
// hide one loses them.
func Text(text string) string {
	if visible := withoutInvisible(text); len(visible) != len(text) {
		if clean := visibleText(visible); clean != visible {
			return clean
		}
	}
	return visibleText(text)
}

// visibleText is [Text] for text as it stands.
func visibleText(text string) string {
	s := scanner{text: text}
	for i := 0; i < len(text); {
		if !isAlnum(text[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && isWord(text[end]) {
			end++
		}
		i = s.word(i, end)
	}
	if s.out == nil {
		return text
	}
	return string(append(s.out, text[s.done:]...))
}

// scanner walks over a text once, from the left.
type scanner struct {
	text    string
	out     []byte // the redacted form of text[:done]; nil as long as nothing changed
	done    int
	fence   int // end of the last value found; nothing in front of it is looked at again
	urlEnd  int // end of the last URL seen
	urlLast int // index of the last '@' in it, or -1
}

// replace puts with in place of text[from:to] and returns to.
func (s *scanner) replace(from, to int, with string) int {
	if s.text[from:to] != with {
		s.out = append(append(s.out, s.text[s.done:from]...), with...)
		s.done = to
	}
	s.fence = to
	return to
}

// word handles the word text[from:to] with what follows it and returns where
// to go on.
func (s *scanner) word(from, to int) int {
	if end := keyEnd(s.text[from:to]); end > 0 {
		return s.replace(from, from+end, Placeholder)
	}
	if n := len("bearer%20"); to-from > n && s.text[from]|0x20 == 'b' && strings.EqualFold(s.text[from:from+n], "bearer%20") {
		return s.replace(from+n, to, Placeholder)
	}
	if to == len(s.text) {
		return to
	}
	switch s.text[to] {
	case ' ', '\t':
		if s.text[from]|0x20 == 'b' {
			if begin, end := s.bearer(from, to); end > 0 {
				return s.replace(begin, end, Placeholder)
			}
		}
		if i := skipBlanks(s.text, to); i < len(s.text) && (s.text[i] == '=' || s.text[i] == ':') {
			return s.pair(from, to)
		}
	case ':':
		if n := authorityStart(s.text[to:]); n > 0 {
			return s.authority(to + n)
		}
		return s.pair(from, to)
	case '=', '"', '\'', '`', '\\':
		return s.pair(from, to)
	}
	return to
}

// keyEnd returns the length of the key with a well-known prefix at the start
// of word, or 0. Words of letters only that are joined by dashes are names of
// things ("hf_tei_rankings"), not keys.
func keyEnd(word string) int {
	prefix := keyPrefix(word)
	if prefix == "" {
		return 0
	}
	body := len(prefix)
	joined := body < len(word) && (word[body] == '-' || word[body] == '_')
	if joined {
		body++
	}
	end := body
	var letter, upper, digit, dash bool
	for ; end < len(word) && (isAlnum(word[end]) || word[end] == '-' || word[end] == '_'); end++ {
		c := word[end]
		letter = letter || isLower(c)
		upper = upper || isUpper(c)
		digit = digit || isDigit(c)
		dash = dash || c == '-' || c == '_'
	}
	n := end - body
	var ok bool
	switch {
	case prefix == "eyJ": // a JSON web token: header.payload.signature
		return jwtEnd(word)
	case prefix == "aiperfd": // a token of our API; metrics have the same prefix
		ok = joined && n == 26 && upper && !letter && !dash
	case joined:
		ok = n >= 12 && (digit || upper || !dash)
	case prefix == "AKIA":
		ok = n >= 12 && !letter && !dash
	default:
		ok = n >= 20 && digit && (letter || upper)
	}
	if !ok {
		return 0
	}
	return end
}

func keyPrefix(word string) string {
	if len(word) < len("sk")+12 {
		return ""
	}
	switch word[0] {
	case 's', 'p', 'h', 'g', 'n', 'A', 'a', 'x', 'e':
	default:
		return ""
	}
	for _, prefix := range [...]string{
		"sk", "pk", "hf", "ghp", "gsk", "github_pat", "glpat", "nvapi", "AKIA",
		"xoxa", "xoxb", "xoxp", "eyJ", "aiperfd",
	} {
		if strings.HasPrefix(word, prefix) {
			return prefix
		}
	}
	return ""
}

func jwtEnd(word string) int {
	dots := 0
	for i := range len(word) {
		if word[i] == '.' {
			dots++
		}
		if word[i] == '%' || dots > 2 {
			return 0
		}
	}
	if dots < 2 || len(word) < 40 {
		return 0
	}
	return len(word)
}

// bearer looks for an authorization scheme in text[from:to] and returns the
// bounds of the token that follows, or 0, 0. "Bearer token" and "basic usage"
// are English.
func (s *scanner) bearer(from, to int) (begin, end int) {
	scheme := s.text[from:to]
	isBearer := strings.EqualFold(scheme, "bearer")
	if !isBearer && !strings.EqualFold(scheme, "basic") {
		return 0, 0
	}
	begin = skipBlanks(s.text, to)
	end = begin
	for end < len(s.text) && (isWord(s.text[end]) || s.text[end] == '~' || s.text[end] == '+' || s.text[end] == '/') {
		end++
	}
	for end < len(s.text) && s.text[end] == '=' {
		end++
	}
	token := strings.TrimRight(s.text[begin:end], ".")
	if strings.HasSuffix(token, "=") && (continues(s.text[end:]) || challenge(token)) {
		return 0, 0 // a parameter: Bearer realm="api"
	}
	end = begin + len(token)
	ok := false
	switch {
	case len(token) < 3:
	case !isBearer:
		ok = looksBasic(token)
	case isUpper(scheme[0]):
		ok = !afterScheme(token)
	default:
		ok = len(token) >= 20 || len(token) >= 8 && mixed(token)
	}
	if !ok {
		return 0, 0
	}
	return begin, end
}

// continues reports whether a value, redacted or not, starts rest.
func continues(rest string) bool {
	return rest != "" && isWord(rest[0]) || strings.HasPrefix(rest, Placeholder)
}

// challenge reports whether token is a parameter name of a WWW-Authenticate
// header with its '='.
func challenge(token string) bool {
	switch strings.ToLower(token) {
	case "realm=", "scope=", "error=", "error_description=", "error_uri=", "charset=",
		"authorization_uri=", "resource_metadata=", "nonce=", "algorithm=":
		return true
	}
	return false
}

// afterScheme lists words that follow "Bearer" in prose.
func afterScheme(word string) bool {
	switch strings.ToLower(strings.TrimRight(word, ".")) {
	case "token", "tokens", "auth", "authentication", "authorization", "authorisation", "scheme",
		"realm", "header", "headers", "credential", "credentials", "key", "keys", "error",
		"is", "was", "not", "and", "or", "for", "in", "of", "the", "with", "required", "missing",
		"invalid", "prefix", "schema", "format", "type", "bearer", "basic", "null", "none", "security":
		return true
	}
	return false
}

// looksBasic reports whether token decodes to "user:password", whole or cut
// short, or at least mixes letters and digits.
func looksBasic(token string) bool {
	plain := strings.TrimRight(token, "=")
	plain = strings.NewReplacer("-", "+", "_", "/").Replace(plain[:len(plain)/4*4+restOf(plain)])
	if b, err := base64.RawStdEncoding.DecodeString(plain); err == nil && strings.Contains(string(b), ":") {
		return true
	}
	return len(token) >= 6 && mixed(token)
}

// restOf is the number of usable base64 digits behind the last full group.
func restOf(s string) int {
	if rest := len(s) % 4; rest > 1 {
		return rest
	}
	return 0
}

// mixed reports whether s has letters and digits.
func mixed(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return '0' <= r && r <= '9' }) &&
		strings.ContainsFunc(s, func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' })
}

// authorityStart returns the length of "://", plain or with JSON-escaped
// slashes, at the start of s, or 0.
func authorityStart(s string) int {
	for _, mark := range [...]string{"://", `:\/\/`} {
		if strings.HasPrefix(s, mark) {
			return len(mark)
		}
	}
	return 0
}

// authority redacts the user info of the URL whose authority starts at from.
func (s *scanner) authority(from int) int {
	if from >= s.urlEnd {
		s.urlEnd, s.urlLast = from, -1
		for s.urlEnd < len(s.text) && !endsValue(s.text, s.urlEnd) {
			if s.text[s.urlEnd] == '@' {
				s.urlLast = s.urlEnd
			}
			s.urlEnd = step(s.text, s.urlEnd)
		}
	}
	end := from
	for end < s.urlEnd && s.text[end] != '/' && s.text[end] != '?' && s.text[end] != '#' {
		end++
	}
	if at := strings.LastIndexByte(s.text[from:end], '@'); at > 0 {
		return s.replace(from, from+at, Placeholder)
	}
	// A password with a slash in it leaves "user:half" as the authority.
	if _, port, _ := cutPort(s.text[from:end]); s.urlLast > end && !allDigits(port) && s.text[from] != '[' {
		return s.replace(from, s.urlLast, Placeholder)
	}
	return from
}

// endsValue reports whether an unquoted value or URL ends at i: at white space,
// a quote, or the JSON escape of one.
func endsValue(text string, i int) bool {
	switch text[i] {
	case ' ', '\t', '\n', '\r', '"', '\'', '`':
		return true
	case '\\':
		return i+1 < len(text) && strings.IndexByte(`"'nrt`, text[i+1]) >= 0
	}
	return false
}

// step is the index behind the byte, or the escaped backslash, at i; a value
// must not end between the two.
func step(text string, i int) int {
	if strings.HasPrefix(text[i:], `\\`) {
		return i + 2
	}
	return i + 1
}

// skipBlanks skips a few blanks; more than a few separate things.
func skipBlanks(text string, i int) int {
	for end := min(len(text), i+4); i < end && (text[i] == ' ' || text[i] == '\t'); {
		i++
	}
	return i
}

// isWord reports whether c may continue a word.
func isWord(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' || c == '%' }
