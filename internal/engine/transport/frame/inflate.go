package frame

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
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
		open := openMember
		if encoding == "deflate" {
			open = openDeflate
		}
		z.err = inflateAll(src, open, yield)
	})
	return z
}

// checksum is what follows compressed data.
type checksum interface {
	io.Writer
	// check reads what the data should be and compares.
	check(src io.Reader) error
	// more reports whether compressed data may follow.
	more() bool
}

// inflateAll yields what compressed data becomes. The decompressors of package
// compress/gzip and compress/zlib hold the last bytes back until the checksum and, of
// gzip, the next member is there; so only the headers are theirs. The error is io.EOF
// at the end of the data.
func inflateAll(src *pushed, open func(*pushed) (checksum, error), yield func([]byte) bool) error {
	buf := make([]byte, inflateBlock)
	for {
		sum, err := open(src)
		if err != nil {
			return err
		}
		for r := flate.NewReader(src); err == nil; {
			var n int
			n, err = r.Read(buf)
			_, _ = sum.Write(buf[:n]) // never fails, see hash.Hash
			if n > 0 && !yield(buf[:n]) {
				return nil
			}
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := sum.check(src); err != nil {
			return err
		}
		if !sum.more() || !src.follows(0x1f, 0x8b) {
			return io.EOF
		}
	}
}

// gzipSum is the checksum of a member of gzip (RFC 1952).
type gzipSum struct {
	hash.Hash32
	size uint32
}

func openMember(src *pushed) (checksum, error) {
	if _, err := gzip.NewReader(src); err != nil { // reads the header, nothing more
		return nil, err
	}
	return &gzipSum{Hash32: crc32.NewIEEE()}, nil
}

func (m *gzipSum) Write(b []byte) (int, error) {
	m.size += uint32(len(b))
	return m.Hash32.Write(b)
}

func (m *gzipSum) check(src io.Reader) error {
	var b [8]byte
	if _, err := io.ReadFull(src, b[:]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b[:]) != m.Sum32() || binary.LittleEndian.Uint32(b[4:]) != m.size {
		return gzip.ErrChecksum
	}
	return nil
}

func (m *gzipSum) more() bool { return true }

// zlibSum is the checksum of zlib (RFC 1950); bare deflate has none.
type zlibSum struct {
	hash.Hash32
	bare bool
}

// openDeflate reads the header of "deflate", which is the zlib format by the standard
// (RFC 9110, section 8.4.1.2) and bare deflate in the habit of some servers: the first
// two bytes tell.
func openDeflate(src *pushed) (checksum, error) {
	first, err := src.ReadByte()
	if err != nil {
		return nil, err
	}
	second, err := src.ReadByte()
	if err != nil {
		return nil, err
	}
	src.unread = []byte{first, second}
	sum := &zlibSum{Hash32: adler32.New(), bare: first&0x0f != 8 || (uint(first)<<8|uint(second))%31 != 0}
	if sum.bare {
		return sum, nil
	}
	_, err = zlib.NewReader(src) // reads the header, nothing more
	return sum, err
}

func (w *zlibSum) check(src io.Reader) error {
	if w.bare {
		return nil
	}
	var b [4]byte
	if _, err := io.ReadFull(src, b[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(b[:]) != w.Sum32() {
		return zlib.ErrChecksum
	}
	return nil
}

func (w *zlibSum) more() bool { return false }

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

// follows waits for two bytes and reports whether they are the given ones. They stay
// unread.
func (p *pushed) follows(first, second byte) bool {
	a, err := p.ReadByte()
	if err != nil {
		return false
	}
	b, err := p.ReadByte()
	p.unread = []byte{a, b}
	return err == nil && a == first && b == second
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
