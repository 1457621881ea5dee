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

// CopyFile is the copy of a run in its folder. Its name starts with a dot, because
// it is not an artifact.
const CopyFile = ".run.json"

// document is the content of [CopyFile], with a run or its JSON.
type document[R any] struct {
	Schema string          `json:"schema"` // always documentSchema
	Run    R               `json:"run"`
	Config json.RawMessage `json:"config,omitempty"`
}

// encode returns the text of a copy.
func encode[R any](r R, config json.RawMessage) ([]byte, error) {
	data, err := plainjson.Marshal(document[R]{documentSchema, r, config})
	if err != nil {
		return nil, fmt.Errorf("encode run: %w", err)
	}
	return append(data, '\n'), nil
}

const documentSchema = "aiperfd-run/1"

// idPattern matches the ids of runs, which are names of folders.
var idPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)

// UsableID reports whether a text can be the id of a run.
func UsableID(id string) bool { return idPattern.MatchString(id) }

// writeRun writes the copy of a run.
func writeRun(dir string, r *run.Run, mode fs.FileMode) error {
	data, err := encode(r, r.Config)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, CopyFile), mode, data)
}

// WriteCopy durably writes the copy of a run into a folder that is prepared for [Adopt].
func WriteCopy(dir string, r *run.Run) error { return writeRun(dir, r, durable.Private) }

// ReadFolder reads the copy of a run from its folder, whose name must be the run's id. A
// folder without one is fs.ErrNotExist.
func ReadFolder(dir string) (*run.Run, error) {
	r, err := ReadCopy(dir)
	if err == nil && r.ID != filepath.Base(dir) {
		return nil, errors.New("decode run: it is not the run of this folder")
	}
	return r, err
}

// ReadCopy reads the copy of a run from a folder of any name. Without one, the error is
// fs.ErrNotExist.
func ReadCopy(dir string) (*run.Run, error) {
	data, err := regular.Read(filepath.Join(dir, CopyFile))
	if err != nil {
		return nil, err
	}
	var d document[*run.Run]
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("decode run: %w", err)
	}
	switch {
	case d.Schema != documentSchema:
		return nil, fmt.Errorf("decode run: schema is %q, not %q", d.Schema, documentSchema)
	case d.Run == nil || !UsableID(d.Run.ID):
		return nil, errors.New("decode run: it is not the run of this folder")
	}
	d.Run.Config = d.Config
	return d.Run, nil
}

// walkCopies reads the copies of runs in a folder and below it; visit gets the folder of
// each. One that cannot be read, it gets with the error instead of the run.
func walkCopies(root string, visit func(dir string, r *run.Run, err error)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != root {
			return nil // a daemon has just deleted it
		}
		if err != nil || d.Name() != CopyFile {
			return err
		}
		r, err := ReadCopy(filepath.Dir(path))
		visit(filepath.Dir(path), r, err)
		return nil
	})
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
