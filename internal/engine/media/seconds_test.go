package media

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

func TestSeconds(t *testing.T) {
	clip, err := Audio(Clip{Length: 1500 * time.Millisecond, SampleRate: 16000, Depth: 16, Channels: 2}, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	flac := append([]byte("fLaC\x00\x00\x00\x22"), make([]byte, 34)...)
	binary.BigEndian.PutUint64(flac[18:], 16000<<44|15<<36|40000)
	for name, tt := range map[string]struct {
		file []byte
		want float64
	}{
		"wav": {clip.Data, 1.5}, "flac": {flac, 2.5}, "half a flac": {flac[:25], 0}, "half a wav": {clip.Data[:30], 0}, "mp3": {[]byte("ID3\x04"), 0}, "empty": {nil, 0},
	} {
		if got := Seconds(tt.file); got != tt.want {
			t.Errorf("%s: %v s, want %v", name, got, tt.want)
		}
	}
}

func FuzzSeconds(f *testing.F) {
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\xff\xff\xff\xff\x80"))
	f.Add(append([]byte("fLaC"), make([]byte, 40)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s := Seconds(data); !(s >= 0) {
			t.Errorf("%v s", s)
		}
	})
}
