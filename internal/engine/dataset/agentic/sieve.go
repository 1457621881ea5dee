package agentic

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"strconv"

	"aiperfd/internal/engine/dataset/file"
)

// idsMember is the member whose lists of ids are nearly all of a trace.
const idsMember = `"hash_ids"`

// sieve takes the ids of blocks out of a trace while it is read: its record has the number of a list, in brackets,
// where the trace has the list. A prompt mostly begins with the bytes of one before it, so most ids are not parsed,
// but found again, and lists that continue each other share their memory. A list that is not one of ids of 64 bits
// stays in the record as it is.
type sieve struct {
	out     []byte
	sum     hash.Hash
	inText  bool
	escaped bool
	inList  bool
	raw     []byte    // the list that is being read, with its brackets
	lists   [][]int64 // by their numbers
	cuts    []cut
	recent  [recentLists]recentList
	last    int  // the list of recent that was continued last
	done    bool // the record was returned: the next bytes are those of another
	took    bool // bytes were written since took was set to false
}

var _ file.Sieve = (*sieve)(nil)

// recentLists is how many lists are compared with a new one: those of agents that work in parallel.
const recentLists = 8

// recentList is a list that another may continue. Only that may append to ids.
type recentList struct {
	raw []byte
	ids []int64
	at  int // the number of lists when it was used
}

// cut is where a list was taken out.
type cut struct {
	at    int // of the opening bracket, in out
	lines int // line ends in the list
	rest  int // bytes after the last of them
}

func newSieve() *sieve { return &sieve{sum: sha256.New()} }

// Write implements [file.Sieve].
func (s *sieve) Write(part []byte) {
	if s.done {
		s.reset()
	}
	s.took = true
	_, _ = s.sum.Write(part) // never fails
	for len(part) > 0 {
		if !s.inList {
			part = part[s.text(part):]
			continue
		}
		end := bytes.IndexByte(part, ']') + 1
		if end == 0 {
			s.raw = append(s.raw, part...)
			return
		}
		s.raw = append(s.raw, part[:end]...)
		part = part[end:]
		s.list()
	}
}

// Record implements [file.Sieve].
func (s *sieve) Record() []byte {
	if s.done {
		s.reset()
	}
	if s.inList {
		s.verbatim()
	}
	s.done = true
	return s.out
}

// Drop implements [file.Sieve].
func (s *sieve) Drop() { *s = *newSieve() }

// digest returns the SHA-256 of the bytes of the record.
func (s *sieve) digest() []byte { return s.sum.Sum(nil) }

// record returns the record of data that a reader has returned: data itself, if the sieve has made it.
func (s *sieve) record(data []byte) []byte {
	if !s.took {
		s.Write(data)
		data = s.Record()
	}
	s.took = false
	return data
}

// forget drops the ids of the record, which may not be followed by another for long.
func (s *sieve) forget() { s.lists, s.recent = nil, [recentLists]recentList{} }

// reset begins the next record.
func (s *sieve) reset() {
	s.sum.Reset()
	*s = sieve{out: s.out[:0], sum: s.sum, raw: s.raw[:0], took: s.took}
}

// text takes bytes up to the beginning of a list of ids, and returns how many.
func (s *sieve) text(part []byte) int {
	for i, c := range part {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inText && c == '\\':
			s.escaped = true
		case c == '"':
			s.inText = !s.inText
		case c == '[' && !s.inText:
			s.out = append(s.out, part[:i]...)
			if s.beginsIDs() {
				s.inList, s.raw = true, append(s.raw[:0], '[')
			} else {
				s.out = append(s.out, '[')
			}
			return i + 1
		}
	}
	s.out = append(s.out, part...)
	return len(part)
}

// beginsIDs reports whether a value that follows here is that of the member with ids.
func (s *sieve) beginsIDs() bool {
	name, ok := bytes.CutSuffix(bytes.TrimRight(s.out, " \t\r\n"), []byte{':'})
	if !ok {
		return false
	}
	before, ok := bytes.CutSuffix(bytes.TrimRight(name, " \t\r\n"), []byte(idsMember))
	return ok && !bytes.HasSuffix(before, []byte{'\\'})
}

// list ends a list at its bracket.
func (s *sieve) list() {
	ids, ok := s.find()
	if !ok || len(ids) == 0 {
		s.verbatim()
		return
	}
	s.inList = false
	place := cut{at: len(s.out), lines: bytes.Count(s.raw, []byte{'\n'}), rest: len(s.raw)}
	if place.lines > 0 {
		place.rest -= bytes.LastIndexByte(s.raw, '\n') + 1
	}
	s.cuts = append(s.cuts, place)
	s.out = strconv.AppendInt(append(s.out, '['), int64(len(s.lists)), 10)
	s.out = append(s.out, ']')
	s.lists = append(s.lists, ids)
}

// verbatim takes what seemed to be a list of ids as text. It may have strings with brackets.
func (s *sieve) verbatim() {
	s.inList = false
	s.out = append(s.out, '[')
	for rest := bytes.Clone(s.raw[1:]); len(rest) > 0; {
		n := s.text(rest)
		if rest = rest[n:]; s.inList { // a list within it
			s.inList = false
			s.out = append(s.out, '[')
		}
	}
}

// find returns the ids of the list that was read; false = it is something else.
func (s *sieve) find() ([]int64, bool) {
	best, most := -1, 1
	for i := range s.recent {
		k := (s.last + i) % recentLists
		r := &s.recent[k]
		if n := commonBytes(r.raw, s.raw); n > most {
			best, most = k, n
		}
		if best == s.last && most >= len(r.raw)-1 && i == 0 {
			break // it continues the one before it
		}
	}
	var from recentList
	if best >= 0 {
		from = s.recent[best]
	}
	shared, at := sharedIDs(from.raw, s.raw, most)
	var ids []int64
	if continues := shared == len(from.ids) && shared > 0; continues {
		ids = from.ids
	} else {
		best = -1
		room := shared + (len(s.raw)-at)/4
		ids = append(make([]int64, 0, room+room/8), from.ids[:shared]...)
	}
	ids, ok := appendIDs(ids, s.raw[at:])
	if ok {
		s.keep(best, ids)
	}
	return ids, ok
}

// keep makes a list one that others may continue: in the place of the one that it continues, or of the oldest.
func (s *sieve) keep(place int, ids []int64) {
	if place < 0 {
		place = 0
		for i := range s.recent {
			if s.recent[i].at < s.recent[place].at {
				place = i
			}
		}
	}
	r := &s.recent[place]
	r.raw, r.ids, r.at = append(r.raw[:0], s.raw...), ids, len(s.lists)+1
	s.last = place
}

// commonBytes returns how many bytes two texts have in common from the beginning.
func commonBytes(a, b []byte) int {
	const step = 512
	n, at := min(len(a), len(b)), 0
	for at+step <= n && bytes.Equal(a[at:at+step], b[at:at+step]) {
		at += step
	}
	for at < n && a[at] == b[at] {
		at++
	}
	return at
}

// sharedIDs returns how many ids of a list are those of another, of which n bytes are the same, and where the rest
// of the list begins.
func sharedIDs(before, list []byte, n int) (ids, at int) {
	ends := func(text []byte, at int) bool { return at < len(text) && (text[at] == ',' || text[at] == ']') }
	digit := n > 1 && list[n-1] >= '0' && list[n-1] <= '9'
	switch {
	case n == len(list) && n == len(before):
		n-- // the same list
		fallthrough
	case digit && ends(before, n) && ends(list, n):
		if text := list[:n]; len(bytes.TrimSpace(text)) > 1 {
			return bytes.Count(text, []byte{','}) + 1, n
		}
	}
	if at = bytes.LastIndexByte(list[:n], ',') + 1; at == 0 {
		return 0, 0
	}
	return bytes.Count(list[:at], []byte{','}), at - 1
}

// appendIDs appends the ids of the rest of a list, which begins with a bracket or comma if an id follows, and ends
// with its bracket.
func appendIDs(ids []int64, rest []byte) ([]int64, bool) {
	blank := func(at int) int {
		for rest[at] == ' ' || rest[at] == '\n' || rest[at] == '\r' || rest[at] == '\t' {
			at++
		}
		return at
	}
	at := blank(0)
	switch rest[at] {
	case '[':
		if at = blank(at + 1); rest[at] == ']' {
			return ids, true
		}
		at--
	case ']':
		return ids, true
	case ',':
	default:
		return nil, false
	}
	for {
		begin := blank(at + 1)
		at = begin
		for rest[at] >= '0' && rest[at] <= '9' || rest[at] == '-' {
			at++
		}
		digits := bytes.TrimPrefix(rest[begin:at], []byte{'-'})
		v, ok := parseID(rest[begin:at])
		if !ok || len(digits) > 1 && digits[0] == '0' { // which JSON does not have
			return nil, false
		}
		ids = append(ids, v)
		if at = blank(at); rest[at] == ']' {
			return ids, true
		}
		if rest[at] != ',' {
			return nil, false
		}
	}
}

// whole returns the record with lists of the same extent in the places of the ids, so that what is wrong with it is
// found in the line and the column in which it is read.
func (s *sieve) whole() []byte {
	var all []byte
	at := 0
	for _, c := range s.cuts {
		all = append(append(all, s.out[at:c.at]...), '[', '0')
		end := c.at + bytes.IndexByte(s.out[c.at:], ']') + 1
		fill := c.rest - 1
		if c.lines == 0 {
			fill -= 2
		}
		all = append(all, bytes.Repeat([]byte{'\n'}, c.lines)...)
		all = append(append(all, bytes.Repeat([]byte{' '}, max(0, fill))...), ']')
		at = end
	}
	return append(all, s.out[at:]...)
}
