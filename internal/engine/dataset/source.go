package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"aiperfd/internal/engine/media"
)

// maxMediaFile bounds one image, audio clip or video.
const maxMediaFile = 256 << 20

// readMedia reads a whole file.
func readMedia(open func(string) (io.ReadCloser, error), name string) ([]byte, error) {
	return readHead(open, name, maxMediaFile, fmt.Errorf("is larger than %d MiB", maxMediaFile>>20))
}

// readHead reads at most most bytes of a file. more is the error for a larger file;
// nil = the rest is ignored.
func readHead(open func(string) (io.ReadCloser, error), name string, most int, more error) ([]byte, error) {
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(data) > most {
		return data[:most], more
	}
	return data, nil
}

// readable returns the files that are images, in their order, and a warning about the
// others.
func (o *Images) readable(ctx context.Context) (good []string, warning string, err error) {
	const head = 64 << 10 // contains the size of nearly every image
	wrong := make([]error, len(o.Files))
	err = parallel(ctx, len(o.Files), func(i int) error {
		data, err := readHead(o.Open, o.Files[i], head, nil)
		if err == nil {
			_, err = media.Size(data)
		}
		if err != nil {
			if data, err = readMedia(o.Open, o.Files[i]); err == nil {
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
