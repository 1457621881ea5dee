package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/run"
)

// runFile is the copy of a run in its folder. Its name starts with a dot, because
// it is not an artifact.
const runFile = ".run.json"

// document is the content of runFile.
type document struct {
	Schema string          `json:"schema"` // always documentSchema
	Run    *run.Run        `json:"run"`
	Config json.RawMessage `json:"config,omitempty"`
}

const documentSchema = "aiperfd-run/1"

// usableID matches the ids of runs, which are names of folders.
var usableID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// writeRun writes the copy of a run.
func writeRun(dir string, r *run.Run) error {
	data, err := plainjson.Marshal(document{documentSchema, r, r.Config})
	if err != nil {
		return fmt.Errorf("encode run: %w", err)
	}
	return durable.WriteFile(filepath.Join(dir, runFile), durable.Private, append(data, '\n'))
}

// ReadFolder reads the copy of a run from its folder, whose name must be the run's id.
func ReadFolder(dir string) (*run.Run, error) { return readRun(dir) }

// ReadCopy reads the copy of a run from a folder of any name. Without one, the error is
// fs.ErrNotExist.
func ReadCopy(dir string) (*run.Run, error) { return readCopy(dir) }

// readRun reads the copy of a run. A folder without one is fs.ErrNotExist.
func readRun(dir string) (*run.Run, error) {
	r, err := readCopy(dir)
	if err == nil && r.ID != filepath.Base(dir) {
		return nil, errors.New("decode run: it is not the run of this folder")
	}
	return r, err
}

// readCopy reads the copy of a run from a folder of any name.
func readCopy(dir string) (*run.Run, error) {
	data, err := regular.Read(filepath.Join(dir, runFile))
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("decode run: %w", err)
	}
	switch {
	case d.Schema != documentSchema:
		return nil, fmt.Errorf("decode run: schema is %q, not %q", d.Schema, documentSchema)
	case d.Run == nil || !usableID.MatchString(d.Run.ID):
		return nil, errors.New("decode run: it is not the run of this folder")
	}
	d.Run.Config = d.Config
	return d.Run, nil
}

// makeDir durably creates a folder that only its owner can read. Its parent must
// exist.
func makeDir(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}
