package redact

import "strings"

// Misplaced returns what a user wrote in place of something else, without what may be a
// secret: what [Text] and [Generated] find.
func Misplaced(text string) string { return Generated(Text(text)) }

// Generated returns a message without the words that look generated. In ordinary text,
// model names and paths it finds little, but it is only for messages.
func Generated(text string) string {
	var spans []span
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && strings.IndexByte(" \t\r\n\"'`\\,()", text[end]) < 0 {
			end++
		}
		if word := text[i:end]; isGenerated(word) && !strings.Contains(word, Placeholder) {
			spans = append(spans, span{i, end})
		}
		i = end + 1
	}
	return replaceSpans(text, spans)
}

// isGenerated reports whether a part of a word, between punctuation, mixes letters and
// digits as keys do and names do not, or whether the word is a UUID.
func isGenerated(word string) bool {
	hexadecimal := 0 // digits so far, dashes between them
	from := 0
	for i := 0; i <= len(word); i++ {
		if i < len(word) && (isAlnum(word[i]) || word[i] == '+' || word[i] == '=') {
			if c := lower(word[i]); isDigit(c) || 'a' <= c && c <= 'f' {
				hexadecimal++
			} else {
				hexadecimal = 0
			}
			continue
		}
		if isMixed(word[from:i]) || hexadecimal == 32 {
			return true
		}
		if i < len(word) && word[i] != '-' {
			hexadecimal = 0
		}
		from = i + 1
	}
	return false
}

// isMixed reports whether at least 12 characters change between letters and digits four
// times, or at least 16 have two of each.
func isMixed(part string) bool {
	if len(part) < 12 {
		return false
	}
	digits, changes := 0, 0
	for i := range len(part) {
		digit := isDigit(part[i])
		if digit {
			digits++
		}
		if i > 0 && digit != isDigit(part[i-1]) {
			changes++
		}
	}
	return changes >= 4 || len(part) >= 16 && digits >= 2 && len(part)-digits >= 2
}
