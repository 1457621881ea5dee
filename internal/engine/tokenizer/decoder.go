package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// A decoder rewrites the token strings of a sequence; joined, the result is
// the text. It owns the slice it gets. Decoders are immutable.
type decoder interface {
	decode(tokens []string) []string
}

type sequenceDec []decoder

func (d sequenceDec) decode(tokens []string) []string {
	for _, step := range d {
		tokens = step.decode(tokens)
	}
	return tokens
}

// joinDec is the default without a decoder: tokens are words.
type joinDec struct{}

func (joinDec) decode(tokens []string) []string { return []string{strings.Join(tokens, " ")} }

type fuseDec struct{}

func (fuseDec) decode(tokens []string) []string { return []string{strings.Join(tokens, "")} }

// byteLevelDec turns characters of the byte alphabet into bytes. A token with
// another character stands for itself.
type byteLevelDec struct{ alphabet *byteAlphabet }

func (d byteLevelDec) bytes(token string) string {
	if raw, ok := d.alphabet.toBytes(token); ok {
		return raw
	}
	return token
}

func (d byteLevelDec) decode(tokens []string) []string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(d.bytes(t))
	}
	return []string{ValidUTF8(b.String())}
}

// byteFallbackDec turns runs of <0xNN> tokens into text; a run that is not
// valid UTF-8 becomes one replacement character a byte.
type byteFallbackDec struct{}

func (byteFallbackDec) decode(tokens []string) []string {
	out := make([]string, 0, len(tokens))
	var run []byte
	flush := func() {
		switch {
		case len(run) == 0:
		case utf8.Valid(run):
			out = append(out, string(run))
		default:
			for range run {
				out = append(out, "\uFFFD")
			}
		}
		run = run[:0]
	}
	for _, t := range tokens {
		if b, ok := byteToken(t); ok {
			run = append(run, b)
			continue
		}
		flush()
		out = append(out, t)
	}
	flush()
	return out
}

// byteToken reads <0xNN>.
func byteToken(t string) (byte, bool) {
	if len(t) != 6 || !strings.HasPrefix(t, "<0x") || t[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(t[3:5], 16, 8)
	return byte(b), err == nil
}

// metaspaceDec turns the visible blank into a blank again. In the first token
// it vanishes, unless nothing had been put in front.
type metaspaceDec struct {
	replacement string
	prepend     prependScheme
}

func (d metaspaceDec) decode(tokens []string) []string {
	for i, t := range tokens {
		blank := " "
		if i == 0 && d.prepend != prependNever {
			blank = ""
		}
		tokens[i] = strings.ReplaceAll(t, d.replacement, blank)
	}
	return tokens
}

// wordPieceDec joins continuation tokens to their word.
type wordPieceDec struct {
	prefix  string
	cleanup bool
}

// cleanUp undoes the blanks that tokenization of English puts before
// punctuation. The reference replaces one pair after the other.
func cleanUp(s string) string {
	for _, p := range [...][2]string{
		{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
		{" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	} {
		s = strings.ReplaceAll(s, p[0], p[1])
	}
	return s
}

func (d wordPieceDec) decode(tokens []string) []string {
	for i, t := range tokens {
		if i > 0 {
			if rest, ok := strings.CutPrefix(t, d.prefix); ok {
				t = rest
			} else {
				t = " " + t
			}
		}
		if d.cleanup {
			t = cleanUp(t)
		}
		tokens[i] = t
	}
	return tokens
}

// suffixDec turns end-of-word suffixes into blanks.
type suffixDec string

func (d suffixDec) decode(tokens []string) []string {
	for i, t := range tokens {
		blank := " "
		if i == len(tokens)-1 {
			blank = ""
		}
		tokens[i] = strings.ReplaceAll(t, string(d), blank)
	}
	return tokens
}

// stripDec removes up to start characters from the front and stop from the
// back of every token.
type stripDec struct {
	content     string
	start, stop int
}

func (d stripDec) decode(tokens []string) []string {
	for i, t := range tokens {
		for range d.start {
			t = strings.TrimPrefix(t, d.content)
		}
		for range d.stop {
			t = strings.TrimSuffix(t, d.content)
		}
		tokens[i] = t
	}
	return tokens
}

type replaceDec struct{ replacer }

func (d replaceDec) decode(tokens []string) []string {
	for i, t := range tokens {
		tokens[i], _ = d.normalize(t)
	}
	return tokens
}

// ValidUTF8 returns s with every maximal invalid part replaced by U+FFFD, as
// the Unicode Standard recommends (section 3.9, "U+FFFD Substitution of
// Maximal Subparts") and Python and Rust do.
func ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	valid, _ := unicode.UTF8.NewDecoder().String(s) // never fails
	return valid
}
