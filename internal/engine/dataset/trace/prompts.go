package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/dataset/source"
	corpus "aiperfd/internal/engine/dataset/text"
	"aiperfd/internal/engine/tokenizer"
)

// keptBytes bounds the texts of blocks that are kept.
const keptBytes = 4 << 20

// The limits of the search for the text of a block.
const (
	blockTries = 64
	headTokens = 8 // at most half of a block
)

// prompts generates prompts of blocks. It is safe for concurrent use.
//
// Every block begins with a space and a letter and ends with a letter, or with the end of
// a word of [tokenizer.WordRing], where tokenizers divide a text before they look for tokens. So the tokens of a prompt are those of its
// blocks one after the other, whatever the blocks before and after are.
type prompts struct {
	tok       tokenizer.Tokenizer
	ring      corpus.Ring
	words     *tokenizer.WordRing // the ring, if it is one of words; nil = texts have to be counted
	requests  bench.Stream
	prompter  *corpus.Prompter
	seed      bench.Seed
	trace     string // identifies the file
	blockSize int
	trim      bool // the tokenizer adds a space before the first word
	additive  bool // the tokens of a prompt are those of its blocks

	inexact *atomic.Int64

	mu       sync.Mutex
	new, old map[block]string // guarded by mu; by block
	bytes    int              // guarded by mu; of new
}

// block identifies the text of a block.
type block struct {
	id   int64
	size int
}

// newPrompts returns the prompts of a trace; inexact counts those that miss their length.
func newPrompts(o *source.Options, blockSize int, inexact *atomic.Int64) (*prompts, error) {
	sonnet := corpus.Corpora()[0]
	ring, err := sonnet.Open(o.Tokenizer)
	if err != nil {
		return nil, fmt.Errorf("open corpus %s: %w", sonnet.Name, err)
	}
	name, err := identify(o.File)
	if err != nil {
		return nil, fmt.Errorf("hash the beginning of the trace: %w", err)
	}
	words, _ := ring.(*tokenizer.WordRing)
	p := &prompts{
		tok: o.Tokenizer, ring: ring, words: words, seed: o.Seed.Child(bench.StreamPromptCorpus), trace: name, blockSize: blockSize, inexact: inexact,
		prompter: corpus.NewPrompter(ring, o.Tokenizer, o.Seed.Rand(bench.StreamPromptCorpus)),
		new:      map[block]string{},
	}
	p.requests = p.seed.Stream("request")
	p.probe()
	return p, nil
}

// identified is how much of a file identifies it.
const identified = 4 << 20

// identify returns the first 16 hex digits of the SHA-256 of a file of up to 4 MiB, and of
// the first 4 MiB of a larger one. What can be read only once is not read for it.
func identify(f file.File) (string, error) {
	sum := sha256.New()
	for _, record := range f.Records {
		_, _ = sum.Write(record) // never fails
	}
	if info, ok := f.Size(); ok && info > 0 {
		open := func(name string) (fs.File, error) { return os.Open(name) }
		if f.FS != nil {
			open = f.FS.Open
		}
		r, err := open(f.Path)
		if err != nil {
			return "", err
		}
		_, err = io.CopyN(sum, r, identified)
		if err = errors.Join(ignoreEOF(err), r.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// probe finds out how the tokenizer joins blocks.
func (p *prompts) probe() {
	const blocks, size = 64, 12
	texts := make([]string, blocks)
	for i := range texts {
		var ok bool
		if texts[i], ok = p.piece(p.seed.Index("probe", i), size); !ok {
			return // lengths of prompts are counted
		}
	}
	for _, p.trim = range []bool{false, true} {
		p.additive = p.adds(texts, size)
		if p.additive {
			return
		}
	}
}

// adds reports whether texts, joined in pairs and all together, have so many tokens each.
func (p *prompts) adds(texts []string, size int) bool {
	for i := range texts[1:] {
		if p.tok.Count(p.trimmed(texts[i]+texts[i+1])) != 2*size {
			return false
		}
	}
	return p.tok.Count(p.trimmed(strings.Join(texts, ""))) == len(texts)*size
}

// trimmed returns a text as it stands at the beginning of a prompt.
func (p *prompts) trimmed(text string) string {
	if p.trim {
		return text[1:]
	}
	return text
}

// prompt returns the prompt of a request and its length in tokens.
func (p *prompts) prompt(number, length int, ids []int64) (string, int, error) {
	r := p.requests.At(number)
	if len(ids) == 0 {
		made, err := p.prompter.At(func() *rand.Rand { return r }, length, p.prompter.Spread(number))
		if err == nil && made.Tokens != length {
			p.inexact.Add(1)
		}
		return made.Text, made.Tokens, err
	}
	var b strings.Builder
	b.Grow(length * 5) // bytes of a token
	left := length
	for _, id := range ids {
		text, err := p.block(block{id, min(left, p.blockSize)})
		if err != nil {
			return "", 0, err
		}
		b.WriteString(text)
		left -= min(left, p.blockSize)
	}
	if left > 0 {
		text, ok := p.piece(r, left)
		if !ok {
			return "", 0, noText(left)
		}
		b.WriteString(text)
	}
	whole := p.trimmed(b.String())
	if n := length; !p.additive {
		if length = p.tok.Count(whole); length != n {
			p.inexact.Add(1)
		}
	}
	return whole, length, nil
}

// block returns the text of a block.
func (p *prompts) block(k block) (string, error) {
	p.mu.Lock()
	text, ok := p.new[k]
	if !ok {
		text, ok = p.old[k]
	}
	p.mu.Unlock()
	if ok {
		return text, nil
	}
	if text, ok = p.piece(p.generator(k.id), k.size); !ok {
		return "", noText(k.size)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	const overhead = 64 // of an entry
	if p.bytes += len(text) + overhead; p.bytes > keptBytes/2 {
		p.new, p.old, p.bytes = map[block]string{}, p.new, len(text)+overhead
	}
	p.new[k] = text
	return text, nil
}

func noText(n int) error {
	return fmt.Errorf("no text of %d tokens that keeps its tokens beside other texts could be generated with this tokenizer", n)
}

// generator returns the generator of a block, seeded as AIPerf does: with the first eight
// bytes of the SHA-256 of "seed:trace:id".
func (p *prompts) generator(id int64) *rand.Rand {
	b := make([]byte, 0, 64)
	b = strconv.AppendUint(b, uint64(p.seed), 10)
	b = append(append(append(b, ':'), p.trace...), ':')
	sum := sha256.Sum256(strconv.AppendInt(b, id, 10))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), 0))
}

// piece returns a text of n tokens that keeps them beside others. A short one and one of
// the rest come from different places of the corpus, because there are fewer places than
// blocks in a long trace.
func (p *prompts) piece(r *rand.Rand, n int) (string, bool) {
	head := min(headTokens, n/2)
	first, ok := "", true
	if head > 0 {
		first, ok = p.cut(r, head)
	}
	if !ok {
		return "", false
	}
	rest, ok := p.cut(r, n-head)
	return first + rest, ok
}

// cut returns a text of n tokens from a random place of the corpus.
func (p *prompts) cut(r *rand.Rand, n int) (string, bool) {
	start := bench.Below(r, p.ring.Len())
	if p.words != nil {
		if text, ok := p.words.Following(start, n); ok {
			return text, true
		}
	}
	for range blockTries {
		at := start
		start += 1 + bench.Below(r, 97)
		// Two tokens are cheaper to look at than all.
		if !p.ends(at, false) || !p.ends(at+n-1, true) {
			continue
		}
		text, ok := p.ring.Prompt(at, n)
		if !ok || !isLetter(text[len(text)-1]) {
			continue
		}
		if p.additive && len(text) > 1 && text[0] == ' ' && isLetter(text[1]) {
			return text, true
		}
		if isLetter(text[0]) {
			text = " " + text
		}
		const before = "a" // a word before the text
		if len(text) > 1 && text[0] == ' ' && isLetter(text[1]) && p.tok.Count(before+text) == p.tok.Count(before)+n {
			return text, true
		}
	}
	return "", false
}

// ends reports whether the token at a place of the corpus begins a word or, if it is the
// last one of a text, ends with a letter.
func (p *prompts) ends(at int, last bool) bool {
	text, ok := p.ring.Prompt(at, 1)
	switch {
	case !ok:
		return false
	case last:
		return isLetter(text[len(text)-1])
	}
	return isLetter(text[0]) || len(text) > 1 && text[0] == ' ' && isLetter(text[1])
}

// isLetter reports whether a byte is an ASCII letter.
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
