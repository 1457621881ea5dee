package request

import (
	"hash/maphash"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint"
)

// fingerprint returns a hash of everything that the model reads of a request, and of its
// name. It is never 0. Requests that differ only in settings, such as the maximum output
// length, have the same.
func fingerprint(seed maphash.Seed, r *endpoint.Request) uint64 {
	p := prompt{}
	p.SetSeed(seed)
	p.texts(r.Model, r.System, r.Context)
	for i := range r.History {
		p.turn(&r.History[i].Turn)
		p.texts(r.History[i].Answer.Text)
	}
	p.turn(&r.Turn)
	return max(1, p.Sum64())
}

// prompt hashes the parts of a prompt.
type prompt struct{ maphash.Hash }

// texts adds texts, each with an end: a byte that UTF-8 does not have.
func (p *prompt) texts(all ...string) {
	for _, s := range all {
		_, _ = p.WriteString(s) // hashes have no errors
		_ = p.WriteByte(0xff)
	}
}

func (p *prompt) turn(t *bench.Turn) {
	p.texts(t.Role)
	for i := range t.Named {
		p.texts(t.Named[i].Name)
		p.texts(t.Named[i].Texts...)
	}
	p.texts(t.Texts...)
	if t.Script != nil {
		p.texts(t.Script.Key(), t.Mark.Text)
	}
	for _, list := range [...][]bench.Media{t.Images, t.Audios, t.Videos} {
		for i := range list {
			p.texts(list[i].URL, list[i].MIME)
			_, _ = p.Write(list[i].Data)
		}
	}
	for _, raw := range [...][]byte{t.Messages, t.Tools, t.Payload} {
		_, _ = p.Write(raw)
		_ = p.WriteByte(0xff)
	}
}
