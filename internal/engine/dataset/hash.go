package dataset

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"

	"aiperfd/internal/engine/bench"
)

// hashVersion begins the input of every hash; it changes with the encoding below.
const hashVersion = "aiperfd dataset 1"

// contentHash identifies the content of a dataset: SHA-256 over all fields in order,
// numbers as eight bytes, texts and lists preceded by their length. Counted input
// tokens are not hashed, since they depend on the tokenizer.
func contentHash(entries []*bench.Conversation) string {
	sum := sha256.New()
	w := bufio.NewWriterSize(sum, 1<<16)
	h := hasher{w, map[*byte][sha256.Size]byte{}}
	h.text(hashVersion)
	h.number(int64(len(entries)))
	for _, c := range entries {
		h.conversation(c)
	}
	// Writes to a bytes buffer or a hash never fail.
	_ = w.Flush()
	return hex.EncodeToString(sum.Sum(nil))
}

type hasher struct {
	w *bufio.Writer
	// seen holds the hashes of media by their address: turns share media.
	seen map[*byte][sha256.Size]byte
}

func (h hasher) number(n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	_, _ = h.w.Write(b[:])
}

func (h hasher) text(s string) {
	h.number(int64(len(s)))
	_, _ = io.WriteString(h.w, s)
}

func (h hasher) conversation(c *bench.Conversation) {
	h.text(c.ID)
	h.text(c.System)
	h.text(c.Context)
	h.text(c.Model)
	independent := int64(0)
	if c.Mode == bench.MessageArrayWithResponses {
		independent = 1
	}
	h.number(independent)
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
		if t.Payload != nil {
			h.text("payload")
			h.text(string(t.Payload))
		}
		h.named(t.Named)
		h.media("images", t.Images)
		h.media("audios", t.Audios)
		h.media("videos", t.Videos)
	}
}

// named adds named texts; nothing if there are none.
func (h hasher) named(parts []bench.NamedTexts) {
	for _, p := range parts {
		h.text(p.Name)
		h.number(int64(len(p.Texts)))
		for _, s := range p.Texts {
			h.text(s)
		}
	}
}

// media adds the media of a turn. A turn without media adds nothing, so that its hash
// equals that of versions without media.
func (h hasher) media(kind string, list []bench.Media) {
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
		if len(m.Data) == 0 {
			continue
		}
		sum, ok := h.seen[&m.Data[0]]
		if !ok {
			sum = sha256.Sum256(m.Data)
			h.seen[&m.Data[0]] = sum
		}
		_, _ = h.w.Write(sum[:])
	}
}
