package frame

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
)

// What a response takes of the memory that all share: nothing up to freeBytes,
// so that ordinary ones never touch it, and then grantBytes at a time.
const (
	freeBytes  = 1 << 20
	grantBytes = 1 << 20
)

// Memory bounds what all responses under way keep together, beyond 1 MiB each,
// so that a hostile server cannot take more by many connections than by one. It
// counts the bytes that are kept; buffers that grow take up to twice as much
// for a moment. nil = no bound. Safe for concurrent use.
type Memory struct {
	limit int64
	used  atomic.Int64
}

// NewMemory returns a bound of limit bytes, > 0.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// Used returns how many bytes are taken.
func (m *Memory) Used() int64 { return m.used.Load() }

func (m *Memory) take(n int) bool {
	if m.used.Add(int64(n)) <= m.limit {
		return true
	}
	m.used.Add(-int64(n))
	return false
}

func (m *Memory) giveBack(n int) {
	if n > 0 {
		m.used.Add(-int64(n))
	}
}

// extend appends b to dst. Large memory is doubled: append alone would grow it in
// steps of a quarter, and leave four times the size behind as garbage.
func extend(dst, b []byte) []byte {
	const large = 256 << 10
	if need := len(dst) + len(b); need > cap(dst) && need > large {
		dst = append(make([]byte, 0, 1<<bits.Len(uint(need-1))), dst...)
	}
	return append(dst, b...)
}

// kept is about how many bytes are held now.
func (f *Framer) kept() int {
	const markSize = 24
	return len(f.arena) + len(f.sse.line) + len(f.sse.tail) + len(f.amazon.pending) + f.resp.Events.Size() + len(f.marks)*markSize
}

// claim takes what has come to be kept from the memory that all share. When
// there is no more, it is our limit and none of the server's faults.
func (f *Framer) claim() {
	kept := f.kept()
	if kept <= freeBytes || f.head.Memory == nil {
		return
	}
	need := (kept-freeBytes+grantBytes-1)/grantBytes*grantBytes - f.granted
	if need <= 0 || f.fail != nil {
		return
	}
	if !f.head.Memory.take(need) {
		f.breakOff(bench.ClientError, "memory", fmt.Sprintf(
			"the responses under way take more than %d bytes of memory together", f.head.Memory.limit))
		return
	}
	f.granted += need
}
