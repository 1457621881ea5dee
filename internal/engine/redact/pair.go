package redact

import "strings"

// assignment is the part of "name = value" in a text before the value.
type assignment struct {
	class  class
	equals bool   // '=' and not ':'
	quote  string // around the name, as in JSON; may be escaped, or empty
	short  bool   // the name is "key" or "auth" alone
}

// pair redacts the value if text[from:to] is the name in front of one, and
// returns the position at which to continue.
func (s *scanner) pair(from, to int) int {
	i, quote := s.closingQuote(from, to)
	i = skipBlanks(s.text, i)
	if i >= len(s.text) || s.text[i] != ':' && s.text[i] != '=' {
		return to
	}
	if s.text[i] == '=' && i == to && s.inQuery(from) {
		return s.parameter(from, to)
	}
	if strings.HasSuffix(s.text[:from], "${") && quote == "" {
		return to // a reference: ${secret:NAME}
	}
	a := assignment{equals: s.text[i] == '=', quote: quote}
	i++
	if i < len(s.text) && s.text[i] == ':' {
		return to // a path of names: std::string
	}
	if i < len(s.text) && (s.text[i] == '=' || s.text[i] == '>') {
		i++
	}
	if a.class = s.nameClass(from, to); a.class <= sessionName {
		return to
	}
	a.short = to-from <= len("auth")
	if end := s.value(skipBlanks(s.text, i), a); end > 0 {
		return end
	}
	return to
}

// closingQuote skips the quote behind a name that opened with the same one.
func (s *scanner) closingQuote(from, to int) (next int, mark string) {
	rest, before := s.text[to:], s.text[:from]
	for _, quote := range [...]string{`"`, `'`, "`", `\"`} {
		if strings.HasPrefix(rest, quote) && strings.HasSuffix(before, quote) {
			return to + len(quote), quote
		}
	}
	return to, ""
}

// inQuery reports whether a name at from stands where a URL has parameters.
// '&' may be escaped for JSON or HTML.
func (s *scanner) inQuery(from int) bool {
	if from == 0 {
		return false
	}
	switch s.text[from-1] {
	case '?', '&':
		return true
	case ';', '#':
		return from < s.urlEnd
	case '\\':
		return strings.HasPrefix(s.text[from:], "u0026")
	}
	return false
}

// parameter redacts the value of a query parameter with a sensitive name.
func (s *scanner) parameter(from, to int) int {
	name := strings.TrimPrefix(s.text[max(from, to-maxName):to], "u0026")
	if !sensitiveQuery(name) {
		return to
	}
	end := to + 1
	for end < len(s.text) && s.text[end] != '&' && s.text[end] != '#' && !endsValue(s.text, end) &&
		!strings.HasPrefix(s.text[end:], `\u0026`) {
		end = step(s.text, end)
	}
	value := strings.TrimRight(s.text[to+1:end], ")]},.;")
	if value == "" {
		return to
	}
	return s.replace(to+1, to+1+len(value), Placeholder)
}

// nameClass classifies the name text[from:to], together with the word in
// front of it if the two form one name ("API key: …").
func (s *scanner) nameClass(from, to int) class {
	name := s.text[max(from, to-maxName):to]
	best := classify(name)
	if best > harmless && len(name) > 2 && (name[0]|0x20) == 'x' && name[1] == '-' {
		best = max(best, strongName) // only a header is called X-something
	}
	if from-1 > s.fence && s.text[from-1] == ' ' && to-from <= len("tokens") {
		first := from - 1
		for first > s.fence && first > from-16 && isAlnum(s.text[first-1]) {
			first--
		}
		two := classify(s.text[first:to])
		if best == tokenName && two == harmless {
			return harmless // "first token: …"
		}
		best = max(best, two)
	}
	if name == "PWD" {
		return harmless // the shell's working directory
	}
	return best
}

// value redacts the value at i and returns its end, or 0 to leave it alone.
func (s *scanner) value(i int, a assignment) int {
	rest := s.text[i:]
	if len(rest) > 1 && strings.IndexByte("bu", rest[0]) >= 0 && (rest[1] == '"' || rest[1] == '\'') {
		i, rest = i+1, rest[1:] // Python's b'…'
	}
	if rest == "" {
		return 0
	}
	switch {
	case rest[0] == '"' || rest[0] == '\'' || rest[0] == '`':
		return s.quotedValue(i, rest[:1], a)
	case strings.HasPrefix(rest, `\"`):
		return s.quotedValue(i, `\"`, a)
	case rest[0] == '[' && a.class >= strongName:
		return s.list(i+1, a)
	case rest[0] == '[' || rest[0] == '{' || strings.HasPrefix(rest, "${"):
		return 0
	case a.quote != "" && (isDigit(rest[0]) || rest[0] == '-'):
		return s.number(i, a)
	}
	return s.bareValue(i, a)
}

// quotedValue redacts the text between quotes.
func (s *scanner) quotedValue(i int, quote string, a assignment) int {
	i += len(quote)
	mayClose := a.quote == "" || a.quote == `\"` && quote == `"` // of the JSON string around it all
	if mayClose && closes(quote, s.text[i:]) {
		return 0
	}
	if a.class < strongName {
		n, ok := credential(s.text[i:], 16)
		if !ok || a.quote != "" && a.short && a.class == keyName {
			return 0
		}
		if n < maxLook && !strings.HasPrefix(s.text[i+n:], quote) {
			return 0
		}
	}
	end := i
	for end < len(s.text) && s.text[end] != '\n' && !strings.HasPrefix(s.text[end:], quote) {
		if s.text[end] == '"' {
			break // the end of a JSON string around it all
		}
		if s.text[end] == '\\' && end+1 < len(s.text) && s.text[end+1] != '\n' {
			end++
		}
		end++
	}
	if end == i {
		return 0
	}
	return s.replace(i, end, Placeholder)
}

// closes reports whether the quote behind an unquoted name and in front of rest
// closes a string instead of opening the value: {"m":"password: "}. In JSON
// only ",:]}" may follow; around other quotes prose is more varied.
func closes(quote, rest string) bool {
	i := 0
	for i < len(rest) && i < maxLook && strings.IndexByte(" \t\r\n", rest[i]) >= 0 {
		i++
	}
	if i == len(rest) || i == maxLook || strings.IndexByte(",:]}", rest[i]) >= 0 {
		return true
	}
	switch quote {
	case "'":
		return i > 0
	case "`":
		return i > 0 || strings.IndexByte(";)|/.+-", rest[0]) >= 0
	}
	return false
}

// number redacts a JSON number under a name that never counts anything.
func (s *scanner) number(i int, a assignment) int {
	end := i
	for end < len(s.text) && (isDigit(s.text[end]) || strings.IndexByte("+-.eE", s.text[end]) >= 0) {
		end++
	}
	if a.class < strongName || end < len(s.text) && strings.IndexByte(",}] \t\r\n", s.text[end]) < 0 {
		return 0
	}
	return s.replace(i, end, a.quote+Placeholder+a.quote)
}

// list redacts the strings of a list: ["a", "b"], or [a] as Go prints a header.
func (s *scanner) list(i int, a assignment) int {
	i = skipBlanks(s.text, i)
	if i >= len(s.text) || isDigit(s.text[i]) || strings.IndexByte("-]{[", s.text[i]) >= 0 {
		return 0
	}
	if !strings.HasPrefix(s.text[i:], `\"`) && s.text[i] != '"' && s.text[i] != '\'' {
		end := i
		for end < len(s.text) && s.text[end] != ']' && (s.text[end] == ' ' || !endsValue(s.text, end)) {
			end = step(s.text, end)
		}
		return s.replace(i, end, Placeholder)
	}
	last := 0
	for i < len(s.text) {
		quote := s.text[i : i+1]
		if quote == `\` {
			quote = `\"`
		}
		if !strings.HasPrefix(s.text[i:], quote) || quote != `\"` && quote != `"` && quote != `'` {
			break
		}
		end := s.quotedValue(i, quote, a)
		if end == 0 {
			break
		}
		last = end
		i = skipBlanks(s.text, min(len(s.text), end+len(quote)))
		if i >= len(s.text) || s.text[i] != ',' {
			break
		}
		i = skipBlanks(s.text, i+1)
	}
	return last
}

// bareValue redacts a value without quotes.
func (s *scanner) bareValue(i int, a assignment) int {
	if a.class < strongName && !s.bareCredential(i, a) {
		return 0
	}
	end := i
	line := a.class == lineName && a.quote == "" && (!a.equals || hasScheme(s.text[i:]))
	for end < len(s.text) {
		c := s.text[end]
		if c == '}' || c == ']' && a.quote != "" || line && (c == '{' || c == ']') || !line && strings.IndexByte(",;&)]", c) >= 0 {
			break
		}
		if endsValue(s.text, end) && (!line || c != ' ' && c != '\t') {
			break
		}
		end = step(s.text, end)
	}
	value := strings.TrimRight(s.text[i:end], " \t")
	switch value {
	case "", "true", "false", "null", "none", "None", "nil", "Bearer", "Basic", "bearer", "basic":
		return 0
	}
	return s.replace(i, i+len(value), Placeholder)
}

// bareCredential decides on an unquoted value under a name that is also a
// common word.
func (s *scanner) bareCredential(i int, a assignment) bool {
	rest := s.text[i:]
	if a.equals && a.class == tokenName {
		n := 0
		for n < len(rest) && n < maxLook && isDigit(rest[n]) {
			n++
		}
		number := n == len(rest) || n > 0 && !isWord(rest[n])
		return rest != "" && isAlnum(rest[0]) && !number
	}
	least := 12
	if a.equals {
		least = 8
	}
	n, ok := credential(rest, least)
	return ok && (n == len(rest) || n == maxLook || endsValue(rest, n) || strings.IndexByte(",;&)]}", rest[n]) >= 0)
}

// credential measures the run of credential characters at the start of s and
// reports whether it has at least least of them, letters and digits among
// them. It looks no further than maxLook bytes. Paths are not credentials.
func credential(s string, least int) (n int, ok bool) {
	var letter, digit bool
	for n < len(s) && n < maxLook && (isAlnum(s[n]) || strings.IndexByte("+/=_.~-", s[n]) >= 0) {
		letter = letter || isLower(s[n]|0x20)
		digit = digit || isDigit(s[n])
		n++
	}
	return n, n >= least && letter && digit && s[0] != '/' && s[0] != '.'
}

// hasScheme reports whether a header value starts with an authorization scheme.
func hasScheme(value string) bool {
	for _, scheme := range [...]string{"bearer ", "basic ", "digest ", "negotiate ", "token ", "apikey "} {
		if len(value) >= len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
			return true
		}
	}
	return false
}
