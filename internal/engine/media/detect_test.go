package media

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"strings"
	"testing"
)

// A WebP of one pixel (lossless).
const tinyWebP = "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"

func TestDetect(t *testing.T) {
	tests := []struct {
		name  string
		class Class
		data  string
		want  string
		ok    bool
	}{
		{"png", ClassImage, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png", true},
		{"jpeg", ClassImage, "\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg", true},
		{"gif", ClassImage, "GIF89a\x01\x00\x01\x00", "image/gif", true},
		{"webp", ClassImage, tinyWebP, "image/webp", true},
		{"bmp", ClassImage, "BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00", "image/bmp", false},
		{"wav as an image", ClassImage, "RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav", false},
		{"wav", ClassAudio, "RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav", true},
		{"mp3", ClassAudio, "\xff\xfb\x90\x00" + strings.Repeat("\x00", 32), "audio/mpeg", true},
		{"flac", ClassAudio, "fLaC\x00\x00\x00\x22", "audio/flac", true},
		{"ogg", ClassAudio, "OggS" + strings.Repeat("\x00", 24) + "OpusHead\x01", "audio/ogg", true},
		{"m4a", ClassAudio, "\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00M4A mp42", "audio/mp4", true},
		{"mp4 of audio", ClassAudio, "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", "audio/mp4", true},
		{"webm of audio", ClassAudio, "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm", "audio/webm", true},
		{"mp4", ClassVideo, "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", "video/mp4", true},
		{"webm", ClassVideo, "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm", "video/webm", true},
		{"text", ClassVideo, "a text", "text/plain", false},
		{"nothing", ClassAudio, "", "text/plain", false},
	}
	for _, tt := range tests {
		if got, ok := tt.class.Detect([]byte(tt.data)); got != tt.want || ok != tt.ok {
			t.Errorf("%s as %s = %s, %v; want %s, %v", tt.name, tt.class, got, ok, tt.want, tt.ok)
		}
	}
}

// Images of every format are converted to the requested size and format.
func TestResized(t *testing.T) {
	half := image.NewPaletted(image.Rect(0, 0, 8, 4), color.Palette{color.Black, color.White})
	for x := range 4 {
		for y := range 4 {
			half.SetColorIndex(x+4, y, 1)
		}
	}
	files := map[string][]byte{"image/webp": []byte(tinyWebP)}
	for f, kind := range map[ImageFormat]string{PNG: "image/png", JPEG: "image/jpeg"} {
		o, err := Encode(half, f)
		if err != nil {
			t.Fatal(err)
		}
		files[kind] = o.Data
	}
	var animation bytes.Buffer
	if err := gif.Encode(&animation, half, nil); err != nil {
		t.Fatal(err)
	}
	files["image/gif"] = animation.Bytes()
	for kind, file := range files {
		want := image.Pt(8, 4)
		if kind == "image/webp" {
			want = image.Pt(1, 1)
		}
		if size, err := Size(file); size != want || err != nil {
			t.Errorf("Size of %s = %v, %v; want %v", kind, size, err, want)
		}
		o, err := Resized(file, 20, 30, PNG)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		got, format, err := image.Decode(bytes.NewReader(o.Data))
		if err != nil || format != "png" || got.Bounds().Size() != image.Pt(20, 30) {
			t.Errorf("%s: %s of %v: %v", kind, format, got.Bounds(), err)
			continue
		}
		left, right := color.GrayModel.Convert(got.At(2, 15)).(color.Gray).Y, color.GrayModel.Convert(got.At(17, 15)).(color.Gray).Y
		if kind != "image/webp" && (left > 20 || right < 235) {
			t.Errorf("%s: grey levels %d and %d, want black and white", kind, left, right)
		}
		if o, err = Resized(file, 20, 30, JPEG); err != nil || o.Type != "image/jpeg" {
			t.Errorf("%s as JPEG: %s, %v", kind, o.Type, err)
		}
	}
}

func TestResizedRefuses(t *testing.T) {
	o, err := Image(8, 8, Noise, PNG, source(1))
	if err != nil {
		t.Fatal(err)
	}
	bomb := bytes.Clone(o.Data)
	binary.BigEndian.PutUint32(bomb[16:], 60_000) // width
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	tests := []struct {
		name          string
		file          []byte
		width, height int
		want          string
	}{
		{"text", []byte("a text"), 4, 4, "holds text/plain, not an image (PNG, JPEG, GIF or WebP)"},
		{"size", o.Data, 0, 4, "image of 0 × 4 pixels"},
		{"bomb", bomb, 4, 4, "image of 60000 × 8 pixels"},
		{"half a head", o.Data[:20], 4, 4, "read head of image/png: unexpected EOF"},
		{"half an image", o.Data[:80], 4, 4, "not enough pixel data"},
	}
	for _, tt := range tests {
		if _, err := Resized(tt.file, tt.width, tt.height, PNG); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want one with %q", tt.name, err, tt.want)
		}
	}
}
