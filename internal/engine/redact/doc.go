// Package redact recognizes secrets and replaces them. No other package does.
//
// Redaction works in four layers, from the most to the least certain:
//
//  1. Structure: a command line ([CommandLine]), a URL ([URL]) or a decoded
//     document ([Value]) is taken apart and its secret parts are replaced.
//  2. Names: [SensitiveName] and [SensitiveHeader] decide from a name alone
//     that its value is a secret.
//  3. Exact values: a [Set] holds the secrets of one run, in every form in
//     which a server or an error message may hand them back.
//  4. Patterns: [Text] finds credentials in prose as a safety net.
//
// Every function replaces a secret by [Placeholder], is idempotent, and gives
// text without secrets back unchanged. Running time is linear in the input.
// A value is replaced if its name or position indicates a secret; free
// text is changed only if a value also looks like a credential, because
// "output tokens" and "cookie monster" must survive.
package redact

// Placeholder replaces secrets. A document that contains it in place of a secret
// cannot be run again.
const Placeholder = "<redacted>"

// span is a byte range [from, to) of a text.
type span struct{ from, to int }

// replaceSpans puts the placeholder in place of every span; spans are ordered
// and do not overlap. Text that holds the placeholder already is returned as
// it is, without an allocation.
func replaceSpans(text string, spans []span) string {
	var out []byte
	done := 0
	for _, sp := range spans {
		if text[sp.from:sp.to] == Placeholder {
			continue
		}
		out = append(out, text[done:sp.from]...)
		out = append(out, Placeholder...)
		done = sp.to
	}
	if out == nil {
		return text
	}
	return string(append(out, text[done:]...))
}
