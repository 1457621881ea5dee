package vectors

// The model of the simulated server computes vectors from the words of a text: texts that
// share words, or parts of words, get similar vectors. The same text always gives the same
// vector.

import (
	"hash/fnv"
	"math"
	"strings"
	"unicode"

	"aiperfd/internal/mock/random"
)

// DefaultDim is the default dimension of vectors, that of small embedding models.
const DefaultDim = 384

// longestWeight is the weight of the longest words. Longer words have more weight,
// because they carry more information.
const longestWeight = 8 // letters

// places is the number of elements of a vector that a feature changes, so that vectors
// of short texts are not nearly all zeros.
const places = 16

// Vector returns the features of a text as a vector of length dim ≥ 1, of unit
// length: each feature is hashed to some elements and a sign for each (the hashing trick
// of Weinberger and others, 2009). A text without letters, digits or ideographs is one
// feature as a whole.
//
// The features are the words, and the trigrams of each word, which together weigh as
// much as the word itself and match similar words.
func Vector(text string, dim int) []float32 {
	sum := make([]float64, dim)
	add := func(h uint64, weight float64) {
		for range places {
			if h = random.Mix(h, 0); h>>63 != 0 {
				sum[h%uint64(dim)] -= weight
			} else {
				sum[h%uint64(dim)] += weight
			}
		}
	}
	words, counts := count(Words(text))
	if len(words) == 0 {
		add(hash(text), 1)
	}
	var runes []rune
	for i, w := range words {
		runes = append(append(append(runes[:0], border), []rune(w)...), border)
		weight := float64(counts[i]) * float64(min(len(runes)-2, longestWeight))
		add(hash(w), weight)
		grams := len(runes) - 2
		for k := range grams {
			add(trigram(runes[k:k+3]), weight/math.Sqrt(float64(grams)))
		}
	}
	return unit(sum)
}

// count returns each word once, in order of first occurrence, and its number of
// occurrences.
func count(all []string) (words []string, counts []int) {
	index := make(map[string]int, len(all))
	for _, w := range all {
		i, known := index[w]
		if !known {
			i = len(words)
			index[w] = i
			words, counts = append(words, w), append(counts, 0)
		}
		counts[i]++
	}
	return words, counts
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
			words = append(words, string(r))
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

// border marks the start and the end of a word in its trigrams.
const border = ' '

// trigram returns the hash of three characters.
func trigram(r []rune) uint64 {
	const bits = 21 // of a character
	return random.Mix(uint64(r[0])|uint64(r[1])<<bits|uint64(r[2])<<(2*bits), 0)
}

// unit scales a vector to length 1. A zero vector, whose features cancel each other out,
// becomes the first axis.
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
	return h.Sum64()
}
