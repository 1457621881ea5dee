package synthetic

import (
	"context"
	"errors"
	"fmt"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/media"
)

const (
	// maxClips bounds the number of different generated videos: encoding takes from
	// 50 ms to seconds for each.
	maxClips = 64
	// maxClipBytes bounds the memory of all generated videos of a dataset.
	maxClipBytes = 64 << 20
)

// Videos describes generated videos.
type Videos struct {
	BatchSize int         // videos of one turn; 0 = none
	Clip      media.Video // what all of them have in common
}

// check returns all problems of the options.
func (o *Videos) check() error {
	if o.BatchSize == 0 {
		return nil
	}
	var err error
	if o.BatchSize < 0 || o.BatchSize > maxBatch {
		err = fmt.Errorf("video batch size %d: must be from 0 to %d", o.BatchSize, maxBatch)
	}
	return errors.Join(err, o.Clip.Check())
}

// Encoder finds the ffmpeg that can encode the videos; nil = there are none to encode.
// The error says how to install it.
func (o *Videos) Encoder(ctx context.Context) (*media.FFmpeg, error) {
	if o.BatchSize == 0 {
		return nil, nil
	}
	encoders := []string{o.Clip.Codec}
	if o.Clip.Sound != nil {
		encoders = append(encoders, o.Clip.SoundCodec)
	}
	return media.FindFFmpeg(ctx, encoders...)
}

// openVideos encodes the videos of the entries. They are encoded before the load
// starts, since an encoder beside it would slow the client down.
func (b *builder) openVideos(ctx context.Context, turns int) error {
	o := &b.Videos
	encoder, err := o.Encoder(ctx)
	if encoder == nil || err != nil {
		return err
	}
	size := func(k int) int {
		if k >= maxClips {
			return maxClipBytes
		}
		return o.Clip.Bytes()
	}
	b.videos = newMediaPool(b.Entries, turns, o.BatchSize, maxClipBytes, size, func(k int) (bench.Media, error) {
		made, err := encoder.Encode(ctx, o.Clip, b.Seed.Index(bench.StreamVideoNoise, k), b.Seed.Index(bench.StreamVideoAudio, k))
		return bench.Media{MIME: made.Type, Data: made.Data}, err
	})
	b.videos.limit = "more would take too much time to encode, or too much memory"
	return parallel(ctx, len(b.videos.items), func(k int) error {
		_, err := b.videos.item(k)
		return err
	})
}
