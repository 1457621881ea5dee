// Package feature makes vectors of texts by arithmetic alone: texts that share
// words, or parts of words, get vectors that point the same way. It stands in for an
// embedding model in the simulated server. It is pure: the same text always gives
// the same vector.
package feature

import (
	"hash/fnv"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultDim is the length of vectors unless told otherwise, that of small
// embedding models.
const DefaultDim = 384

// Weights of the two kinds of features. A word counts for more the longer it is,
// because long words say more; its trigrams find words that are nearly the same.
const (
	trigramShare  = 0.25 // of the weight of their word, all of them together
	longestWeight = 8    // letters; longer words weigh no more
)

// Vector returns the features of a text as a vector of length dim ≥ 1, of unit
// length: each feature is hashed to a place and a sign (the hashing trick of
// Weinberger and others, 2009). A text without letters, digits or ideographs is one
// feature as a whole.
func Vector(text string, dim int) []float32 {
	sum := make([]float64, dim)
	add := func(feature string, weight float64) {
		h := hash(feature)
		if h>>63 != 0 {
			weight = -weight
		}
		sum[h%uint64(dim)] += weight
	}
	words := Words(text)
	if len(words) == 0 {
		add("text:"+text, 1)
	}
	for _, w := range words {
		letters := utf8.RuneCountInString(w)
		weight := float64(min(letters, longestWeight))
		add("word:"+w, weight)
		grams := trigrams(w)
		for _, g := range grams {
			add("part:"+g, weight*trigramShare/float64(len(grams)))
		}
	}
	return unit(sum)
}

// Cosine returns the cosine of the angle between two vectors of unit length and of
// one dimension, from -1 to 1, to seven digits, which is what a float32 holds.
func Cosine(a, b []float32) float64 {
	const digits = 1e7
	dot := 0.0
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return math.Round(min(1, max(-1, dot))*digits) / digits
}

// Words returns the words of a text in lower case: runs of letters and digits, and
// each ideograph alone.
func Words(text string) []string {
	var words []string
	start := -1
	end := func(i int) {
		if start >= 0 {
			words = append(words, strings.ToLower(text[start:i]))
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end(i)
			words = append(words, text[i:i+utf8.RuneLen(r)])
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if start < 0 {
				start = i
			}
		default:
			end(i)
		}
	}
	end(len(text))
	return words
}

// trigrams returns every three characters of a word, its borders marked.
func trigrams(word string) []string {
	runes := []rune("^" + word + "$")
	var grams []string
	for i := 0; i+3 <= len(runes); i++ {
		grams = append(grams, string(runes[i:i+3]))
	}
	return grams
}

// unit scales a vector to length 1. Features that cancel each other out to nothing
// leave a vector along the first axis.
func unit(sum []float64) []float32 {
	squares := 0.0
	for _, x := range sum {
		squares += x * x
	}
	out := make([]float32, len(sum))
	if squares == 0 {
		out[0] = 1
		return out
	}
	scale := 1 / math.Sqrt(squares)
	for i, x := range sum {
		out[i] = float32(x * scale)
	}
	return out
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // never fails
	// FNV's upper bits change little with the last letters: spread them.
	z := h.Sum64()
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
