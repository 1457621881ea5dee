package wire

import (
	"encoding/binary"
	"time"

	"aiperfd/internal/cluster/clock"
)

// appendBytes appends data with its length.
func appendBytes(out, data []byte) []byte {
	out = binary.AppendUvarint(out, uint64(len(data)))
	return append(out, data...)
}

// appendProbe appends the times of a probe.
func appendProbe(out []byte, p *clock.Probe) []byte {
	for _, t := range []time.Duration{p.Sent, p.Arrived, p.Answered, p.Returned} {
		out = binary.AppendVarint(out, int64(t))
	}
	return out
}

// reader reads what these functions have written. After an error it returns zeros.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.skip(n)
	if r.failed {
		return 0
	}
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	r.skip(n)
	if r.failed {
		return 0
	}
	return v
}

// skip goes on after n bytes; <= 0 = they could not be read.
func (r *reader) skip(n int) {
	if n <= 0 {
		r.failed, r.rest = true, nil
		return
	}
	r.rest = r.rest[n:]
}

func (r *reader) octet() byte {
	if len(r.rest) == 0 {
		r.failed = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// bytes reads data with its length, which is at most a number.
func (r *reader) bytes(most int) []byte {
	n := r.uvarint()
	if n > uint64(most) || n > uint64(len(r.rest)) {
		r.failed, r.rest = true, nil
		return nil
	}
	data := r.rest[:n:n]
	r.rest = r.rest[n:]
	return data
}

func (r *reader) probe() clock.Probe {
	return clock.Probe{
		Sent: time.Duration(r.varint()), Arrived: time.Duration(r.varint()),
		Answered: time.Duration(r.varint()), Returned: time.Duration(r.varint()),
	}
}

// end returns an error unless everything was read, and could be.
func (r *reader) end() error {
	if r.failed || len(r.rest) > 0 {
		return ErrMalformed
	}
	return nil
}
