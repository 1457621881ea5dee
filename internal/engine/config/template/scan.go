package template

import (
	"slices"
	"strings"
)

// reference is a name with the names below it, in a tag of a template.
type reference struct {
	names  []string
	ends   []int // of each name, in the text
	start  int
	called bool // the last name is that of a method
}

// scan finds the references of a template. Names of filters, tests, arguments, and of values
// that the template itself sets are none.
func scan(text string) []reference {
	s := scanner{text: text, locals: []string{"loop", "range", "namespace", "self", "varargs", "kwargs", "caller", "dict", "lipsum", "cycler", "joiner"}}
	for s.at < len(text) {
		i := strings.IndexByte(text[s.at:], '{')
		if i < 0 || s.at+i+1 >= len(text) {
			break
		}
		s.at += i + 1
		switch text[s.at] {
		case '#':
			s.skipTo("#}")
		case '{':
			s.at++
			s.tag("}}", false)
		case '%':
			s.at++
			s.tag("%}", true)
		}
	}
	return slices.DeleteFunc(s.found, func(r reference) bool { return slices.Contains(s.locals, r.names[0]) })
}

// scanner is the state of [scan].
type scanner struct {
	text   string
	at     int
	found  []reference
	locals []string
}

func (s *scanner) skipTo(end string) {
	i := strings.Index(s.text[s.at:], end)
	if i < 0 {
		s.at = len(s.text)
		return
	}
	s.at += i + len(end)
}

// tag reads an output or a block up to its end.
func (s *scanner) tag(end string, block bool) {
	before := "" // the token before
	if block {
		s.at += len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], "-+ \t\r\n"))
		switch before = s.word(); before {
		case "raw":
			s.skipTo("endraw")
		case "for", "set":
			s.declare()
			before = ""
		}
	}
	for s.at < len(s.text) && !strings.HasPrefix(s.text[s.at:], end) {
		switch c := s.text[s.at]; {
		case c == '"' || c == '\'':
			s.quoted(c)
			before = "text"
		case letter(c):
			before = s.name(before)
		case digit(c):
			for s.at < len(s.text) && (digit(s.text[s.at]) || letter(s.text[s.at]) || s.text[s.at] == '.') {
				s.at++
			}
			before = "number"
		case strings.IndexByte(" \t\r\n", c) >= 0:
			s.at++
		default:
			s.at++
			before = string(c)
		}
	}
	s.at = min(s.at+len(end), len(s.text))
}

func letter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

func (s *scanner) word() string {
	start := s.at
	for s.at < len(s.text) && (letter(s.text[s.at]) || digit(s.text[s.at])) {
		s.at++
	}
	return s.text[start:s.at]
}

func (s *scanner) quoted(quote byte) {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case quote:
			s.at++
			return
		}
	}
}

// declare reads the names that a loop or an assignment declares.
func (s *scanner) declare() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case letter(c):
			name := s.word()
			if name == "in" {
				return
			}
			s.locals = append(s.locals, name)
		case c == '=', c == '%', c == '}':
			return
		default:
			s.at++
		}
	}
}

// name reads a name with those below it. before is the token before it; the result is
// the token before the next one.
func (s *scanner) name(before string) string {
	r := reference{start: s.at}
	word := s.word()
	switch word {
	case "and", "or", "not", "in", "is", "if", "else", "elif", "true", "false", "none", "True", "False", "None":
		if word == "not" && before == "is" {
			return "is"
		}
		return word
	}
	if before == "|" || before == "." || before == "is" {
		return "name"
	}
	r.names, r.ends = []string{word}, []int{s.at}
	for {
		next, ok := s.below()
		if !ok {
			break
		}
		r.names, r.ends = append(r.names, next), append(r.ends, s.at)
	}
	rest := strings.TrimLeft(s.text[s.at:], " \t\r\n")
	r.called = strings.HasPrefix(rest, "(")
	argument := strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==")
	if !argument && !(r.called && len(r.names) == 1) {
		s.found = append(s.found, r)
	}
	return "name"
}

// below reads .name, .0, [0] or ['name'].
func (s *scanner) below() (string, bool) {
	rest := s.text[s.at:]
	if len(rest) < 2 {
		return "", false
	}
	switch rest[0] {
	case '.':
		if !letter(rest[1]) && !digit(rest[1]) {
			return "", false
		}
		s.at++
		return s.word(), true
	case '[':
		inner, _, closed := strings.Cut(rest[1:], "]")
		name := strings.Trim(inner, " ")
		if len(name) > 2 && (name[0] == '"' || name[0] == '\'') && name[len(name)-1] == name[0] {
			name = name[1 : len(name)-1]
			if strings.ContainsAny(name, `'"\`) {
				return "", false
			}
		} else if strings.Trim(name, "0123456789") != "" {
			return "", false
		}
		if !closed || name == "" {
			return "", false
		}
		s.at += len(inner) + 2
		return name, true
	}
	return "", false
}
