package redact

import (
	"encoding/json"
	"strings"
)

// FlagKind is the way in which the value of a flag is redacted.
type FlagKind int

const (
	// Plain values are printed; only parts that look like credentials are replaced.
	Plain FlagKind = iota
	// Bool flags take no value from the next token.
	Bool
	// Secret values are always replaced.
	Secret
	// Header values are "Name: value" or a JSON object; with a sensitive name
	// the value as a whole is replaced, name included.
	Header
	// URLs values are redacted by [URL]; they may be a comma list.
	URLs
	// KeyValue values are "key:value" or "key=value", a comma list of these, or
	// a JSON object; values of sensitive keys are replaced.
	KeyValue
	// File values are paths and are printed.
	File
)

// Flags is the flag table of a program.
type Flags interface {
	// Kind returns how values of flag are treated, and whether it takes all
	// tokens up to the next flag; ok is false for an unknown flag. flag comes
	// without dashes, in lower case, with '-' for '_'; only flags of one letter
	// keep their case, since -H and -h differ, and are looked up in lower case
	// too if that is unknown.
	Kind(flag string) (k FlagKind, multi bool, ok bool)
}

// CommandLine renders argv, without the program name, as AIPerf's cli_command:
// program and tokens joined by blanks, secrets replaced. Flags, the subcommand
// in front and plain numbers and booleans are printed bare, all else in single
// quotes as a POSIX shell reads them, so that the line can be run again. The
// tokens behind an unknown flag are treated as its name suggests.
func CommandLine(program string, argv []string, flags Flags) string {
	c := commandLine{out: append([]byte(nil), program...), flags: flags}
	for i, token := range argv {
		switch {
		case c.pending == secretNext && !(c.guess && c.isKnownFlag(token)):
			c.pending = nothing
			if c.multi {
				c.pending = secretWindow
			}
			c.print("", Placeholder, true)
		case i == 0 && isSubcommand(token):
			c.print(token, "", false)
		case isFlag(token):
			c.flag(token)
		default:
			c.value("", token)
		}
	}
	return string(c.out)
}

// pending is the kind of the tokens after the last one.
type pending uint8

const (
	nothing      pending = iota // values of the current kind, or anything
	secretNext                  // a secret first, even if it looks like a flag
	secretWindow                // secrets up to the next flag or pair
)

// commandLine is the state of rendering one command line.
type commandLine struct {
	out     []byte
	flags   Flags
	kind    FlagKind // of the last flag
	multi   bool     // the last flag takes several tokens
	guess   bool     // that a secret follows is a guess: a known flag refutes it
	pending pending
}

// flag prints a flag, with its value if that is in the same token, and sets
// the state for the tokens behind it.
func (c *commandLine) flag(token string) {
	name, value, inline := strings.Cut(token, "=")
	c.pending, c.kind, c.multi, c.guess = nothing, Plain, false, false
	long := strings.TrimLeft(name, "-")
	if k, multi, ok := c.lookup(long); ok {
		c.kind, c.multi = k, multi
	} else if k, multi, n := c.glued(token); n > 0 {
		c.kind, c.multi = k, multi
		name, value, inline = token[:n], strings.TrimPrefix(token[n:], "="), n < len(token)
	} else if !isToken(long) {
		c.print("", Text(token), false)
		return
	} else if SensitiveName(long) {
		c.kind, c.guess = Secret, true
	}
	switch {
	case inline:
		c.value(token[:len(token)-len(value)], value)
		if c.kind == Secret && c.multi {
			c.pending = secretWindow
		}
	case c.kind == Secret:
		c.pending = secretNext
		fallthrough
	default:
		c.print(name, "", false)
	}
}

// lookup looks up a flag by the name on the command line.
func (c *commandLine) lookup(typed string) (k FlagKind, multi, ok bool) {
	if c.flags == nil || typed == "" {
		return Plain, false, false
	}
	if len(typed) == 1 {
		if k, multi, ok = c.flags.Kind(typed); ok {
			return k, multi, true
		}
	}
	return c.flags.Kind(strings.ReplaceAll(strings.ToLower(typed), "_", "-"))
}

// glued finds a short flag with its value in the same token (-HName:value),
// behind any short boolean flags, and returns how many bytes of token are
// flags, or 0.
func (c *commandLine) glued(token string) (k FlagKind, multi bool, n int) {
	if strings.HasPrefix(token, "--") {
		return Plain, false, 0
	}
	for i := 1; i < len(token) && isAlnum(token[i]); i++ {
		k, multi, ok := c.lookup(token[i : i+1])
		if !ok {
			break
		}
		if k != Bool {
			return k, multi, i + 1
		}
	}
	return Plain, false, 0
}

func (c *commandLine) isKnownFlag(token string) bool {
	name, _, _ := strings.Cut(token, "=")
	_, _, ok := c.lookup(strings.TrimLeft(name, "-"))
	return ok && isFlag(token)
}

// value prints a value of the current kind behind prefix, which is "" or the
// flag in the same token.
func (c *commandLine) value(prefix, value string) {
	var clean string
	switch {
	case c.pending == secretWindow && !c.isPair(value):
		clean = Placeholder
	case c.kind == Secret && (prefix != "" || c.multi):
		clean = Placeholder
	case c.kind == Header:
		clean = c.header(value)
	case c.kind == KeyValue:
		clean = c.keyValues(value)
	case c.kind == URLs:
		clean = urlList(value)
	case isURL(value):
		clean = lenientURL(value)
	default:
		clean = Text(value)
	}
	c.print(prefix, clean, clean != value)
}

// isPair reports whether a value has its own name and so ends a window of
// secrets.
func (c *commandLine) isPair(value string) bool {
	switch c.kind {
	case Header:
		return strings.Contains(value, ":")
	case KeyValue:
		return strings.ContainsAny(value, ":=")
	case Plain, Bool, Secret, URLs, File:
	}
	return false
}

// header redacts one header as a whole if its name is sensitive. A name without
// a value makes the next token the value; tokens without a colon behind that
// are words of a value that was not quoted.
func (c *commandLine) header(value string) string {
	c.pending = nothing
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return jsonHeaders(value)
	}
	i := strings.IndexByte(value, ':')
	if i < 0 {
		i = indexAnyFrom(value, 0, "=")
	}
	if !SensitiveHeader(value[:i]) {
		return Text(value)
	}
	c.pending = secretWindow
	if strings.Trim(value[i:], ":= ") == "" {
		c.pending, c.multi, c.guess = secretNext, true, true
	}
	return Placeholder
}

// jsonHeaders keeps a JSON object of headers only if no name in it is
// sensitive.
func jsonHeaders(value string) string {
	var headers map[string]any
	if json.Unmarshal([]byte(value), &headers) != nil {
		return Placeholder
	}
	for name := range headers {
		if SensitiveHeader(name) {
			return Placeholder
		}
	}
	return Text(value)
}

// keyValues redacts the values of sensitive keys in "k:v", "k=v", comma lists
// of these, or JSON. A comma separates only if a key follows.
func (c *commandLine) keyValues(value string) string {
	c.pending = nothing
	if clean, ok := jsonValue(value); ok {
		return clean
	}
	var pieces []string
	for rest := value; ; {
		end := pieceEnd(rest)
		pieces = append(pieces, c.keyValue(rest[:end]))
		if end == len(rest) {
			return strings.Join(pieces, ",")
		}
		rest = rest[end+1:]
	}
}

// pieceEnd is the index of the first comma that a key and ':' or '=' follow,
// or the length of list.
func pieceEnd(list string) int {
	comma := -1
	key := false // only key characters since the comma
	for i := range len(list) {
		switch ch := list[i]; {
		case ch == ',':
			comma, key = i, true
		case ch == ':' || ch == '=':
			if key && comma >= 0 && i > comma+1 {
				return comma
			}
			key = false
		case !isAlnum(ch) && strings.IndexByte("-_.\"' %", ch) < 0:
			key = false
		}
	}
	return len(list)
}

// keyValue redacts one "key:value" or "key=value".
func (c *commandLine) keyValue(piece string) string {
	i := indexAnyFrom(piece, 0, ":=")
	key := strings.Trim(piece[:i], " \"'{")
	c.pending = nothing
	if SensitiveName(key) {
		if strings.Trim(piece[i:], ":= ") == "" {
			c.pending, c.multi, c.guess = secretNext, true, true
			return piece
		}
		c.pending = secretWindow
		return piece[:i+1] + Placeholder
	}
	if i == len(piece) {
		return Text(piece)
	}
	value := piece[i+1:]
	if clean, ok := jsonValue(value); ok {
		return piece[:i+1] + clean
	}
	if isURL(value) {
		return piece[:i+1] + lenientURL(value)
	}
	return Text(piece)
}
