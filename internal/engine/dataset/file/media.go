package file

import (
	"errors"
	"fmt"
	"io"
)

// maxMedia bounds one image, audio clip or video.
const maxMedia = 256 << 20

// ReadAll reads a whole image, audio clip or video.
func ReadAll(open func(string) (io.ReadCloser, error), name string) ([]byte, error) {
	data, err := ReadHead(open, name, maxMedia+1)
	if err == nil && len(data) > maxMedia {
		return nil, fmt.Errorf("is larger than %d MiB", maxMedia>>20)
	}
	return data, err
}

// ReadHead reads at most most bytes of a file.
func ReadHead(open func(string) (io.ReadCloser, error), name string, most int) ([]byte, error) {
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(most)))
	return data, errors.Join(err, file.Close())
}
