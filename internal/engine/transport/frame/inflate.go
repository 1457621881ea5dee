package frame

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"aiperfd/internal/engine/bench"
)

// inflateBlock is the most that one step of decompression returns, in bytes.
const inflateBlock = 32 << 10

// inflater undoes gzip or deflate incrementally. The standard decompressors
// pull their input; running them as a coroutine lets the Framer push reads into
// them and get out at once whatever a read released.
type inflater struct {
	in   []byte // compressed bytes of the current read that are not consumed yet
	err  error  // why the coroutine ended; io.EOF = end of the compressed data
	next func() ([]byte, bool)
	stop func()
}

// newInflater returns an inflater for "gzip", "x-gzip" or "deflate". Its stop
// must be called.
func newInflater(encoding string) *inflater {
	z := &inflater{}
	z.next, z.stop = iter.Pull(func(yield func([]byte) bool) {
		src := &pushed{z: z, yield: yield}
		r, err := openInflater(encoding, src)
		buf := make([]byte, inflateBlock)
		for err == nil {
			var n int
			n, err = r.Read(buf)
			if n > 0 && !yield(buf[:n]) {
				return
			}
		}
		z.err = err
	})
	return z
}

// openInflater reads the header of the compressed data. "deflate" is the zlib
// format by the standard (RFC 9110, section 8.4.1.2) and bare deflate in the
// habit of some servers: the first two bytes tell.
func openInflater(encoding string, src *pushed) (io.Reader, error) {
	if encoding != "deflate" {
		return gzip.NewReader(src)
	}
	first, err := src.ReadByte()
	if err != nil {
		return nil, err
	}
	second, err := src.ReadByte()
	if err != nil {
		return nil, err
	}
	src.unread = []byte{first, second}
	if first&0x0f == 8 && (uint(first)<<8|uint(second))%31 == 0 {
		return zlib.NewReader(src)
	}
	return flate.NewReader(src), nil
}

// pushed is the decompressor's input: it hands control back to the Framer when
// a read is used up.
type pushed struct {
	z      *inflater
	yield  func([]byte) bool
	unread []byte
}

// With both methods no decompressor wraps us in a buffer of its own.
var _ flate.Reader = (*pushed)(nil)

// wait returns when there is input; its error means that the Framer is done.
func (p *pushed) wait() error {
	for len(p.unread) == 0 && len(p.z.in) == 0 {
		if !p.yield(nil) {
			return io.ErrUnexpectedEOF
		}
	}
	return nil
}

// ReadByte implements io.ByteReader.
func (p *pushed) ReadByte() (byte, error) {
	if err := p.wait(); err != nil {
		return 0, err
	}
	from := &p.z.in
	if len(p.unread) > 0 {
		from = &p.unread
	}
	c := (*from)[0]
	*from = (*from)[1:]
	return c, nil
}

// Read implements io.Reader.
func (p *pushed) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c, err := p.ReadByte()
	if err != nil {
		return 0, err
	}
	b[0] = c
	if len(p.unread) > 0 {
		return 1, nil
	}
	n := copy(b[1:], p.z.in)
	p.z.in = p.z.in[n:]
	return n + 1, nil
}

// inflate feeds one compressed read and consumes what it releases.
func (f *Framer) inflate(at time.Duration, b []byte) {
	z := f.unzip
	for z.in = b; f.mode != modeStop && !f.full; {
		out, ok := z.next()
		if !ok {
			f.inflateEnded(z.err)
			return
		}
		if out == nil {
			break
		}
		f.open(at, out)
	}
	z.in = nil
}

// inflateEnded handles the end of the compressed data; what follows it is
// ignored.
func (f *Framer) inflateEnded(err error) {
	f.full = true
	if f.fail == nil && err != nil && !errors.Is(err, io.EOF) {
		f.fail = &bench.Failure{
			Class: bench.MalformedResponse, Step: bench.StepBody, Status: f.head.Status,
			Code: "content_encoding", Message: fmt.Sprintf("decompress %s body: %v", f.head.ContentEncoding, err),
		}
	}
}

func (f *Framer) stopInflating() {
	if f.unzip != nil {
		f.unzip.stop()
		f.unzip = nil
	}
}
