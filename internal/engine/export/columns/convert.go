package columns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/export"
)

// Find returns the Parquet files of records in the folder of a run; none is no error.
func Find(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "*"+Extension)) // a folder with brackets has none
	return names
}

// Extension ends the names of Parquet files.
const Extension = ".parquet"

// Convert turns a Parquet file of records into lines, in a folder that is created if it
// does not exist, and returns the name of the file of lines.
func Convert(path, to string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(path), Extension) + filepath.Ext(export.NamesFor("").Records)
	err = durable.Write(filepath.Join(to, name), durable.Shared, func(w io.Writer) error {
		buffer := bufio.NewWriter(w)
		return errors.Join(WriteLines(buffer, in, info.Size()), buffer.Flush())
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return name, nil
}
