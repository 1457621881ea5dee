package native

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"aiperfd/internal/engine/export"
)

// Convert makes the other files of a report of its result.json, in a folder that is
// created if it does not exist, and returns their names. from is the file, or the folder
// of a run. Files that exist are replaced.
func Convert(from, to string) ([]string, error) {
	path, err := find(from)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := Read(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return nil, err
	}
	return export.Regenerate(to, r)
}

// find returns the path of the result that from names.
func find(from string) (string, error) {
	info, err := os.Stat(from)
	if err != nil || !info.IsDir() {
		return from, err
	}
	path := filepath.Join(from, export.NamesFor("").Result)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	found, err := filepath.Glob(filepath.Join(from, "*_"+export.NamesFor("").Result))
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%s has the results of several runs: %q; name one", from, found)
	}
	return "", fmt.Errorf("%s has no result.json", from)
}
