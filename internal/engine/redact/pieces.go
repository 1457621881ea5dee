package redact

import (
	"slices"
	"strings"
)

// Pieces takes the exact secrets out of the events of a stream, given in their order: out
// of each event, and those that the server sent in pieces. These are strings with the same
// name in several JSON objects, or events that are no JSON. It changes the slice.
func (s *Set) Pieces(events []string) {
	f := s.current()
	if f == nil {
		return
	}
	found := make([][]span, len(events))
	for _, group := range piecesOf(events) {
		differs := func(p piece) bool { return p.in(events) != group[0].in(events) }
		if slices.ContainsFunc(group, differs) { // ids and names of models do not
			f.findPieces(events, group, found)
		}
	}
	for i, spans := range found {
		events[i] = f.redactAll(replaceSpans(events[i], union(spans)))
	}
}

// Lines is [Set.Exact] for a text whose lines may be events of a stream, as [Set.Pieces]
// takes them.
func (s *Set) Lines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	s.Pieces(lines)
	return s.Exact(strings.Join(lines, ""))
}

// findPieces adds to the spans found in each event what pieces have of secrets that they
// form together.
func (f *finder) findPieces(events []string, group []piece, found [][]span) {
	var text strings.Builder
	for _, p := range group {
		text.WriteString(p.in(events))
	}
	secrets, at := f.all(text.String()), 0 // of the piece in the text
	for _, p := range group {
		end := at + p.to - p.from
		for len(secrets) > 0 && secrets[0].to <= at {
			secrets = secrets[1:]
		}
		for _, sp := range secrets {
			if sp.from >= end {
				break
			}
			part := span{p.from + max(sp.from, at) - at, p.from + min(sp.to, end) - at}
			if part.from < part.to {
				found[p.event] = append(found[p.event], part)
			}
		}
		at = end
	}
}

// piece is the inside of a string in an event, or an event that is no JSON.
type piece struct {
	span
	event int
	key   pieceKey
}

// in returns the text of a piece.
func (p piece) in(events []string) string { return events[p.event][p.from:p.to] }

// pieceKey is what pieces that may belong together have in common.
type pieceKey struct {
	name  string // in front of the string
	nth   int    // of the strings of this name in the event
	index string // the numbers called index in the event, or "" for any
}

// piecesOf returns the pieces that may belong together: those of one name, and, because several
// texts may be sent in turns, also those of one name and index.
func piecesOf(events []string) map[pieceKey][]piece {
	out := map[pieceKey][]piece{}
	for i, event := range events {
		for _, p := range eventPieces(i, event) {
			whole := pieceKey{name: p.key.name, nth: p.key.nth}
			out[whole] = append(out[whole], p)
			if p.key != whole {
				out[p.key] = append(out[p.key], p)
			}
		}
	}
	for key, group := range out {
		if key.index != "" && len(group) == len(out[pieceKey{name: key.name, nth: key.nth}]) {
			delete(out, key) // it is the same group
		}
	}
	return out
}

// eventPieces returns the strings of an event but for names. It accepts any text.
func eventPieces(event int, text string) (list []piece) {
	start := strings.IndexAny(text, "{[")
	if start < 0 {
		from := 0
		if rest, ok := strings.CutPrefix(text, "data:"); ok {
			from = len(text) - len(strings.TrimPrefix(rest, " "))
		}
		return []piece{{span: span{from, len(text)}, event: event}}
	}
	var key pieceKey
	counts := map[string]int{}
	for i := start; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := stringEnd(text, i)
		inside := span{i + 1, max(i+1, end-1)}
		i = end - 1
		next := skipBlanks(text, end)
		if next == len(text) || text[next] != ':' {
			list = append(list, piece{inside, event, pieceKey{name: key.name, nth: counts[key.name]}})
			counts[key.name]++
			continue
		}
		if key.name = text[inside.from:inside.to]; key.name == "index" {
			number := strings.TrimLeft(text[next+1:], " ")
			key.index += number[:len(number)-len(strings.TrimLeft(number, "0123456789"))] + ","
		}
	}
	for i := range list {
		list[i].key.index = key.index
	}
	return list
}
