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
	// Kind returns how values of flag are treated; ok is false for an unknown flag.
	// flag comes without dashes, in lower case, with '-' for '_'; only flags of one
	// letter keep their case, since -H and -h differ, and are looked up in lower case
	// too if that is unknown.
	Kind(flag string) (k FlagKind, ok bool)
}

// CommandLine renders argv, without the program name, as AIPerf's cli_command:
// program and tokens joined by blanks, secrets replaced. Flags, the subcommand
// in front and plain numbers and booleans are printed bare, all else in single
// quotes as a POSIX shell reads them, so that the line can be run again. The
// program has accepted the line; without a table, the value of a flag is treated
// as the name of the flag suggests.
func CommandLine(program string, argv []string, flags Flags) string {
	c := commandLine{out: append([]byte(nil), program...), flags: flags}
	secret := false
	for i, token := range argv {
		switch {
		case secret: // even if it looks like a flag
			secret = false
			c.print("", Placeholder, true)
		case i == 0 && isSubcommand(token):
			c.print(token, "", false)
		case isFlag(token):
			secret = c.flag(token)
		default:
			c.value("", token)
		}
	}
	return string(c.out)
}

// commandLine is the state of rendering one command line.
type commandLine struct {
	out   []byte
	flags Flags
	kind  FlagKind // of the last flag
}

// flag prints a flag, with its value if that is in the same token, and reports
// whether the next token is a secret.
func (c *commandLine) flag(token string) (secretNext bool) {
	name, value, inline := strings.Cut(token, "=")
	long := strings.TrimLeft(name, "-")
	var ok bool
	if c.kind, ok = c.lookup(long); !ok && !strings.HasPrefix(token, "--") {
		if c.kind, ok = c.lookup(token[1:2]); ok { // -HName:value
			name, value, inline = token[:2], strings.TrimPrefix(token[2:], "="), len(token) > 2
		}
	}
	switch {
	case !ok && !isToken(long):
		c.print("", Text(token), false)
		return false
	case !ok && SensitiveName(long):
		c.kind = Secret
	}
	if inline {
		c.value(token[:len(token)-len(value)], value)
		return false
	}
	c.print(name, "", false)
	return c.kind == Secret
}

// lookup looks up a flag by the name on the command line.
func (c *commandLine) lookup(typed string) (k FlagKind, ok bool) {
	if c.flags == nil || typed == "" {
		return Plain, false
	}
	if len(typed) == 1 {
		if k, ok = c.flags.Kind(typed); ok {
			return k, true
		}
	}
	return c.flags.Kind(strings.ReplaceAll(strings.ToLower(typed), "_", "-"))
}

// value prints a value of the current kind behind prefix, which is "" or the
// flag in the same token.
func (c *commandLine) value(prefix, value string) {
	var clean string
	switch {
	case c.kind == Secret && prefix != "":
		clean = Placeholder
	case c.kind == Header:
		clean = headerValue(value)
	case c.kind == KeyValue:
		clean = keyValues(value)
	case c.kind == URLs:
		clean = urlList(value)
	case isURL(value):
		clean = lenientURL(value)
	default:
		clean = Text(value)
	}
	c.print(prefix, clean, clean != value)
}

// headerValue redacts one header as a whole if its name is sensitive.
func headerValue(value string) string {
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return jsonHeaders(value)
	}
	if SensitiveHeader(value[:indexAnyFrom(value, 0, ":=")]) {
		return Placeholder
	}
	return Text(value)
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
func keyValues(value string) string {
	if clean, ok := jsonValue(value); ok {
		return clean
	}
	var pieces []string
	for rest := value; ; {
		end := pieceEnd(rest)
		pieces = append(pieces, keyValue(rest[:end]))
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
func keyValue(piece string) string {
	i := indexAnyFrom(piece, 0, ":=")
	if i == len(piece) {
		return Text(piece)
	}
	if SensitiveName(strings.Trim(piece[:i], " \"'{")) {
		return piece[:i+1] + Placeholder
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
