package plan

import (
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/dataset"
	"aiperfd/internal/engine/endpoint"
)

// media compiles the generated pictures, sounds and rankings.
func (c *compiler) media(d *config.Dataset, s *dataset.Synthetic) {
	kind, known := endpoint.Lookup(c.b.Endpoint.Type)
	if d.Images.On() {
		if known && !kind.Caps.Images {
			c.problem("datasets/0/images", "conflict", "the endpoint type %s takes no images", kind.Name)
		}
		s.Images = c.images(d.Images)
	}
	if d.Audio.On() {
		if known && !kind.Caps.Audio {
			c.problem("datasets/0/audio", "conflict", "the endpoint type %s takes no audio", kind.Name)
		}
		s.Audio = c.audio(d.Audio)
	}
	if known {
		c.lackingMedia(kind.Name, d)
	}
	if r := d.Rankings; r != nil {
		s.Rankings = dataset.Rankings{
			Passages:      c.dist("datasets/0/rankings/passages", r.Passages),
			PassageTokens: c.dist("datasets/0/rankings/passageTokens", r.PassageTokens),
			QueryTokens:   c.dist("datasets/0/rankings/queryTokens", r.QueryTokens),
		}
	}
}

// lackingMedia reports a synthetic dataset without what every request of the
// endpoint type must have.
func (c *compiler) lackingMedia(kind string, d *config.Dataset) {
	switch kind {
	case "audio_transcription", "audio_translation":
		if !d.Audio.On() {
			c.problem("datasets/0/audio", "required", "the endpoint type %s needs audio: set audio.length (--audio-length-mean 5) or use a file with audio (--input-file)", kind)
		}
	case "image_edit", "image_retrieval":
		if !d.Images.On() {
			c.problem("datasets/0/images", "required", "the endpoint type %s needs images: set images.width (--image-width-mean 512) or use a file with images (--input-file)", kind)
		}
	}
}

func (c *compiler) images(d *config.Images) dataset.Images {
	out := dataset.Images{
		BatchSize: *d.BatchSize, Format: d.Format, Source: d.Source, Sampling: d.SourceSampling,
		Width: c.dist("datasets/0/images/width", d.Width), Height: c.dist("datasets/0/images/height", d.Height),
	}
	dir := d.Directory()
	switch {
	case dir != "":
		files, err := c.doc.Folder(dir)
		if err != nil {
			c.problem("datasets/0/images/source", "file-not-allowed", "%v", err)
		}
		out.Source, out.Open = "files", c.open
		out.Files = slices.DeleteFunc(files, func(name string) bool { return !pictureName(name) })
		if err == nil && len(out.Files) == 0 {
			c.problem("datasets/0/images/source", "out-of-range", "there is no PNG, JPEG, GIF or WebP file in %s", dir)
		}
	case d.Source == "assets": // AIPerf's photographs; ours are made
		out.Source = "noise-smooth"
	}
	return out
}

// pictureName reports whether a file is a picture by its name.
func pictureName(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(name)))
}

func (c *compiler) audio(d *config.Audio) dataset.Audio {
	out := dataset.Audio{
		BatchSize: *d.BatchSize, Length: c.dist("datasets/0/audio/length", d.Length),
		Depths: d.Depths, Channels: d.Channels,
	}
	for _, rate := range d.SampleRates {
		out.SampleRates = append(out.SampleRates, int(math.Round(config.Hertz(rate))))
	}
	return out
}

// open opens a file within the bounds of the document.
func (c *compiler) open(name string) (io.ReadCloser, error) {
	f, err := c.doc.Open(name)
	if err != nil {
		return nil, err // not a nil file in an interface
	}
	return f, nil
}

// mediaFiles opens the pictures, sounds and films that the records of a dataset
// name, as all files that the document names: from the working directory, or in
// a daemon from its data directories, or else from the folder of the input.
func (c *compiler) mediaFiles(input string) func(name string) (io.ReadCloser, error) {
	return func(name string) (io.ReadCloser, error) {
		f, err := c.open(name)
		if err == nil || filepath.IsAbs(name) || input == "" {
			return f, err
		}
		if beside, besideErr := c.open(filepath.Join(filepath.Dir(input), name)); besideErr == nil {
			return beside, nil
		}
		return nil, err
	}
}
