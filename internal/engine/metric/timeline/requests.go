package timeline

import (
	"iter"
	"unsafe"
)

// blockRequests is the number of requests in a block.
const blockRequests = 256

// requests stores requests in order. The zero requests is empty.
type requests struct {
	disk *Disk
	full []requestBlock
	tail []Request // the last ones, blockRequests at most
}

// requestBlock is blockRequests requests.
type requestBlock struct {
	kept []Request // nil = they are on disk
	at   int64
}

// len returns the number of requests.
func (s *requests) len() int { return blockRequests*len(s.full) + len(s.tail) }

// add appends a request.
func (s *requests) add(r *Request) {
	if len(s.tail) == blockRequests {
		if at, ok := s.disk.Put(bytesOf(s.tail)); ok {
			s.full = append(s.full, requestBlock{at: at})
			s.tail = s.tail[:0]
		} else {
			s.full = append(s.full, requestBlock{kept: s.tail})
			s.tail = make([]Request, 0, blockRequests)
		}
	}
	s.tail = append(s.tail, *r)
}

// all yields all requests in order, each valid until the next one.
func (s *requests) all() iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		var scratch []Request
		for i := range s.full {
			run := s.full[i].kept
			if run == nil {
				if scratch == nil {
					scratch = make([]Request, blockRequests)
				}
				if run = scratch; !s.disk.Get(bytesOf(run), s.full[i].at) {
					return
				}
			}
			for j := range run {
				if !yield(&run[j]) {
					return
				}
			}
		}
		for i := range s.tail {
			if !yield(&s.tail[i]) {
				return
			}
		}
	}
}

// bytesOf returns the memory of requests, which hold no pointers. Only this process
// reads its own data.
func bytesOf(r []Request) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(r))), len(r)*int(unsafe.Sizeof(Request{})))
}
