package dataset

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"

	"aiperfd/internal/engine/bench"
)

// hashVersion begins the input of every hash; it changes with the encoding below.
const hashVersion = "aiperfd dataset 2"

// hasher computes digests. It writes values in a form that is different for different
// values. Only one goroutine may use it.
type hasher struct {
	sum hash.Hash
	w   *bufio.Writer // to sum
}

func newHasher() *hasher {
	sum := sha256.New()
	return &hasher{sum, bufio.NewWriterSize(sum, 4<<10)}
}

// digest identifies the content of a conversation: SHA-256 over its number and all
// fields in order, numbers as eight bytes, texts and lists preceded by their length.
// Counted input tokens are not hashed, since they depend on the tokenizer.
func (h *hasher) digest(number int, c *bench.Conversation) (out [sha256.Size]byte) {
	h.sum.Reset()
	h.text(hashVersion)
	h.number(int64(number))
	h.conversation(c)
	// Writes to a hash never fail.
	_ = h.w.Flush()
	h.sum.Sum(out[:0])
	return out
}

func (h *hasher) number(n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	_, _ = h.w.Write(b[:])
}

func (h *hasher) text(s string) {
	h.number(int64(len(s)))
	_, _ = io.WriteString(h.w, s)
}

func (h *hasher) conversation(c *bench.Conversation) {
	h.text(c.ID)
	h.text(c.System)
	h.text(c.Context)
	h.text(c.Model)
	h.number(int64(c.Mode))
	h.number(int64(len(c.Turns)))
	for i := range c.Turns {
		t := &c.Turns[i]
		h.number(int64(len(t.Texts)))
		for _, s := range t.Texts {
			h.text(s)
		}
		h.text(t.Role)
		h.text(t.Model)
		h.number(int64(t.MaxTokens))
		h.number(int64(t.Delay))
		h.text(string(t.ExtraBody))
		for name, raw := range [...][]byte{t.Payload, t.Messages, t.Tools} {
			if raw != nil {
				h.number(int64(name))
				h.text(string(raw))
			}
		}
		if t.Script != nil {
			h.text("script")
			h.text(t.Script.Key())
		}
		if t.Timed {
			h.text("at")
			h.number(int64(t.At))
		}
		h.named(t.Named)
		h.media("images", t.Images)
		h.media("audios", t.Audios)
		h.media("videos", t.Videos)
		for _, fork := range t.Forks {
			background := int64(0)
			if fork.Background {
				background = 1
			}
			h.children("fork", background, fork.Child)
		}
		for _, spawn := range t.Spawns {
			h.children("spawn", int64(spawn.JoinAt), spawn.Children...)
		}
	}
	if len(c.Before) > 0 {
		h.children("before", 0, c.Before...)
	}
	for _, r := range c.Rounds {
		h.children("round", int64(r.Think), r.Children...)
	}
}

// children adds a group of children and what is said of it.
func (h *hasher) children(kind string, about int64, children ...*bench.Conversation) {
	h.text(kind)
	h.number(about)
	h.number(int64(len(children)))
	for _, c := range children {
		h.conversation(c)
	}
}

// named adds named texts; nothing if there are none.
func (h *hasher) named(parts []bench.NamedTexts) {
	for _, p := range parts {
		h.text(p.Name)
		h.number(int64(len(p.Texts)))
		for _, s := range p.Texts {
			h.text(s)
		}
	}
}

// media adds the media of a turn.
func (h *hasher) media(kind string, list []bench.Media) {
	if len(list) == 0 {
		return
	}
	h.text(kind)
	h.number(int64(len(list)))
	for i := range list {
		m := &list[i]
		h.text(m.Name)
		h.text(m.URL)
		h.text(m.MIME)
		h.number(int64(len(m.Data)))
		_, _ = h.w.Write(m.Data)
		if m.UUID != "" {
			h.text("uuid")
			h.text(m.UUID)
		}
	}
}
