package agentic

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"

	"aiperfd/internal/engine/dataset/file"
)

// packedTrace is a trace as a cache keeps it.
type packedTrace struct {
	place   file.Place
	graph   *Graph
	repairs Repairs
}

// packer writes traces as bytes: numbers of variable length, ids as the difference to the one before, and a text
// that it has written before by its number.
type packer struct {
	out   []byte
	texts map[string]uint64
}

// pack returns a trace as bytes, valid until the next call.
func (p *packer) pack(t *packedTrace) []byte {
	p.out, p.texts = p.out[:0], map[string]uint64{}
	p.text(t.place.File)
	p.whole(t.place.Line)
	p.whole(int(t.place.Unit))
	for _, n := range t.repairs.counts() {
		p.whole(*n)
	}
	g := t.graph
	g.countSeen()
	p.text(g.ID)
	p.whole(g.Block)
	p.text(g.Source.Format)
	p.text(g.Source.SHA256)
	p.whole(len(g.Streams))
	for _, s := range g.Streams {
		p.text(s.ID)
		p.text(string(s.Kind))
		p.whole(s.Declared)
		p.whole(len(s.Requests))
		if s.Spawn != nil { // of all but the first
			p.text(s.Spawn.After)
			p.float(&s.Spawn.T)
		}
		for i := range s.Requests {
			p.request(&s.Requests[i])
		}
	}
	p.whole(len(g.Needs))
	for _, at := range slices.Sorted(maps.Keys(g.Needs)) {
		p.text(at)
		p.list(g.Needs[at])
	}
	return p.out
}

func (p *packer) request(r *Request) {
	p.float(&r.T)
	p.whole(r.In)
	p.whole(r.Out)
	p.float(r.API)
	p.float(r.Think)
	p.float(r.TTFT)
	p.text(r.Model)
	p.text(r.Stop)
	p.list(r.Inputs)
	p.whole(r.Place.Outer)
	inner := 0
	if r.Place.Inner != nil {
		inner = *r.Place.Inner + 1
	}
	p.whole(inner)
	p.whole(*r.seen)
	p.whole(r.Shared)
	p.whole(len(r.New))
	before := int64(0)
	for _, id := range r.New {
		p.out = binary.AppendVarint(p.out, id-before)
		before = id
	}
}

func (p *packer) whole(n int) { p.out = binary.AppendUvarint(p.out, uint64(n)) }

func (p *packer) float(f *float64) {
	if f == nil {
		p.out = append(p.out, 0)
		return
	}
	p.out = binary.BigEndian.AppendUint64(append(p.out, 1), math.Float64bits(*f))
}

func (p *packer) list(texts []string) {
	p.whole(len(texts))
	for _, s := range texts {
		p.text(s)
	}
}

func (p *packer) text(s string) {
	if n, known := p.texts[s]; known {
		p.out = binary.AppendUvarint(p.out, n)
		return
	}
	p.texts[s] = uint64(len(p.texts) + 1)
	p.whole(0)
	p.whole(len(s))
	p.out = append(p.out, s...)
}

// errPacked means that bytes are not those of a trace.
var errPacked = errors.New("the packed trace is damaged")

// unpacker reads what a packer has written. After what cannot be read it returns zeros.
type unpacker struct {
	in    []byte
	texts []string
	bad   bool
}

// unpackTrace returns the trace of bytes.
func unpackTrace(data []byte) (*packedTrace, error) {
	u := &unpacker{in: data}
	t := &packedTrace{graph: &Graph{Needs: map[string][]string{}}}
	t.place = file.Place{File: u.text(), Line: u.whole(), Unit: file.Unit(u.whole())}
	for _, n := range t.repairs.counts() {
		*n = u.whole()
	}
	g := t.graph
	g.ID, g.Block = u.text(), u.whole()
	g.Source = Source{u.text(), u.text()}
	for i := range u.length() {
		s := &Stream{ID: u.text(), Kind: Kind(u.text()), Declared: u.whole()}
		n := u.length()
		if i > 0 {
			s.Spawn = &Spawn{After: u.text()}
			if at := u.float(); at != nil {
				s.Spawn.T = *at
			}
		}
		s.Requests = make([]Request, n)
		for k := range s.Requests {
			u.request(&s.Requests[k])
		}
		g.Streams = append(g.Streams, s)
	}
	for range u.length() {
		at := u.text()
		g.Needs[at] = u.list()
	}
	if u.bad || len(u.in) > 0 || g.check() != "" {
		return nil, errPacked
	}
	g.unpack()
	for _, s := range g.Streams {
		for i := range s.Requests {
			if r := &s.Requests[i]; *r.seen > len(r.blocks) {
				return nil, errPacked
			}
		}
	}
	return t, nil
}

func (u *unpacker) request(r *Request) {
	if t := u.float(); t != nil {
		r.T = *t
	}
	r.In, r.Out = u.whole(), u.whole()
	r.API, r.Think, r.TTFT = u.float(), u.float(), u.float()
	r.Model, r.Stop, r.Inputs = u.text(), u.text(), u.list()
	r.Place.Outer = u.whole()
	if inner := u.whole(); inner > 0 {
		r.Place.Inner = new(inner - 1)
	}
	r.seen = new(u.whole())
	r.Shared = u.whole()
	r.New = make([]int64, u.length())
	before := int64(0)
	for i := range r.New {
		d, n := binary.Varint(u.in)
		if n <= 0 {
			u.fail()
			return
		}
		u.in = u.in[n:]
		before += d
		r.New[i] = before
	}
}

// fail ends the reading.
func (u *unpacker) fail() { u.bad, u.in = true, nil }

func (u *unpacker) whole() int {
	n, size := binary.Uvarint(u.in)
	if size <= 0 || n > math.MaxInt {
		u.fail()
		return 0
	}
	u.in = u.in[size:]
	return int(n)
}

// length returns the length of what follows, each part of which has a byte at least.
func (u *unpacker) length() int {
	n := u.whole()
	if n > len(u.in) {
		u.fail()
		return 0
	}
	return n
}

func (u *unpacker) float() *float64 {
	if len(u.in) == 0 || u.in[0] == 1 && len(u.in) < 9 {
		u.fail()
		return nil
	}
	given := u.in[0] == 1
	if u.in = u.in[1:]; !given {
		return nil
	}
	v := math.Float64frombits(binary.BigEndian.Uint64(u.in))
	u.in = u.in[8:]
	return &v
}

func (u *unpacker) list() []string {
	n := u.length()
	if n == 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = u.text()
	}
	return out
}

func (u *unpacker) text() string {
	k := u.whole()
	if k > len(u.texts) {
		u.fail()
	}
	if u.bad {
		return ""
	}
	if k > 0 {
		return u.texts[k-1]
	}
	n := u.length()
	s := string(u.in[:n])
	u.in = u.in[n:]
	u.texts = append(u.texts, s)
	return s
}
