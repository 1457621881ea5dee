package media

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeVariable makes the test binary behave as ffmpeg: its value says how.
const fakeVariable = "AIPERFD_TEST_FFMPEG"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeVariable); mode != "" {
		os.Exit(fakeFFmpeg(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// fakeFFmpeg writes its arguments and hashes of its inputs as the video.
func fakeFFmpeg(mode string, args []string) int {
	if slices.Contains(args, "-encoders") {
		fmt.Println("Encoders:\n V..... = Video\n A..... = Audio\n ------\n V....D libvpx-vp9           libvpx VP9 (codec vp9)\n" +
			" V....D libx264              libx264 H.264\n A....D libvorbis            libvorbis")
		return 0
	}
	switch mode {
	case "fail":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 5000)+"\n[libx264] width not divisible by 2 (5x4)\nConversion failed!")
		return 1
	case "hang":
		r, _, _ := os.Pipe()
		_, _ = io.ReadAll(r)
	case "nothing":
		return 0
	}
	out := args[len(args)-1]
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, filepath.Dir(out), "DIR")
	}
	frames, err := io.ReadAll(os.Stdin)
	sound, _ := os.ReadFile(filepath.Join(filepath.Dir(out), "sound.wav"))
	text := fmt.Sprintf("%s\n%d bytes of frames %x\n%d bytes of sound %x", strings.Join(args, " "), len(frames), sha256.Sum256(frames), len(sound), sha256.Sum256(sound))
	if err != nil || os.WriteFile(out, []byte(text), 0o600) != nil {
		return 1
	}
	return 0
}

// fake puts the fake ffmpeg alone in PATH; its temporary files are in the folder that
// it returns.
func fake(t *testing.T, mode string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, temporary := t.TempDir(), t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "ffmpeg")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("TMPDIR", temporary)
	t.Setenv(fakeVariable, mode)
	return temporary
}

func small() Video {
	return Video{Width: 32, Height: 24, Frames: 3, FPS: 2, Pattern: "moving_shapes", Format: "webm", Codec: "libvpx-vp9"}
}

func find(t *testing.T, encoders ...string) *FFmpeg {
	t.Helper()
	f, err := FindFFmpeg(t.Context(), encoders...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEncode(t *testing.T) {
	temporary := fake(t, "encode")
	f := find(t, "libvpx-vp9")
	sounding := small()
	sounding.Format, sounding.Codec, sounding.SoundCodec = "mp4", "libx264", "libvorbis"
	sounding.Sound = &Clip{SampleRate: 8000, Depth: 16, Channels: 2}
	const input = "-hide_banner -loglevel error -nostdin -f rawvideo -pix_fmt rgb24 -video_size 32x24 -framerate 2 -i pipe:0 "
	for _, row := range []struct {
		v               Video
		kind, arguments string
		sound           int
	}{
		{small(), "video/webm", input + "-c:v libvpx-vp9 -pix_fmt yuv420p -threads 1 -flags:v +bitexact -fflags +bitexact -deadline realtime -cpu-used 8 -f webm -y DIR/video.webm", 0},
		{sounding, "video/mp4", input + "-i DIR/sound.wav -c:a libvorbis -flags:a +bitexact -c:v libx264 -pix_fmt yuv420p -threads 1" +
			" -flags:v +bitexact -fflags +bitexact -movflags +faststart -f mp4 -y DIR/video.mp4", 44 + 12000*4},
	} {
		got, err := f.Encode(t.Context(), row.v, source(1), source(2))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(got.Data), "\n")
		if got.Type != row.kind || lines[0] != row.arguments {
			t.Errorf("%s, made with\n%s\nwant %s\n%s", got.Type, lines[0], row.kind, row.arguments)
		}
		if !strings.HasPrefix(lines[1], "6912 bytes of frames ") || !strings.HasPrefix(lines[2], fmt.Sprintf("%d bytes of sound ", row.sound)) {
			t.Errorf("input: %s; %s", lines[1], lines[2])
		}
		again, _ := f.Encode(t.Context(), row.v, source(1), source(2))
		other, _ := f.Encode(t.Context(), row.v, source(3), source(2))
		if !bytes.Equal(got.Data, again.Data) || bytes.Equal(got.Data, other.Data) {
			t.Error("the bytes do not follow from the seed")
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
}

func TestEncodeFails(t *testing.T) {
	temporary := fake(t, "fail")
	f := find(t)
	_, err := f.Encode(t.Context(), small(), source(1), source(1))
	if err == nil || !strings.HasPrefix(err.Error(), "encode video of 32 × 24 pixels with libvpx-vp9: ffmpeg: exit status 1: xxx") ||
		!strings.HasSuffix(err.Error(), "[libx264] width not divisible by 2 (5x4); Conversion failed!") || len(err.Error()) > 1500 {
		t.Errorf("error = %v", err)
	}
	t.Setenv(fakeVariable, "nothing")
	if _, err = f.Encode(t.Context(), small(), source(1), source(1)); err == nil || !strings.HasPrefix(err.Error(), "ffmpeg wrote no video: ") {
		t.Errorf("error = %v", err)
	}
	t.Setenv(fakeVariable, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err = f.Encode(ctx, small(), source(1), source(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want one of the deadline", err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
}

func TestFindFFmpeg(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := FindFFmpeg(t.Context()); err == nil || !strings.Contains(err.Error(), "not in PATH; install it (apt install ffmpeg") {
		t.Errorf("error = %v, want one that says how to install it", err)
	}
	fake(t, "encode")
	_, err := FindFFmpeg(t.Context(), "libvpx-vp9", "libx265", "aac", "aac")
	if err == nil || !strings.HasSuffix(err.Error(), "ffmpeg has no encoder libx265 and none aac (it has libvpx-vp9, libx264, libvorbis); "+
		"use another encoder, or install an ffmpeg that has it") {
		t.Errorf("error = %v", err)
	}
}

func TestVideoCheck(t *testing.T) {
	v := Video{Width: 0, Height: 9000, FPS: 500, Pattern: "cat", Format: "avi", Sound: &Clip{}}
	const want = "video of 0 × 9000 pixels: sides must be from 1 to 8192\nvideo of 0 frames: at least 1 is needed\n" +
		"video with 500 frames per second: must be from 1 to 240\nvideo pattern \"cat\"; accepted: moving_shapes, grid_clock, noise\n" +
		"video format \"avi\"; accepted: webm, mp4\nthe name of an encoder is missing"
	if err := v.Check(); err == nil || err.Error() != want {
		t.Errorf("Check() = %v\nwant %s", err, want)
	}
	long := small()
	long.Width, long.Height, long.Frames = 8192, 8192, 33
	if err := long.Check(); err == nil || !strings.Contains(err.Error(), "at most 2147483648 pixels in total") {
		t.Errorf("Check() = %v", err)
	}
}

// picture returns frame n of a video as an image.
func picture(t *testing.T, v Video, n int, random *rand.Rand) *image.RGBA {
	t.Helper()
	all, err := io.ReadAll(newFrames(&v, random))
	if size := 3 * v.Width * v.Height; err != nil || len(all) != size*v.Frames {
		t.Fatalf("%d bytes, want %d frames of %d; %v", len(all), v.Frames, size, err)
	}
	img := image.NewRGBA(image.Rect(0, 0, v.Width, v.Height))
	for i := range v.Width * v.Height {
		at := 3 * (n*v.Width*v.Height + i)
		img.SetRGBA(i%v.Width, i/v.Width, color.RGBA{all[at], all[at+1], all[at+2], 255})
	}
	return img
}

// colors counts the pixels of each color.
func colors(img *image.RGBA) map[color.RGBA]int {
	n := map[color.RGBA]int{}
	for i := range img.Rect.Dx() * img.Rect.Dy() {
		n[img.RGBAAt(i%img.Rect.Dx(), i/img.Rect.Dx())]++
	}
	return n
}

func TestMovingShapes(t *testing.T) {
	v := Video{Width: 320, Height: 240, Frames: 8, FPS: 4, Pattern: "moving_shapes"}
	whole := map[color.RGBA]int{{255, 0, 0, 255}: 709, {0, 255, 0, 255}: 625, {0, 0, 255, 255}: 317}
	for n := range v.Frames {
		got := colors(picture(t, v, n, source(1)))
		if len(got) < 3 || len(got) > 4 {
			t.Errorf("frame %d has %d colors, want black and three others", n, len(got))
		}
		for c, most := range whole {
			if got[c] > most+20 {
				t.Errorf("frame %d has %d pixels of %v, want at most %d", n, got[c], c, most)
			}
		}
	}
	for _, pattern := range VideoPatterns() {
		v.Pattern = pattern
		first := picture(t, v, 0, source(1))
		if bytes.Equal(first.Pix, picture(t, v, 1, source(1)).Pix) {
			t.Errorf("%s: two frames are equal", pattern)
		}
		if !bytes.Equal(first.Pix, picture(t, v, 0, source(1)).Pix) || bytes.Equal(first.Pix, picture(t, v, 0, source(2)).Pix) {
			t.Errorf("%s: the start does not follow from the seed", pattern)
		}
	}
}

func TestGridClock(t *testing.T) {
	v := Video{Width: 96, Height: 64, Frames: 12, FPS: 4, Pattern: "grid_clock"}
	img := picture(t, v, 11, source(1))
	var digits strings.Builder // of the number in the corner
	for y := 10; y < 20; y += 2 {
		for x := 10; x < 24; x += 2 {
			digits.WriteByte(map[bool]byte{true: '#', false: '.'}[img.RGBAAt(x, y) == color.RGBA{255, 255, 255, 255}])
		}
		digits.WriteByte('\n')
	}
	if want := ".#...#.\n##..##.\n.#...#.\n.#...#.\n###.###\n"; digits.String() != want {
		t.Errorf("number of the frame:\n%swant\n%s", digits.String(), want)
	}
	if got := img.RGBAAt(48, 32); got != (color.RGBA{255, 0, 0, 255}) {
		t.Errorf("center %v, want red", got)
	}
	if got := img.RGBAAt(64, 60); got != (color.RGBA{64, 64, 64, 255}) {
		t.Errorf("grid %v", got)
	}
	for _, tiny := range []image.Point{{1, 1}, {2, 1}, {1, 40}} { // nothing is drawn beyond the edges
		v.Width, v.Height = tiny.X, tiny.Y
		for _, v.Pattern = range VideoPatterns() {
			picture(t, v, 0, source(1))
		}
	}
}

// TestRealFFmpeg encodes with the installed ffmpeg.
func TestRealFFmpeg(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed")
	}
	f := find(t, "libvpx-vp9", "libopus")
	v := Video{
		Width: 65, Height: 48, Frames: 5, FPS: 4, Pattern: "grid_clock", Format: "webm", Codec: "libvpx-vp9",
		Sound: &Clip{SampleRate: 48000, Depth: 16, Channels: 1}, SoundCodec: "libopus",
	}
	for _, v.Format = range VideoFormats() {
		got, err := f.Encode(t.Context(), v, source(1), source(1))
		if err != nil {
			t.Fatal(err)
		}
		if kind, ok := ClassVideo.Detect(got.Data); !ok || kind != got.Type {
			t.Errorf("%s is detected as %s", got.Type, kind)
		}
		if v.Format == "mp4" && bytes.Index(got.Data, []byte("moov")) > bytes.Index(got.Data, []byte("mdat")) {
			t.Error("the index of the MP4 file is at its end")
		}
		again, err := f.Encode(t.Context(), v, source(1), source(1))
		if err != nil || !bytes.Equal(got.Data, again.Data) {
			t.Errorf("%s: the bytes do not follow from the seed: %v", v.Format, err)
		}
	}
	v.Sound, v.Format, v.Codec = nil, "webm", "libvpx-vp9"
	odd := v
	odd.Pattern, odd.Width = "noise", 1
	for _, v := range []Video{v, odd} {
		if _, err := f.Encode(t.Context(), v, source(1), source(1)); err != nil {
			t.Error(err)
		}
	}
}
