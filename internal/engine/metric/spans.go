package metric

import (
	"iter"
	"unsafe"
)

// spanBlock is the number of spans that are kept together.
const spanBlock = 256

// spans keeps spans in order. The zero spans is empty.
type spans struct {
	disk *disk
	full []spanRun
	tail []span // the last ones, spanBlock at most
}

// spanRun is spanBlock spans.
type spanRun struct {
	kept []span // nil = they are on disk
	at   int64
}

// len returns the number of spans.
func (s *spans) len() int { return spanBlock*len(s.full) + len(s.tail) }

func (s *spans) add(sp *span) {
	if len(s.tail) == spanBlock {
		if at, ok := s.disk.put(spanBytes(s.tail)); ok {
			s.full = append(s.full, spanRun{at: at})
			s.tail = s.tail[:0]
		} else {
			s.full = append(s.full, spanRun{kept: s.tail})
			s.tail = make([]span, 0, spanBlock)
		}
	}
	s.tail = append(s.tail, *sp)
}

// all yields all spans in order, each valid until the next one.
func (s *spans) all() iter.Seq[*span] {
	return func(yield func(*span) bool) {
		var scratch []span
		for i := range s.full {
			run := s.full[i].kept
			if run == nil {
				if scratch == nil {
					scratch = make([]span, spanBlock)
				}
				if run = scratch; !s.disk.get(spanBytes(run), s.full[i].at) {
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

// spanBytes returns the memory of spans, which hold no pointers. Only this process
// reads what it wrote.
func spanBytes(s []span) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(span{})))
}
