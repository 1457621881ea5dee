package http1

import "fmt"

// chunkState is the place in a chunked body (RFC 9112, section 7.1).
type chunkState uint8

const (
	chunkSize      chunkState = iota // digits of the size
	chunkPad                         // white space after them, which some servers send
	chunkExtension                   // skipped
	chunkSizeLF
	chunkData
	chunkDataCR
	chunkDataLF
	trailerStart // first byte of a line
	trailerLine  // skipped
	trailerLF    // line feed of the empty line
)

const (
	maxSizeDigits = 15      // so that a size fits into an int64
	maxSizeLine   = 4 << 10 // bytes of a chunk's size with its extensions
	// maxExtra is what all of these may have together: that much, and maxExtraRate
	// for each byte of data. A server that sends every byte in a chunk needs five.
	maxExtra     = 1 << 20
	maxExtraRate = 16
)

// feedChunks takes bytes of a chunked body. The data of the chunks is moved
// together, so that one read yields one piece.
func (p *Parser) feedChunks(b []byte) (body, rest []byte, err error) {
	start, end := 0, 0 // of the data in b; end never passes i
	for i := 0; i < len(b); {
		if p.chunk == chunkData {
			n := int(min(p.left, uint64(len(b)-i)))
			if start == end {
				start, end = i, i // the first piece stays where it is
			}
			if end != i {
				copy(b[end:], b[i:i+n])
			}
			i, end = i+n, end+n
			p.data += uint64(n)
			if p.left -= uint64(n); p.left == 0 {
				p.chunk = chunkDataCR
			}
			continue
		}
		if err := p.chunkByte(b[i]); err != nil {
			return b[start:end], nil, err
		}
		i++
		if p.state == stateDone {
			return b[start:end], b[i:], nil
		}
	}
	return b[start:end], nil, nil
}

// chunkByte takes a byte that is not data.
func (p *Parser) chunkByte(c byte) error {
	if p.chunk >= trailerStart {
		return p.trailerByte(c)
	}
	p.line++
	p.extra++
	if p.line > maxSizeLine {
		return fmt.Errorf("%w: size line of a chunk is larger than %d bytes", ErrTooLarge, maxSizeLine)
	}
	if p.extra > maxExtra+maxExtraRate*p.data {
		return fmt.Errorf("%w: size lines of chunks are larger than %d bytes and %d for each byte of data", ErrTooLarge, maxExtra, maxExtraRate)
	}
	switch p.chunk {
	case chunkSize:
		return p.sizeByte(c)
	case chunkPad, chunkExtension:
		return p.extensionByte(c)
	case chunkSizeLF:
		if c != '\n' {
			return errChunk(c)
		}
		p.digits, p.line = 0, 0
		p.chunk = chunkData
		if p.left == 0 {
			p.chunk = trailerStart
		}
	case chunkDataCR:
		if c != '\r' {
			return errChunk(c)
		}
		p.chunk = chunkDataLF
	case chunkDataLF:
		if c != '\n' {
			return errChunk(c)
		}
		p.chunk, p.line = chunkSize, 0
	case chunkData, trailerStart, trailerLine, trailerLF:
	}
	return nil
}

func (p *Parser) sizeByte(c byte) error {
	var digit byte
	switch {
	case '0' <= c && c <= '9':
		digit = c - '0'
	case 'a' <= c && c <= 'f':
		digit = c - 'a' + 10
	case 'A' <= c && c <= 'F':
		digit = c - 'A' + 10
	case p.digits == 0:
		return errChunk(c)
	default:
		p.chunk = chunkPad
		return p.extensionByte(c)
	}
	if p.digits++; p.digits > maxSizeDigits {
		return fmt.Errorf("%w: size of a chunk has more than %d digits", ErrMalformed, maxSizeDigits)
	}
	p.left = p.left<<4 | uint64(digit)
	return nil
}

// extensionByte takes a byte after the size. A line feed without its carriage
// return is refused, because servers and proxies disagree about it.
func (p *Parser) extensionByte(c byte) error {
	switch {
	case c == '\r':
		p.chunk = chunkSizeLF
	case c == '\n':
		return errChunk(c)
	case c == ';':
		p.chunk = chunkExtension
	case p.chunk == chunkPad && c != ' ' && c != '\t':
		return errChunk(c)
	}
	return nil
}

// trailerByte skips trailers up to the empty line.
func (p *Parser) trailerByte(c byte) error {
	if p.trailer++; p.trailer > MaxHead {
		return fmt.Errorf("%w: trailers are larger than %d bytes", ErrTooLarge, MaxHead)
	}
	switch {
	case c == '\n' && p.chunk != trailerLine:
		p.state = stateDone
	case c == '\n':
		p.chunk = trailerStart
	case p.chunk == trailerLF:
		return errChunk(c)
	case p.chunk == trailerStart && c == '\r':
		p.chunk = trailerLF
	default:
		p.chunk = trailerLine
	}
	return nil
}

func errChunk(c byte) error {
	return fmt.Errorf("%w: unexpected byte %q between chunks", ErrMalformed, c)
}
