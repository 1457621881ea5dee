package redact

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"

	"aiperfd/internal/engine/plainjson"
)

// print appends one token: prefix as it is, value quoted. Without a prefix a
// number or boolean stays bare, with one any value that a shell takes as it
// stands does, unless quoted is set. A prefix that a shell would not take is
// quoted with its value.
func (c *commandLine) print(prefix, value string, quoted bool) {
	c.out = append(c.out, ' ')
	switch {
	case !shellSafe(prefix):
		c.out = appendQuoted(c.out, prefix+value)
		return
	case prefix != "":
		c.out = append(c.out, prefix...)
		if value == "" && !strings.HasSuffix(prefix, "=") {
			return
		}
		if !quoted && value != "" && shellSafe(value) {
			c.out = append(c.out, value...)
			return
		}
	case !quoted && (isScalar(value) || strings.HasPrefix(value, "-") && shellSafe(value)):
		c.out = append(c.out, value...)
		return
	}
	c.out = appendQuoted(c.out, value)
}

// appendQuoted appends s in single quotes as POSIX.1 section 2.2.2 has it.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '\'')
	out = append(out, strings.ReplaceAll(s, `'`, `'\''`)...)
	return append(out, '\'')
}

// shellSafe reports whether a shell takes s literally without quotes.
func shellSafe(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte("_@%+=:,./-", s[i]) < 0 {
			return false
		}
	}
	return true
}

// isScalar reports whether s is a boolean, an integer without leading zeros, or
// a decimal without an exponent.
func isScalar(s string) bool {
	if strings.EqualFold(s, "true") || strings.EqualFold(s, "false") {
		return true
	}
	whole, fraction, dot := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if whole == "" || !allDigits(whole) || whole[0] == '0' && len(whole) > 1 {
		return false
	}
	return !dot || fraction != "" && allDigits(fraction)
}

// isFlag reports whether a token is a flag and not a value or negative number.
func isFlag(token string) bool {
	return len(token) > 1 && token[0] == '-' && !isScalar(token)
}

// isSubcommand reports whether the first token is the name of a subcommand.
func isSubcommand(token string) bool {
	for i := range len(token) {
		if !isLower(token[i]) && (i == 0 || token[i] != '-') {
			return false
		}
	}
	return token != ""
}

// jsonValue redacts a JSON object or list in a string. It returns it byte for
// byte if it holds no secret; ok is false if it is not JSON.
func jsonValue(s string) (clean string, ok bool) {
	if trimmed := strings.TrimSpace(s); trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return "", false
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil {
		return "", false
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", false
	}
	redacted := Value(tree)
	if reflect.DeepEqual(tree, redacted) {
		return Text(s), true
	}
	out, err := plainjson.Marshal(redacted)
	if err != nil {
		return Placeholder, true
	}
	return Text(string(out)), true
}
