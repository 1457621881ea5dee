package codec

import (
	"testing"
	"time"
)

func TestReadWAV(t *testing.T) {
	header := []byte("RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\xe8\x03\x00\x00\xd0\x07\x00\x00\x02\x00\x10\x00data\xb8\x0b\x00\x00")
	w, ok := ReadWAV(header)
	if !ok || w.Data != 44 || w.rate != 2000 {
		t.Fatalf("readWAV = %+v, %v", w, ok)
	}
	if got := w.Length(44 + 8000); got != 1500*time.Millisecond {
		t.Errorf("a size in the header gives %v, want 1.5s", got)
	}
	if got := w.Length(44 + 1000); got != 500*time.Millisecond {
		t.Errorf("a file shorter than its header says gives %v, want 500ms", got)
	}
	for i := range header {
		if _, ok := ReadWAV(header[:i]); ok {
			t.Errorf("the first %d bytes of a header are taken for one", i)
		}
	}
}
