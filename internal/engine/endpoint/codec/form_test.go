package codec

import (
	"testing"

	"aiperfd/internal/engine/bench"
)

func TestSoundFile(t *testing.T) {
	for mime, want := range map[string]string{
		"audio/wav": "audio.wav audio/wav", "audio/wave": "audio.wav audio/wav", "": "audio.wav audio/wav",
		"audio/mpeg": "audio.mp3 audio/mpeg", "audio/mp3": "audio.mp3 audio/mpeg", "audio/mpga": "audio.mp3 audio/mpeg",
		"audio/flac": "audio.flac audio/flac", "audio/ogg": "audio.ogg audio/ogg", "audio/opus": "audio.opus audio/ogg",
		"audio/mp4": "audio.m4a audio/mp4", "audio/x-m4a": "audio.m4a audio/mp4", "audio/webm": "audio.webm audio/webm",
		"audio/aac": "audio.aac audio/aac",
	} {
		filename, kind := AudioFile(&bench.Media{MIME: mime})
		if got := filename + " " + kind; got != want {
			t.Errorf("audioFile(%q) = %s, want %s", mime, got, want)
		}
	}
}
