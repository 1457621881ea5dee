package synthetic

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/dataset/file"
	"aiperfd/internal/engine/media"
)

// openMedia prepares the images, audio clips and videos of the entries.
func (b *builder) openMedia(ctx context.Context) error {
	bound := maxMadeBytes
	if b.Images.BatchSize > 0 && b.Audio.BatchSize > 0 {
		bound /= 2
	}
	turns := 1
	if b.Turns.Given() {
		turns = b.Turns.Constant()
	}
	if b.Images.BatchSize > 0 {
		p := &imageGenerator{Images: b.Images, seed: b.Seed}
		if p.Source == "files" {
			if err := b.openPictures(ctx, p); err != nil {
				return fmt.Errorf("make images: %w", err)
			}
		}
		b.images = newMediaPool(b.Entries, turns, p.BatchSize, bound, p.size, p.produce)
	}
	if b.Audio.BatchSize > 0 {
		s := &audioGenerator{Audio: b.Audio, seed: b.Seed}
		b.audios = newMediaPool(b.Entries, turns, s.BatchSize, bound, s.size, s.produce)
	}
	if err := b.openVideos(ctx, turns); err != nil {
		return fmt.Errorf("make videos: %w", err)
	}
	return nil
}

// advice says how to send smaller images.
func (b *builder) advice() string {
	if b.Images.Source != "noise" {
		return ""
	}
	return "; source noise-smooth has the size of photographs"
}

// openPictures finds the files that are images.
func (b *builder) openPictures(ctx context.Context, p *imageGenerator) error {
	p.order = fileOrder(p.Sampling)
	good, warning, err := p.readable(ctx)
	if err != nil {
		return err
	}
	p.Files = good
	if warning != "" {
		b.warnings = append(b.warnings, warning)
	}
	return nil
}

// readable returns the files that are images, in their order, and a warning about the
// others.
func (o *Images) readable(ctx context.Context) (good []string, warning string, err error) {
	const head = 64 << 10 // contains the size of nearly every image
	wrong := make([]error, len(o.Files))
	err = parallel(ctx, len(o.Files), func(i int) error {
		data, err := file.ReadHead(o.Open, o.Files[i], head)
		if err == nil {
			_, err = media.Size(data)
		}
		if err != nil {
			if data, err = file.ReadAll(o.Open, o.Files[i]); err == nil {
				_, err = media.Size(data)
			}
		}
		wrong[i] = err
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	var bad []string
	for i, name := range o.Files {
		if wrong[i] == nil {
			good = append(good, name)
			continue
		}
		bad = append(bad, fmt.Sprintf("%s %v", name, wrong[i]))
	}
	const shown = 3
	listed := strings.Join(bad[:min(len(bad), shown)], "; ")
	switch {
	case len(good) == 0:
		return nil, "", fmt.Errorf("none of %d files is a readable image: %s", len(o.Files), listed)
	case len(bad) > 0:
		warning = fmt.Sprintf("%d of %d files are ignored because they are not readable images: %s", len(bad), len(o.Files), listed)
	}
	return slices.Clip(good), warning, nil
}
