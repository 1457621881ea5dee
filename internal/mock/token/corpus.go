package token

import (
	"strings"
	"unicode/utf8"

	"aiperfd/internal/mock/random"
)

// Prose is the text of answers with the content ContentCorpus. It ends in a paragraph
// break, so that it can be repeated.
const Prose = `A lighthouse keeper keeps two books. In the first he writes the weather, the ships and the oil that was burned. In the second he writes what he thought the weather would be. After a year he lays them side by side, and the difference between the two is everything he has learned.

The river does not hurry, and yet the mill never stops. Water that came from the hills in the morning turns the wheel at noon and reaches the sea by night. A miller who counts only the sacks at his door will believe that the mill is fast; a farmer who waits for his flour knows better.

Bread is made from four things, and three of them are cheap. Flour, water and salt can be bought in any market. The fourth is time, and no baker has ever found a shop that sells it. Those who try to do without it make something that looks like bread and is eaten with disappointment.

There was once a clock in a village square that was always seven minutes late. Everybody knew it, and everybody came seven minutes late to church, to the market and to the train. One day a careful man repaired the clock. For a whole month nobody in the village was on time.

To measure a field, the old surveyors used a chain of one hundred links. The chain grew longer in the heat and shorter in the cold, and the men who carried it grew tired in the afternoon. So they measured every field twice, once in each direction, and trusted the number only when both agreed.

Snow fell on the pass before the mules were across. The guide said nothing, tied the first rope and walked. Behind him came twelve people who had argued about the road for three days. On the other side they all remembered that they had been of one opinion from the start.

An orchard is planted by people who will not eat most of its fruit. They dig holes for trees that look like sticks, carry water through two dry summers, and paint the trunks against the hares. Then they are old, and children whom they have never met climb up and complain that the apples are small.

The ferryman had a rule: he left when the boat was full, or when the shadow of the mast touched the pier. Merchants liked the first half of the rule, and travellers the second. Nobody liked both halves, and so he knew that it was fair.

When the telescope was new, the astronomer looked first at the moon, then at the neighbours. The moon was covered with mountains. The neighbours, seen from so near, turned out to be reading, mending shoes and looking at the moon. He wrote down all of it, because a good instrument does not choose.

Rain came in the evening, first a few drops, then a curtain, then a sound that filled the house. The roof held in every place but one. They put a bowl under that place, and all night long it told them, drop by drop, how the storm was getting on.

A carpenter who cuts a board too long can cut it again. A carpenter who cuts it too short must look for another board. This is why apprentices are told to measure with care, and why old carpenters, who have measured with care for forty years, still leave a finger's width.

The caravan carried salt to the south and came back with gold. It was said that in the middle of the desert the two weighed the same. The guides did not believe such stories. They counted the wells, the days between the wells and the camels that could still walk, and these three numbers were always true.

`

// Scripts is the text of answers with the content ContentUnicode: characters of two,
// three and four bytes, combining and right-to-left ones.
const Scripts = `Ein Müller zählt Säcke. Der Fluß eilt nicht. Łódź płynie dalej. Река не спешит. Η ζύμη θέλει χρόνο. ` +
	`السفينة تبحر مع الفجر. הנהר אינו ממהר. नदी जल्दी नहीं करती। 河は急がない。 强の強さ。 강은 서두르지 않는다. ` +
	`สายน้ำไม่รีบ. Café 👩‍🚀🚀 🏳️‍🌈 😀😃 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈. Ñandú, œuvre, ﬁn. ` + "\U0001F9ED\n\n"

// Piece is one token of output.
type Piece struct {
	Text string
	JSON string // text escaped for a JSON string
	ID   uint32
}

// Corpus is a text cut into tokens. It is immutable.
type Corpus struct {
	Pieces []Piece
	Starts []int // indexes at which a sentence begins
}

// NewCorpus cuts text, which is not empty.
func NewCorpus(t Tokenizer, text string) Corpus {
	c := Corpus{Pieces: Cut(t, text), Starts: []int{0}}
	ended := false
	for i, p := range c.Pieces {
		if word := strings.TrimSpace(p.Text); word != "" {
			// A start loses its leading space and must still be one token then.
			if ended && word[0] >= 'A' && word[0] <= 'Z' && t.Count(word) == 1 {
				c.Starts = append(c.Starts, i)
			}
			ended = word == "."
		}
	}
	return c
}

// Cut cuts a text into its tokens.
func Cut(t Tokenizer, text string) []Piece {
	texts, ids := t.Pieces(text), t.Identify(text)
	pieces := make([]Piece, len(texts))
	for i, s := range texts {
		pieces[i] = Piece{Text: s, JSON: string(AppendEscaped(nil, s)), ID: ids[i]}
	}
	return pieces
}

const hexDigits = "0123456789abcdef"

// AppendEscaped appends s escaped for a JSON string, without quotes. Invalid UTF-8 becomes U+FFFD;
// HTML characters are not escaped.
func AppendEscaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// Passage is an endless text that begins at some index of a list of pieces and repeats
// them. The list must not be empty.
type Passage struct {
	Pieces []Piece
	Start  int
}

// AppendJSON appends token number i of the passage, escaped for JSON. The first
// token loses its leading space.
func (p *Passage) AppendJSON(dst []byte, i int) []byte {
	s := p.Pieces[(p.Start+i)%len(p.Pieces)].JSON
	if i == 0 && len(s) > 1 && s[0] == ' ' {
		s = s[1:]
	}
	return append(dst, s...)
}

// Identify returns the number of token i of the passage.
func (p *Passage) Identify(i int) uint32 {
	at := &p.Pieces[(p.Start+i)%len(p.Pieces)]
	if i == 0 && len(at.Text) > 1 && at.Text[0] == ' ' {
		return random.Checksum(at.Text[1:])
	}
	return at.ID
}
