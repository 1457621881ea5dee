package token

import "strings"

// Codec is the interface of a tokenizer of another package. All methods must be safe for
// concurrent use.
type Codec interface {
	Count(text string) int
	Encode(text string) []int
	Decode(ids []int) string
}

// FromCodec returns a Tokenizer that uses c.
//
// A character of several tokens is the text of the last one; the others are empty, as if
// a server held back incomplete characters.
func FromCodec(c Codec) Tokenizer { return codecTokenizer{c} }

type codecTokenizer struct{ codec Codec }

var _ Tokenizer = codecTokenizer{}

func (t codecTokenizer) Count(text string) int { return t.codec.Count(text) }

// Pieces decodes token by token, each after the previous one, because some decoders drop
// the space before the first token.
func (t codecTokenizer) Pieces(text string) []string {
	const incomplete = "\uFFFD"
	ids := t.codec.Encode(text)
	pieces := make([]string, len(ids))
	from, shown := 0, "" // ids[from:i] decode to shown, all of it in pieces
	for i := range ids {
		full := t.codec.Decode(ids[from : i+1])
		if strings.HasSuffix(full, incomplete) && i < len(ids)-1 {
			continue
		}
		pieces[i] = strings.TrimPrefix(full, shown)
		from, shown = i, t.codec.Decode(ids[i:i+1])
	}
	return pieces
}

// framer is a Codec that knows the special tokens around a prompt, such as BOS.
type framer interface {
	Framing() (before, after []int)
}

// Framing returns the special tokens that a tokenizer puts around a prompt; most have
// none. Callers do not change them.
func Framing(t Tokenizer) (before, after []int) {
	if own, ok := t.(codecTokenizer); ok {
		if f, ok := own.codec.(framer); ok {
			return f.Framing()
		}
	}
	return nil, nil
}

// Identify returns the ids of the tokens.
func (t codecTokenizer) Identify(text string) []uint32 {
	ids := t.codec.Encode(text)
	out := make([]uint32, len(ids))
	for i, id := range ids {
		out[i] = uint32(id)
	}
	return out
}
