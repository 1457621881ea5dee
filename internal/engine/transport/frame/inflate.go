package frame

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"
	"iter"
)

// inflateBlock is the maximum size of one step of decompression, in bytes.
const inflateBlock = 32 << 10

// inflater decompresses gzip or deflate incrementally. The decompressors of the
// standard library pull their input; running one as a coroutine allows the Framer to
// push reads into it and to obtain the output of each read immediately.
type inflater struct {
	in   []byte // unread compressed bytes of the current read
	err  error  // why the coroutine ended; io.EOF = end of the compressed data
	next func() ([]byte, bool)
	stop func()
}

// newInflater returns an inflater for "gzip", "x-gzip" or "deflate". The caller must
// call its stop.
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

// checksum is the checksum after compressed data.
type checksum interface {
	io.Writer
	// check reads the expected checksum and compares it.
	check(src io.Reader) error
	// more reports whether compressed data may follow.
	more() bool
}

// inflateAll yields the decompressed data. The readers of compress/gzip and
// compress/zlib return the last bytes only after the checksum and, with gzip, the next
// member have arrived; therefore they only read the headers. The error is io.EOF at
// the end of the data.
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
			_, _ = sum.Write(buf[:n]) // never returns an error, see hash.Hash
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

// gzipSum is the checksum of a gzip member (RFC 1952).
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

// openDeflate reads the header of "deflate": the zlib format by the standard (RFC
// 9110, section 8.4.1.2), bare deflate with some servers. The first two bytes
// distinguish them.
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

// pushed is the input of the decompressor. It returns control to the Framer when the
// bytes of a read are used up.
type pushed struct {
	z      *inflater
	yield  func([]byte) bool
	unread []byte
}

// A [flate.Reader] is not wrapped in another buffer.
var _ flate.Reader = (*pushed)(nil)

// wait returns when there is input. An error means that the Framer has stopped.
func (p *pushed) wait() error {
	for len(p.unread) == 0 && len(p.z.in) == 0 {
		if !p.yield(nil) {
			return io.ErrUnexpectedEOF
		}
	}
	return nil
}

// follows waits for two bytes and reports whether they are the given ones, without
// consuming them.
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
