package frame

import (
	"math/bits"
	"sync/atomic"
)

// A response takes nothing from the shared memory up to freeBytes, so that ordinary
// responses never access it, and then grantBytes at a time.
const (
	freeBytes  = 1 << 20
	grantBytes = 1 << 20
)

// Memory limits the total memory of all responses in flight, beyond 1 MiB per
// response, so that a hostile server cannot exhaust it with many connections. A response
// counts with the most that its buffers took, both copies of one that grows included. A
// nil Memory has no limit. It is safe for concurrent use.
type Memory struct {
	limit int64
	used  atomic.Int64
}

// NewMemory returns a Memory of limit bytes, > 0.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// Used returns the number of bytes in use.
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

// extend appends b to dst. It doubles the capacity of large slices: append would grow
// them by a quarter and produce four times their size as garbage.
func extend(dst, b []byte) []byte {
	const large = 256 << 10
	if need := len(dst) + len(b); need > cap(dst) && need > large {
		dst = append(make([]byte, 0, doubled(need)), dst...)
	}
	return append(dst, b...)
}

// growth returns the memory that extend takes to append n bytes.
func growth(dst []byte, n int) int {
	if len(dst) == 0 || len(dst)+n <= cap(dst) {
		return cap(dst)
	}
	return cap(dst) + doubled(len(dst)+n)
}

// doubled returns the least power of two that is at least n, > 0.
func doubled(n int) int { return 1 << bits.Len(uint(n-1)) }

// account is what one response has taken from the shared memory.
type account struct {
	memory *Memory // nil = no limit
	taken  int     // bytes
}

// claim takes memory for a response that needs so many bytes. It reports false if the memory is
// exhausted, which is an error of the client, not of the server.
func (a *account) claim(bytes int) bool {
	if bytes <= freeBytes || a.memory == nil {
		return true
	}
	need := (bytes-freeBytes+grantBytes-1)/grantBytes*grantBytes - a.taken
	if need <= 0 {
		return true
	}
	if !a.memory.take(need) {
		return false
	}
	a.taken += need
	return true
}

func (a *account) free() {
	a.memory.giveBack(a.taken)
	a.taken = 0
}
