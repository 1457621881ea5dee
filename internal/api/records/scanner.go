package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The places of a line that scanner looks at, as the writer of the file spells them. A
// text cannot contain them, because its quotation marks are escaped.
const (
	afterMetadata = `},"metrics":{`
	failureMark   = `"failure":{"class":"`
)

// line is one line of the file.
type line struct {
	at, size int64  // without the newline
	head     []byte // an object with the member metadata; nil = there is none
	failed   bool
	whole    []byte // nil = it is longer than the buffer; valid until the next line
}

// scanner reads lines of any length in the memory of its reader.
type scanner struct {
	lines *bufio.Reader
	at    int64 // after the last line
}

// next returns the next line that ends in a newline. The error is io.EOF if there is none.
func (s *scanner) next() (line, error) {
	l := line{at: s.at}
	var seam []byte // the end of the part before, in which a mark may begin
	for first := true; ; first = false {
		part, err := s.lines.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !long {
			return line{}, err
		}
		l.size += int64(len(part))
		if first {
			if end := bytes.Index(part, []byte(afterMetadata)); end >= 0 {
				l.head = slices.Concat(part[:end+1], []byte("}"))
			}
			if !long {
				l.whole = part[:len(part)-1]
			}
		}
		if !l.failed {
			seam = append(seam, part[:min(len(part), len(failureMark))]...)
			l.failed = bytes.Contains(part, []byte(failureMark)) || bytes.Contains(seam, []byte(failureMark))
			seam = append(seam[:0], part[max(0, len(part)-len(failureMark)):]...)
		}
		if !long {
			s.at += l.size
			l.size--
			return l, nil
		}
	}
}

// item returns what a page has of the line: the line itself unless it is too long for a
// page or, after a crash of the machine, not JSON.
func (l *line) item() item {
	out := item{at: l.at, size: l.size}
	switch {
	case l.whole != nil && json.Valid(l.whole) && l.whole[0] == '{', l.whole == nil && l.head != nil && l.size <= maxPage:
	case l.head != nil && json.Valid(l.head):
		out.instead = fmt.Appendf(nil, `%s,"omitted_bytes":%d}`, l.head[:len(l.head)-1], l.size)
	default:
		out.instead = fmt.Appendf(nil, `{"omitted_bytes":%d}`, l.size)
	}
	return out
}
