package jinja

import "strings"

// keepBlanks marks the blocks and comments that do not begin their line, so that
// blanks before them stay: only those between the start of a line and a block are
// to be removed, and the library removes all that follow another block.
func keepBlanks(source string) string {
	var out strings.Builder
	line := true // only blanks since the line began
	for source != "" {
		at := strings.IndexAny(source, "{\n")
		if at < 0 {
			break
		}
		line = line && strings.Trim(source[:at], " \t") == ""
		out.WriteString(source[:at])
		source = source[at:]
		if source[0] == '\n' {
			line = true
			out.WriteByte('\n')
			source = source[1:]
			continue
		}
		n := tagLength(source)
		tag := source[:n]
		source = source[n:]
		if n > 2 && tag[1] != '{' && !line && tag[2] != '-' && tag[2] != '+' {
			tag = tag[:2] + "+" + tag[2:]
		}
		line = false
		out.WriteString(tag)
		if n > 2 && strings.Trim(tag, "{%}-+ \t\n") == "raw" {
			end := max(strings.Index(source, "endraw"), 0)
			end = max(strings.LastIndex(source[:end], "{%"), 0)
			out.WriteString(source[:end])
			source = source[end:]
		}
	}
	return out.String() + source
}

// tagLength is the length of the block, output or comment that a text starts with,
// its quoted texts included; 1 if it starts with only a brace.
func tagLength(s string) int {
	ends := map[byte]string{'%': "%}", '{': "}}", '#': "#}"}
	if len(s) < 2 || ends[s[1]] == "" {
		return 1
	}
	end := ends[s[1]]
	quote := byte(0)
	for i := 2; i < len(s); i++ {
		switch {
		case quote != 0 && s[i] == '\\':
			i++
		case quote != 0 && s[i] == quote:
			quote = 0
		case quote != 0:
		case s[1] != '#' && (s[i] == '"' || s[i] == '\''):
			quote = s[i]
		case strings.HasPrefix(s[i:], end):
			return i + len(end)
		}
	}
	return len(s)
}
