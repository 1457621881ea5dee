package frame

import (
	"time"

	"aiperfd/internal/engine/bench"
)

// Limits of the stored part of a body that is only counted: the time and size of each
// read, and the first bytes, which contain the header of audio.
const (
	MaxPieces = 64 << 10 // reads, 1 MiB of memory; the last piece contains all later ones
	MaxStart  = 4 << 10  // bytes
)

// feedCount counts bytes. All bytes of one read are one piece.
func (f *Framer) feedCount(at time.Duration, b []byte) {
	if len(b) > f.limit-f.total {
		f.giveUpBody()
		return
	}
	f.total += len(b)
	f.arena = append(f.arena, b[:min(len(b), MaxStart-len(f.arena))]...)
	if last := len(f.pieces) - 1; last >= 0 {
		p := &f.pieces[last]
		full := len(f.pieces) == f.maxPieces
		if full || p.Read == f.reads {
			if p.Read != f.reads {
				f.merged++
			}
			p.At, p.Read, p.Size = at, f.reads, p.Size+int32(len(b))
			return
		}
	}
	f.pieces = append(f.pieces, bench.Piece{At: at, Size: int32(len(b)), Read: f.reads})
}
