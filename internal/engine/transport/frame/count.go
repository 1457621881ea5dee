package frame

import "aiperfd/internal/engine/bench"

// Limits of the stored part of a body that is only counted: the time and size of each
// read, and the first bytes, which contain the header of audio.
const (
	MaxPieces = 64 << 10 // reads, 1 MiB of memory; the last piece contains all later ones
	MaxStart  = 4 << 10  // bytes
)

// counter stores the times and sizes of the reads of a body, and its first bytes.
type counter struct {
	*output
	maxPieces int // MaxPieces; smaller in tests
	pieces    []bench.Piece
}

var _ splitter = (*counter)(nil)

// feed counts bytes. All bytes of one read are one piece.
func (c *counter) feed(b []byte) {
	if len(b) > c.limit-c.total {
		c.giveUpBody()
		return
	}
	c.total += len(b)
	c.arena = append(c.arena, b[:min(len(b), MaxStart-len(c.arena))]...)
	if last := len(c.pieces) - 1; last >= 0 {
		p := &c.pieces[last]
		full := len(c.pieces) == c.maxPieces
		if full || p.Read == c.reads {
			if p.Read != c.reads {
				c.warned.merged++
			}
			p.At, p.Read, p.Size = c.lastAt, c.reads, p.Size+int32(len(b))
			return
		}
	}
	c.pieces = append(c.pieces, bench.Piece{At: c.lastAt, Size: int32(len(b)), Read: c.reads})
}

func (c *counter) finish(bench.End) {}
