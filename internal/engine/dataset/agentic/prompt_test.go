package agentic

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"testing"
	"testing/iotest"

	"aiperfd/internal/engine/bench"
)

// written is the messages of a prompt, block by block.
func written(s *script, mark bench.Mark) (dst []byte) {
	p := s.prompt(mark)
	texts, trace := p.play.texts, uint64(p.play.trace)
	var ranks []uint32
	for _, span := range p.spans {
		ranks = append(ranks, span...)
	}
	for i, m := range p.list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var text []byte
		for _, rank := range ranks[m.from:m.to] {
			head, rest := texts.parts(trace, rank)
			text = append(append(text, head...), rest...)
		}
		if m.tail > 0 {
			text = texts.appendTail(text, tailName(p.strand, m.turn), m.tail, false)
		}
		begins := i == p.marked && !mark.Suffix
		if texts.trims && !begins {
			text = bytes.TrimPrefix(text, []byte(" "))
		}
		if begins {
			text = append(appendInside(nil, mark.Text), text...)
		}
		if i == p.marked && mark.Suffix {
			text = appendInside(text, mark.Text)
		}
		dst = fmt.Appendf(dst, `{"role":"%s","content":"%s"}`, m.role, text)
	}
	return dst
}

// scripts yields the scripts of a conversation and its children.
func scripts(c *bench.Conversation) iter.Seq[*script] {
	return func(yield func(*script) bool) {
		for i := range c.Turns {
			if !yield(c.Turns[i].Script.(*script)) {
				return
			}
		}
		for child := range c.Children() {
			for s := range scripts(child) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// trimming returns a script with the texts of a tokenizer that adds a blank to the beginning of a text.
func trimming(s *script) *script {
	to, strand, play, texts := *s, *s.strand, *s.strand.play, *s.strand.play.texts
	texts.trims = true
	play.texts, strand.play, to.strand = &texts, &play, &strand
	return &to
}

// A prompt is the same bytes however it is read, and has the size that it says.
func TestPromptReaders(t *testing.T) {
	traces := []string{
		traceA(), record("T", turn(0, 40, 1, 1), turn(1, 70, 1, 1, 5), turn(2, 64, 1, 1, 5), turn(3, 200, 30, 1, 5, 6, 7)),
	}
	read, trims, sum := 0, map[bool]bool{}, sha256.New()
	check := func(s *script, mark bench.Mark) {
		want := string(written(s, mark))
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"all": func(r io.Reader) io.Reader { return r }, "by byte": iotest.OneByteReader, "by halves": iotest.HalfReader,
		} {
			if got, err := io.ReadAll(wrap(s.Messages(mark))); err != nil || string(got) != want {
				t.Fatalf("%s, turn %d, %s: %q, %v; want %q", s.strand.id, s.turn, name, got, err, want)
			}
		}
		if got := string(s.AppendMessages([]byte("["), mark)); got != "["+want || s.Size(mark) != len(want) {
			t.Fatalf("%s, turn %d: %q of %d bytes, want %q", s.strand.id, s.turn, got, s.Size(mark), want)
		}
		read, trims[s.strand.play.texts.trims] = read+1, true
	}
	for _, c := range openTraces(t, 7, Spec{}, traces...) {
		for s := range scripts(c) {
			for _, mark := range []bench.Mark{
				{}, {Text: "[rid:1]\n\n"}, {Text: "\n\n\"x\"", Suffix: true}, {Text: "[m]", System: true},
			} {
				check(s, mark)
				check(trimming(s), mark)
				_, _ = sum.Write(s.AppendMessages(nil, mark))
			}
		}
	}
	const want = "3ee06120624e78be26220734308b4143baa23ae3da7bc7c55a80fb898be96bcd" // of all bytes
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("the messages of all prompts have the SHA-256 %s, want %s", got, want)
	}
	if read < 80 || len(trims) != 2 {
		t.Errorf("%d prompts were read, with texts that are trimmed: %v", read, trims)
	}
}
