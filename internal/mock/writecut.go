package mock

import (
	"bytes"
	"math/rand/v2"
	"unicode/utf8"

	"aiperfd/internal/mock/options"
)

// cutter returns the length of the next write, from 1 to len(b).
type cutter func(b []byte) int

// newCutter returns what the option split says; nil = whole writes.
func newCutter(split string, rng *rand.Rand) cutter {
	switch split {
	case options.SplitNone:
		return nil
	case options.SplitEveryByte:
		return func([]byte) int { return 1 }
	case options.SplitRandom:
		return func(b []byte) int { return 1 + rng.IntN(len(b)) }
	case options.SplitMidUTF8:
		return func(b []byte) int {
			for i, c := range b[:len(b)-1] {
				if c >= utf8.RuneSelf && utf8.RuneStart(c) && !utf8.RuneStart(b[i+1]) {
					return i + 1
				}
			}
			return len(b)
		}
	case options.SplitBeforeNewline:
		return func(b []byte) int {
			if i := bytes.IndexByte(b[1:], '\n'); i >= 0 {
				return i + 1
			}
			return len(b)
		}
	}
	size, _ := options.SplitSize(split) // the options were checked
	return func(b []byte) int { return min(size, len(b)) }
}
