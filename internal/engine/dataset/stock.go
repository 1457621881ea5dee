package dataset

import (
	"context"
	"fmt"
)

// stock makes the images and audio clips of all entries.
func (b *builder) stock(ctx context.Context) error {
	bound := maxMadeBytes
	if b.Synthetic.Images.BatchSize > 0 && b.Synthetic.Audio.BatchSize > 0 {
		bound /= 2
	}
	if err := b.stockImages(ctx, bound); err != nil {
		return fmt.Errorf("make images: %w", err)
	}
	if err := b.stockAudio(ctx, bound); err != nil {
		return fmt.Errorf("make audio: %w", err)
	}
	return nil
}

func (b *builder) stockImages(ctx context.Context, bound int) error {
	p := &pictures{Images: b.Synthetic.Images, seed: b.Seed}
	if p.BatchSize == 0 {
		return nil
	}
	advice := "; source noise-smooth has the size of photographs"
	if p.Source == "files" {
		p.order, advice = fileOrder(p.Sampling), ""
		good, doubt, err := p.readable(ctx)
		if err != nil {
			return err
		}
		p.Files = good
		if doubt != "" {
			b.doubts = append(b.doubts, doubt)
		}
	}
	b.images = newShelf(b.Entries, p.BatchSize, b.turns)
	if err := b.images.stock(ctx, bound, p.size, p.produce); err != nil {
		return err
	}
	if p.Source != "noise" {
		advice = ""
	}
	b.doubts = append(b.doubts, b.images.doubts("images", advice)...)
	return nil
}

func (b *builder) stockAudio(ctx context.Context, bound int) error {
	s := &sounds{Audio: b.Synthetic.Audio, seed: b.Seed}
	if s.BatchSize == 0 {
		return nil
	}
	b.audios = newShelf(b.Entries, s.BatchSize, b.turns)
	if err := b.audios.stock(ctx, bound, s.size, s.produce); err != nil {
		return err
	}
	b.doubts = append(b.doubts, b.audios.doubts("audio clips", "")...)
	return nil
}
