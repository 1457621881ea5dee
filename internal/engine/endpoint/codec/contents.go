package codec

import (
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/endpoint/wav"
)

// Contents describes the media of a request, with its history: the number of
// images, and the playing time of its audio. 0 = none, or unknown.
func (r *Request) Contents() (images int, audio time.Duration) {
	known := true
	add := func(t *bench.Turn) {
		images += len(t.Images)
		for i := range t.Audios {
			w, ok := wav.Read(t.Audios[i].Data)
			if known = known && ok; ok {
				audio += w.Length(int64(len(t.Audios[i].Data)))
			}
		}
	}
	for i := range r.History {
		add(&r.History[i].Turn)
	}
	add(&r.Turn)
	if !known {
		audio = 0
	}
	return images, audio
}
