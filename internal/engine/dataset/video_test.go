package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperfd/internal/engine/dataset/synthetic"
	"aiperfd/internal/engine/media"
)

// fakeFFmpeg puts an ffmpeg first in PATH that writes a hash of the frames as the
// video.
func fakeFFmpeg(t *testing.T) {
	t.Helper()
	const script = `#!/bin/sh
case "$*" in *-encoders*) echo ' V....D libvpx-vp9 VP9'; exit;; esac
for out; do :; done
cksum >"$out"
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func TestSyntheticVideo(t *testing.T) {
	fakeFFmpeg(t)
	o := basic()
	o.Entries = 3
	o.Synthetic.Videos = synthetic.Videos{BatchSize: 2, Clip: media.Video{Width: 48, Height: 32, Frames: 2, FPS: 4, Pattern: "moving_shapes", Format: "webm", Codec: "libvpx-vp9"}}
	source, err := openAll(t.Context(), "synthetic", o)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range source.Len() {
		videos := source.At(i).Turns[0].Videos
		if len(videos) != 2 {
			t.Fatalf("entry %d has %d videos", i, len(videos))
		}
		for _, v := range videos {
			if v.MIME != "video/webm" || !strings.HasSuffix(strings.TrimSpace(string(v.Data)), " 9216") {
				t.Errorf("%s %q, want that of 9216 bytes", v.MIME, v.Data)
			}
			seen[string(v.Data)] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d different videos, want 6", len(seen))
	}
	if again, err := openAll(t.Context(), "synthetic", o); err != nil || again.Hash() != source.Hash() {
		t.Errorf("the same seed gives another hash: %v", err)
	}
	o.Seed++
	if other, err := openAll(t.Context(), "synthetic", o); err != nil || other.Hash() == source.Hash() {
		t.Errorf("another seed gives the same hash: %v", err)
	}

	o.Entries = 64
	source, err = openAll(t.Context(), "synthetic", o)
	if err != nil {
		t.Fatal(err)
	}
	first, again := source.At(0).Turns[0].Videos[0], source.At(32).Turns[0].Videos[0]
	warnings := source.Describe().Warnings
	if string(first.Data) != string(again.Data) || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "64 distinct generated videos are sent in turn, because more would take too much time") {
		t.Errorf("%q, %q; warnings %q", first.Data, again.Data, warnings)
	}

	o.Synthetic.Videos.Clip.Codec = "libx264"
	if _, err = openAll(t.Context(), "synthetic", o); err == nil || !strings.Contains(err.Error(), "has no encoder libx264 (it has libvpx-vp9)") {
		t.Errorf("error = %v", err)
	}
	o.Synthetic.Videos.BatchSize, o.Synthetic.Videos.Clip.FPS = -1, 0
	if _, err = openAll(t.Context(), "synthetic", o); err == nil || !strings.Contains(err.Error(), "video batch size -1: must be from 0 to 10000\nvideo with 0 frames per second") {
		t.Errorf("error = %v", err)
	}
}
