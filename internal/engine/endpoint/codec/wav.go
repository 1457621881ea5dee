package codec

import (
	"encoding/binary"
	"mime"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/engine/bench"
)

// WAV is the header of a WAV file (RIFF, "WAVE").
type WAV struct {
	Data int    // offset of the samples
	Size uint32 // of the samples in bytes, as the header has it; streams write 0 or the largest number
	rate uint32 // bytes per second
}

// ReadWAV reads the header at the start of a WAV file; ok = false when it is none,
// or when start ends before the samples begin.
func ReadWAV(start []byte) (w WAV, ok bool) {
	if len(start) < 12 || string(start[:4]) != "RIFF" || string(start[8:12]) != "WAVE" {
		return w, false
	}
	for at := 12; len(start)-at >= 8; {
		name, size := string(start[at:at+4]), binary.LittleEndian.Uint32(start[at+4:])
		at += 8
		switch {
		case name == "data":
			w.Data, w.Size = at, size
			return w, w.rate > 0
		case name == "fmt " && len(start)-at >= 16:
			w.rate = binary.LittleEndian.Uint32(start[at+8:])
		}
		if uint64(size)+1 > uint64(len(start)-at) {
			return w, false
		}
		at += int(size) + int(size&1) // chunks have an even length
	}
	return w, false
}

// Length returns how long a file of total bytes plays.
func (w *WAV) Length(total int64) time.Duration {
	samples := max(0, total-int64(w.Data))
	if w.Size > 0 && int64(w.Size) < samples {
		samples = int64(w.Size)
	}
	return Playing(samples, int64(w.rate))
}

// Playing returns how long bytes play at a rate in bytes per second.
func Playing(bytes, rate int64) time.Duration {
	return time.Duration(bytes/rate)*time.Second + time.Duration(bytes%rate)*time.Second/time.Duration(rate)
}

// PCMRate is the rate in bytes per second of samples without a header, by their
// content type: audio/pcm is what OpenAI's speech API calls 16 bits, one channel,
// 24,000 times per second; audio/l16 names its rate (RFC 2586). 0 = it is another.
func PCMRate(contentType string) int64 {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "audio/pcm" && media != "audio/l16" {
		return 0
	}
	param := func(name string, other int64) int64 {
		if n, err := strconv.ParseInt(params[name], 10, 32); err == nil && n > 0 {
			return n
		}
		return other
	}
	return 2 * param("rate", 24_000) * param("channels", 1)
}

// maxHeader is the most that a container puts in front of its audio in a piece of
// its own, in bytes, if we do not read it: 44, as WAV has.
const maxHeader = 44

// AudioHeaderSize returns how many of the first bytes of an audio clip are no samples, as far
// as start shows.
func AudioHeaderSize(start []byte) int {
	if w, ok := ReadWAV(start); ok {
		return w.Data
	}
	for _, magic := range [...]string{"RIFF", "OggS", "fLaC", "ID3"} {
		if strings.HasPrefix(string(start[:min(len(start), len(magic))]), magic) || strings.HasPrefix(magic, string(start)) {
			return maxHeader
		}
	}
	return 0
}

// Contents describes the media of a request, with its history: the number of
// images, and the playing time of its audio. 0 = none, or unknown.
func (r *Request) Contents() (images int, audio time.Duration) {
	known := true
	add := func(t *bench.Turn) {
		images += len(t.Images)
		for i := range t.Audios {
			w, ok := ReadWAV(t.Audios[i].Data)
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
