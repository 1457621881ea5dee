package redact

import (
	"regexp"
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
	text   string
	out    []byte // the redacted form of text[:done]; nil as long as nothing changed
	done   int
	urlEnd int // end of the last URL seen
}

// replace puts with in place of text[from:to] and returns to.
func (s *scanner) replace(from, to int, with string) int {
	if s.text[from:to] != with {
		s.out = append(append(s.out, s.text[s.done:from]...), with...)
		s.done = to
	}
	return to
}

// word handles the word text[from:to] with what follows it and returns where
// to go on.
func (s *scanner) word(from, to int) int {
	if end := keyEnd(s.text[from:to]); end > 0 {
		return s.replace(from, from+end, Placeholder)
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

// keyForm matches keys with well-known prefixes: of services, of Amazon, of our API, whose metrics
// have the same prefix, and JSON web tokens.
var keyForm = regexp.MustCompile(`^(?:(?:sk|pk|hf|ghp|gsk|github_pat|glpat|nvapi|xox[abp])[-_]([A-Za-z0-9_-]{12,})|` +
	`AKIA[0-9A-Z]{12,}|aiperfd_[0-9A-Z]{26}|eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$)`)

// keyEnd returns the length of the key with a well-known prefix at the start
// of word, or 0. Words of letters only that are joined by dashes are names of
// things ("hf_tei_rankings"), not keys.
func keyEnd(word string) int {
	if len(word) < len("sk-")+12 {
		return 0
	}
	found := keyForm.FindStringSubmatchIndex(word)
	if found == nil {
		return 0
	}
	if found[2] >= 0 {
		body := word[found[2]:found[3]]
		if strings.ContainsAny(body, "-_") && !strings.ContainsFunc(body, func(r rune) bool { return r <= 'Z' && r != '-' }) {
			return 0
		}
	}
	return found[1]
}

// bearer looks for an authorization scheme in text[from:to] and returns the
// bounds of the token that follows, or 0, 0. "Bearer token" and "basic usage"
// are English, and Bearer realm="api" asks for a token.
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
	ok := len(token) >= 20 || len(token) >= 8 && mixed(token)
	if !isBearer {
		plain, decoded := decodeBase64(token)
		ok = decoded && strings.Contains(plain, ":") || len(token) >= 6 && mixed(token)
	}
	if !ok {
		return 0, 0
	}
	return begin, begin + len(token)
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
		for s.urlEnd = from; s.urlEnd < len(s.text) && !endsValue(s.text, s.urlEnd); {
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
