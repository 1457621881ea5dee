package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/export"
	"aiperfd/internal/engine/regular"
	"aiperfd/internal/store"
	"aiperfd/internal/store/archive"
)

// errGone reports a run without a folder.
var errGone = errors.New("it has no folder, or was deleted just now")

// addRun adds the files of a run, and returns what it left out. The error is errGone,
// before anything was added, if the run has no folder or nothing that describes it.
func addRun(w *archive.Writer, row *store.Row, dir string) (skipped []string, err error) {
	f, err := openFolder(filepath.Join(dir, archive.Runs, row.ID))
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", row.ID, err)
	}
	defer f.close()
	// The run itself is that of the index: the copy in the folder may be newer.
	text, err := row.Document()
	if err != nil {
		if text, err = regular.Read(filepath.Join(dir, archive.Runs, row.ID, store.CopyFile)); err != nil {
			return nil, fmt.Errorf("run %s: its row and its copy are damaged: %w", row.ID, errors.Join(errGone, err))
		}
	}
	prefix := archive.Runs + "/" + row.ID + "/"
	for _, file := range f.files {
		if !row.State.Terminal() && (file.name == export.ReadyMarker || file.name == export.ProcessingMarker) {
			continue // the index says that the run goes on
		}
		if err := add(w, file.File, prefix+file.name); err != nil {
			return nil, err
		}
	}
	for _, name := range f.skipped {
		skipped = append(skipped, prefix+name)
	}
	return skipped, w.AddBytes(prefix+store.CopyFile, time.Now().UTC(), text)
}

// folder is the folder of a run with all its files open.
type folder struct {
	files   []file
	skipped []string
}

type file struct {
	name string
	*os.File
}

// openFolder opens all files of a folder, so that they can be read to their ends even if
// the run is deleted meanwhile. The error is errGone if it was deleted before that.
func openFolder(dir string) (_ *folder, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f := new(folder)
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	err = fs.WalkDir(root.FS(), ".", f.open(root))
	// A deletion renames the folder before it removes files: if the folder is still in its
	// place, the list is complete.
	before, failure := root.Stat(".")
	if after, gone := os.Stat(dir); failure != nil || gone != nil || !os.SameFile(before, after) {
		return nil, errors.Join(errGone, failure)
	}
	return f, err
}

// open returns a function that opens the files which belong into an archive.
func (f *folder) open(root *os.Root) fs.WalkDirFunc {
	return func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != ".":
			return nil // a temporary file, or the folder is gone
		case err != nil || d.IsDir():
			return err
		case name == store.CopyFile:
			return nil // see addRun
		case durable.IsTemporary(base) || strings.HasPrefix(base, ".values-"):
			return nil // being written, or left by a process that was killed
		case !d.Type().IsRegular():
			f.skipped = append(f.skipped, name+": it is not a regular file")
			return nil
		}
		in, err := regular.OpenIn(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // as above
		}
		if err == nil {
			f.files = append(f.files, file{name, in})
		}
		return err
	}
}

func (f *folder) close() {
	for _, file := range f.files {
		file.Close() // they were only read
	}
}

// add adds an open file as long as it is now.
func add(w *archive.Writer, in *os.File, name string) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return w.Add(archive.File{Name: name, Size: info.Size(), Mode: info.Mode(), Modified: info.ModTime()}, in)
}

// addIndex adds the copy of the index.
func addIndex(w *archive.Writer, path string) error {
	if err := os.Chmod(path, 0o600); err != nil { // SQLite has made it with the umask
		return err
	}
	in, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	return add(w, in, archive.Database)
}
