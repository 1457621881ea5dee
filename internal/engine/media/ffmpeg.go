package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// encodeTime bounds the encoding of one video.
	encodeTime = 10 * time.Minute
	// listTime bounds the list of encoders.
	listTime = 30 * time.Second
	// stopTime is how long a stopped ffmpeg may keep its pipes open.
	stopTime = 5 * time.Second
	// maxVideoFile bounds the encoded video.
	maxVideoFile = 256 << 20
)

// FFmpeg encodes videos with the program ffmpeg. It is safe for concurrent use.
type FFmpeg struct{ path string }

// FindFFmpeg finds ffmpeg in PATH and checks that it has the named encoders. The error
// says how to install it.
func FindFFmpeg(ctx context.Context, encoders ...string) (*FFmpeg, error) {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return nil, errors.New("generated video needs the program ffmpeg, which is not in PATH; " +
			"install it (apt install ffmpeg, dnf install ffmpeg, brew install ffmpeg), or use a file with videos (--input-file)")
	}
	f := &FFmpeg{path: path}
	known, err := f.encoders(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the encoders of %s: %w", path, err)
	}
	var lacking []string
	for _, name := range encoders {
		if !slices.Contains(known, name) && !slices.Contains(lacking, name) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) == 0 {
		return f, nil
	}
	return nil, fmt.Errorf("%s has no encoder %s%s; use another encoder, or install an ffmpeg that has it",
		path, strings.Join(lacking, " and none "), usual(known))
}

// usual names the encoders that ffmpeg has and that are of use for generated video.
func usual(known []string) string {
	var has []string
	for name := range strings.FieldsSeq("libvpx-vp9 libvpx libx264 libx265 libaom-av1 libsvtav1 h264_nvenc hevc_nvenc mpeg4 libvorbis libopus aac") {
		if slices.Contains(known, name) {
			has = append(has, name)
		}
	}
	if has == nil {
		return ""
	}
	return " (it has " + strings.Join(has, ", ") + ")"
}

// encoders lists the names of all encoders.
func (f *FFmpeg) encoders(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, f.path, "-hide_banner", "-loglevel", "error", "-encoders")
	cmd.Stdout = &out
	if err := run(ctx, cmd); err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(out.String()) {
		// " V....D libvpx-vp9           libvpx VP9 (codec vp9)"
		if fields := strings.Fields(line); len(fields) > 2 && len(fields[0]) == 6 && strings.ContainsAny(fields[0][:1], "VA") {
			names = append(names, fields[1])
		}
	}
	return names, nil
}

// Encode generates a video. picture and sound are the sources of randomness; equal
// ones give equal bytes with the same ffmpeg.
func (f *FFmpeg) Encode(ctx context.Context, v Video, picture, sound *rand.Rand) (_ Object, err error) {
	if err := v.Check(); err != nil {
		return Object{}, err
	}
	// WebM gets its duration and MP4 its index when the file is complete, so that the
	// output must be seekable: without a duration, servers cannot sample frames.
	dir, err := os.MkdirTemp("", "aiperfd-video-")
	if err != nil {
		return Object{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(ctx, encodeTime)
	defer cancel()
	track := ""
	if v.Sound != nil {
		track = filepath.Join(dir, "sound.wav")
		clip := *v.Sound
		clip.Length = max(v.Length(), MinClip)
		noise, err := Audio(clip, sound)
		if err != nil {
			return Object{}, err
		}
		if err := os.WriteFile(track, noise.Data, 0o600); err != nil {
			return Object{}, err
		}
	}
	out := filepath.Join(dir, "video."+v.Format)
	cmd := exec.CommandContext(ctx, f.path, v.arguments(track, out)...)
	cmd.Stdin = newFrames(&v, picture)
	if err := run(ctx, cmd); err != nil {
		return Object{}, fmt.Errorf("encode video of %d × %d pixels with %s: %w", v.Width, v.Height, v.Codec, err)
	}
	info, err := os.Stat(out)
	if err != nil {
		return Object{}, fmt.Errorf("ffmpeg wrote no video: %w", err)
	}
	if info.Size() == 0 || info.Size() > maxVideoFile {
		return Object{}, fmt.Errorf("ffmpeg wrote a video of %d bytes; accepted: 1 to %d", info.Size(), maxVideoFile)
	}
	data, err := os.ReadFile(out)
	return Object{Type: "video/" + v.Format, Data: data}, err
}

// arguments returns the command line of ffmpeg. One thread per video: several are
// encoded at the same time.
func (v *Video) arguments(track, out string) []string {
	args := strings.Fields("-hide_banner -loglevel error -nostdin -f rawvideo -pix_fmt rgb24")
	args = append(args, "-video_size", fmt.Sprintf("%dx%d", v.Width, v.Height), "-framerate", strconv.Itoa(v.FPS), "-i", "pipe:0")
	if track != "" {
		args = append(args, "-i", track, "-c:a", v.SoundCodec, "-flags:a", "+bitexact")
	}
	args = append(args, "-c:v", v.Codec, "-pix_fmt", "yuv420p", "-threads", "1", "-flags:v", "+bitexact", "-fflags", "+bitexact")
	if strings.HasPrefix(v.Codec, "libvpx") {
		// The default takes ten times as long: minutes for a clip of noise.
		args = append(args, "-deadline", "realtime", "-cpu-used", "8")
	}
	if v.Format == "mp4" {
		args = append(args, "-movflags", "+faststart")
	}
	return append(args, "-f", v.Format, "-y", out)
}

// run runs ffmpeg. The error contains the end of what it printed.
func run(ctx context.Context, cmd *exec.Cmd) error {
	var messages tail
	cmd.Stderr = &messages
	cmd.WaitDelay = stopTime
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("ffmpeg was stopped: %w", context.Cause(ctx))
	case messages.text() == "":
		return fmt.Errorf("ffmpeg: %w", err)
	}
	return fmt.Errorf("ffmpeg: %w: %s", err, messages.text())
}

// tail keeps the last bytes that are written to it.
type tail struct{ kept []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	const most = 1 << 10
	t.kept = append(t.kept, p[max(0, len(p)-most):]...)
	t.kept = slices.Delete(t.kept, 0, max(0, len(t.kept)-most))
	return len(p), nil
}

// text returns the lines as one.
func (t *tail) text() string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(string(t.kept), ""), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
