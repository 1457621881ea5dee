package redact

import (
	"hash/maphash"
	"strings"
)

// Pieces takes the exact secrets out of the events of a stream, given in their order: out
// of each event, and those that the server sent in pieces. These are strings at the same
// place of several JSON objects, or events that are no JSON. It changes the slice.
func (s *Set) Pieces(events []string) {
	f := s.finder()
	if f == nil {
		return
	}
	if f.takePieces(events, false) { // parts come last, as in [Set.Exact]
		f.takePieces(events, true)
	}
}

// Lines is [Set.Exact] for a text whose lines may be events of a stream, as [Set.Pieces]
// takes them.
func (s *Set) Lines(text string) string {
	f := s.finder()
	if f == nil {
		return text
	}
	for _, parts := range []bool{false, true} {
		lines := strings.SplitAfter(text, "\n")
		left := f.takePieces(lines, parts)
		clean, more := f.redactAll(strings.Join(lines, ""), parts)
		if text = clean; !left && !more {
			break
		}
	}
	return text
}

// takePieces takes secrets out of events, or parts of tokens too. left reports whether the
// events have parts of tokens.
func (f *finder) takePieces(events []string, parts bool) (left bool) {
	in := pieces{seed: maphash.MakeSeed()}
	for i, event := range events {
		in.add(i, event)
	}
	found := make([][]span, len(events))
	for _, group := range in.groups() {
		left = f.findPieces(events, group, found, parts) || left
	}
	for i, spans := range found {
		clean, more := f.redactAll(replaceSpans(events[i], union(spans)), parts)
		events[i], left = clean, left || more
	}
	return left
}

// findPieces adds to the spans found in each event what pieces have of secrets that they
// form together. left reports whether they form parts of tokens.
func (f *finder) findPieces(events []string, group []piece, found [][]span, parts bool) (left bool) {
	s := f.acquire()
	defer f.searches.Put(s)
	s.parts = parts
	if n := f.enough(events, group); n < len(group) && len(s.all(join(events, group[:n]))) == 0 && !s.seen {
		return false
	}
	secrets, at := s.all(join(events, group)), 0 // of the piece in the text
	for _, p := range group {
		end := at + p.to - p.from
		for len(secrets) > 0 && secrets[0].to <= at {
			secrets = secrets[1:]
		}
		for _, sp := range secrets {
			if sp.from >= end {
				break
			}
			found[p.event] = append(found[p.event], span{p.from + max(sp.from, at) - at, p.from + min(sp.to, end) - at})
		}
		at = end
	}
	return s.seen
}

// enough returns how many pieces have a pattern if all of them do: fewer if they are equal,
// as ids and names of models are.
func (f *finder) enough(events []string, group []piece) int {
	first := events[group[0].event][group[0].from:group[0].to]
	for _, p := range group[1:] {
		if events[p.event][p.from:p.to] != first {
			return len(group)
		}
	}
	return min(len(group), 2+f.longest/max(1, len(first)))
}

// join returns the text that pieces form together.
func join(events []string, group []piece) string {
	var text strings.Builder
	for _, p := range group {
		text.WriteString(events[p.event][p.from:p.to])
	}
	return text.String()
}

// piece is the inside of a string in an event, or an event that is no JSON.
type piece struct {
	span
	event int
	place uint64 // a hash of the names and positions that lead to it
	index uint64 // a hash of the numbers called index in the event
}

// pieces collects the pieces of events.
type pieces struct {
	list    []piece
	indexed bool // the index of the events differs
	seed    maphash.Seed
}

// groups returns the pieces that may belong together: those of one place, and, because
// several texts may be sent in turns, also those of one place and index.
func (in *pieces) groups() map[[2]uint64][]piece {
	out := make(map[[2]uint64][]piece)
	for _, p := range in.list {
		key := [2]uint64{p.place}
		out[key] = append(out[key], p)
		if in.indexed {
			key[1] = p.index | 1
			out[key] = append(out[key], p)
		}
	}
	return out
}

// add adds the pieces of an event.
func (in *pieces) add(event int, text string) {
	known, index := len(in.list), uint64(0)
	if start := strings.IndexAny(text, "{["); start >= 0 {
		index = in.addJSON(event, text, start)
	} else {
		from := 0
		if rest, ok := strings.CutPrefix(text, "data:"); ok {
			from = len(text) - len(strings.TrimPrefix(rest, " "))
		}
		in.list = append(in.list, piece{span: span{from, len(text)}, event: event})
	}
	for i := range in.list[known:] {
		in.list[known+i].index = index
	}
	in.indexed = in.indexed || known > 0 && len(in.list) > known && in.list[known-1].index != index
}

// maxPlaces is how deep the places of strings are told apart.
const maxPlaces = 64

// addJSON adds the strings of a JSON text from start on, but for names, and returns the
// hash of its index. It accepts any text.
func (in *pieces) addJSON(event int, text string, start int) (index uint64) {
	type level struct {
		place    uint64
		list     bool
		position uint64
	}
	var levels [maxPlaces]level
	top, place, name := 0, uint64(1), ""
	for i := start; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			top = min(top+1, maxPlaces-1)
			levels[top] = level{place: place, list: c == '['}
			place = mix(place, 0)
		case '}', ']':
			top = max(top-1, 0)
		case ',':
			if at := &levels[top]; at.list {
				at.position++
				place = mix(at.place, at.position)
			}
		case '"':
			end := stringEnd(text, i)
			inside := span{i + 1, max(i+1, end-1)}
			i = end - 1
			if next := skipBlanks(text, end); !levels[top].list && next < len(text) && text[next] == ':' {
				name = text[inside.from:inside.to]
				place = mix(levels[top].place, maphash.String(in.seed, name))
				continue
			}
			in.list = append(in.list, piece{span: inside, event: event, place: place})
		default:
			if name == "index" && isDigit(c) {
				index = mix(index, uint64(c))
			}
		}
	}
	return index
}

// mix combines two hashes.
func mix(a, b uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio, which spreads the bits
	a = (a ^ b) * odd
	return a ^ a>>29
}
