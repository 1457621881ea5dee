package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// The bounds of YAML objects in block style. The library recurses for every key
// of an object and copies what it has so far, so time grows with the square of
// the keys; maxKeyWork bounds the sum of these squares (twice over) in a document.
const (
	maxBlockKeys = 500
	maxKeyWork   = 4_000_000
	maxPaths     = 64 << 20 // see [tokenBounds.paths]
)

// yamlSigns are the bytes that can begin or end a token of YAML.
const yamlSigns = "[]{},:-?&*!#|>%@`'\""

// boundSigns rejects text that could make more tokens than a document of that many values
// needs. A token takes some 400 bytes, and a comma without a value between two makes the
// parser move all tokens behind it. Signs in texts count too, because only the lexer knows
// what is a text.
func boundSigns(data []byte, values int) error {
	if len(data) <= values {
		return nil
	}
	signs := 0
	for _, c := range data {
		if strings.IndexByte(yamlSigns, c) < 0 {
			continue
		}
		if signs++; signs > values {
			return &Malformed{Detail: fmt.Sprintf("more than %d signs of YAML, such as : , - and quotes; write the document as JSON, or with fewer values", values)}
		}
	}
	return nil
}

// boundTokens rejects text that would make the parser recurse too deep. Block
// nesting needs deeper indentation on every line, save for indicators that
// follow each other on one line.
func boundTokens(tokens token.Tokens) error {
	b := tokenBounds{keys: make(map[int]int), columns: make(map[int]bool)}
	for _, tk := range tokens {
		if complaint := b.count(tk); complaint != "" {
			return &Malformed{Line: tk.Position.Line, Column: tk.Position.Column, Detail: complaint}
		}
	}
	if b.paths(len(tokens)) > maxPaths {
		return &Malformed{Detail: longNames}
	}
	return nil
}

// paths is at least the memory of the paths that the parser gives to every node: the
// longest names that can be nested, for every token.
func (b *tokenBounds) paths(tokens int) int {
	slices.Sort(b.lengths)
	depth := min(b.deepest+len(b.columns), len(b.lengths))
	length := 0
	for _, l := range b.lengths[len(b.lengths)-depth:] {
		length += l
	}
	return length * tokens
}

type tokenBounds struct {
	flow    int         // open brackets
	run     int         // indicators on the current line
	line    int         // the current line
	last    int         // column of the last token
	keys    map[int]int // column → keys of the open block object there
	work    int         // sum over all keys of the keys before them
	crowded bool        // one of them has too many

	text    int          // length of the last token
	lengths []int        // of the names of members
	columns map[int]bool // of names in block style
	deepest int          // most open brackets
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
		b.deepest = max(b.deepest, b.flow)
	case token.MappingEndType, token.SequenceEndType:
		b.flow = max(b.flow-1, 0)
	case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
		b.run++
	case token.MappingValueType:
		b.lengths = append(b.lengths, b.text)
		if b.flow == 0 {
			b.columns[b.last] = true
			b.run++
			b.keys[b.last]++
			b.work += b.keys[b.last]
			b.crowded = b.keys[b.last] > maxBlockKeys || b.work > maxKeyWork
		}
	}
	b.last, b.text = tk.Position.Column, len(tk.Value)
	switch {
	case b.flow > MaxDepth, b.run > 2*MaxDepth:
		return fmt.Sprintf("nested deeper than %d levels", MaxDepth)
	case b.crowded:
		return fmt.Sprintf("an object with more than %d keys, or many with nearly as many; write it as JSON", maxBlockKeys)
	}
	return ""
}
