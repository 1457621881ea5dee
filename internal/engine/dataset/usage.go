package dataset

import (
	"encoding/hex"
	"math/big"

	"aiperfd/internal/engine/dataset/source"
)

// Description describes the conversations of a dataset that have been used.
type Description struct {
	source.Description
	// Hash identifies the used conversations, whatever their order: the sum of the
	// SHA-256 of each, with its number, modulo 2²⁵⁶, in hexadecimal.
	Hash  string
	Used  int64 // different conversations
	Drawn int64 // sessions
}

// usage counts the used conversations. It takes one bit per entry.
type usage struct {
	seen            []uint64 // a bit per number
	distinct, drawn int64
	sum             big.Int
}

// add counts a conversation and reports whether it is used for the first time.
func (u *usage) add(number int, digest [32]byte) bool {
	u.drawn++
	at, bit := number/64, uint64(1)<<(number%64)
	for len(u.seen) <= at {
		u.seen = append(u.seen, 0)
	}
	if u.seen[at]&bit != 0 {
		return false
	}
	u.seen[at] |= bit
	u.distinct++
	var d big.Int
	u.sum.Add(&u.sum, d.SetBytes(digest[:]))
	u.sum.SetBit(&u.sum, 256, 0)
	return true
}

func (u *usage) hash() string {
	var sum [32]byte
	return hex.EncodeToString(u.sum.FillBytes(sum[:]))
}
