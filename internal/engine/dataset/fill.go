package dataset

import (
	"context"
	"fmt"
)

// fillMedia generates the images and audio clips of all entries.
func (b *builder) fillMedia(ctx context.Context) error {
	bound := maxMadeBytes
	if b.Synthetic.Images.BatchSize > 0 && b.Synthetic.Audio.BatchSize > 0 {
		bound /= 2
	}
	if err := b.fillImages(ctx, bound); err != nil {
		return fmt.Errorf("make images: %w", err)
	}
	if err := b.fillAudio(ctx, bound); err != nil {
		return fmt.Errorf("make audio: %w", err)
	}
	return nil
}

func (b *builder) fillImages(ctx context.Context, bound int) error {
	p := &imageGenerator{Images: b.Synthetic.Images, seed: b.Seed}
	if p.BatchSize == 0 {
		return nil
	}
	advice := "; source noise-smooth has the size of photographs"
	if p.Source == "files" {
		p.order, advice = fileOrder(p.Sampling), ""
		good, warning, err := p.readable(ctx)
		if err != nil {
			return err
		}
		p.Files = good
		if warning != "" {
			b.warnings = append(b.warnings, warning)
		}
	}
	b.images = newMediaPool(b.Entries, p.BatchSize, b.turns)
	if err := b.images.fill(ctx, bound, p.size, p.produce); err != nil {
		return err
	}
	if p.Source != "noise" {
		advice = ""
	}
	b.warnings = append(b.warnings, b.images.warnings("images", advice)...)
	return nil
}

func (b *builder) fillAudio(ctx context.Context, bound int) error {
	s := &audioGenerator{Audio: b.Synthetic.Audio, seed: b.Seed}
	if s.BatchSize == 0 {
		return nil
	}
	b.audios = newMediaPool(b.Entries, s.BatchSize, b.turns)
	if err := b.audios.fill(ctx, bound, s.size, s.produce); err != nil {
		return err
	}
	b.warnings = append(b.warnings, b.audios.warnings("audio clips", "")...)
	return nil
}
