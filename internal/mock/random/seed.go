package random

import "hash/crc32"

// Mix spreads the bits of its arguments over the result (the finaliser of
// SplitMix64), so that related numbers give unrelated streams.
func Mix(a, b uint64) uint64 {
	z := a + b*0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// Hash extends the hash of a prompt.
func Hash(h uint32, text []byte) uint32 {
	return crc32.Update(h, crc32.MakeTable(crc32.Castagnoli), text)
}

// Checksum returns a hash of a text.
func Checksum(text string) uint32 {
	return crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
}
