package tree

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// The bounds of YAML objects in block style. The library recurses for every key
// of an object and copies what it has so far, so time grows with the square of
// the keys; maxKeyWork bounds the sum of these squares (twice over) in a document.
const (
	maxBlockKeys = 500
	maxKeyWork   = 4_000_000
)

// boundTokens rejects text that would make the parser recurse too deep. Block
// nesting needs deeper indentation on every line, save for indicators that
// follow each other on one line.
func boundTokens(tokens token.Tokens) error {
	b := tokenBounds{keys: make(map[int]int)}
	for _, tk := range tokens {
		if complaint := b.count(tk); complaint != "" {
			return &Malformed{Line: tk.Position.Line, Column: tk.Position.Column, Detail: complaint}
		}
	}
	return nil
}

type tokenBounds struct {
	flow    int         // open brackets
	run     int         // indicators on the current line
	line    int         // the current line
	last    int         // column of the last token
	keys    map[int]int // column → keys of the open block object there
	work    int         // sum over all keys of the keys before them
	crowded bool        // one of them has too many
}

func (b *tokenBounds) count(tk *token.Token) string {
	if tk.Position.Line != b.line {
		b.run, b.line = 0, tk.Position.Line
		for column := range b.keys {
			if column > tk.Position.Column {
				delete(b.keys, column)
			}
		}
	}
	switch tk.Type {
	case token.MappingStartType, token.SequenceStartType:
		b.flow++
	case token.MappingEndType, token.SequenceEndType:
		b.flow = max(b.flow-1, 0)
	case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
		b.run++
	case token.MappingValueType:
		if b.flow == 0 {
			b.run++
			b.keys[b.last]++
			b.work += b.keys[b.last]
			b.crowded = b.keys[b.last] > maxBlockKeys || b.work > maxKeyWork
		}
	}
	b.last = tk.Position.Column
	switch {
	case b.flow > maxDepth, b.run > 2*maxDepth:
		return fmt.Sprintf("nested deeper than %d levels", maxDepth)
	case b.crowded:
		return fmt.Sprintf("an object with more than %d keys, or many with nearly as many; write it as JSON", maxBlockKeys)
	}
	return ""
}
