//go:build unix

package regular_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"aiperfd/internal/engine/regular"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		os.WriteFile(filepath.Join(dir, "folder", "file"), []byte("content"), 0o600),
		os.Symlink("folder/file", filepath.Join(dir, "link")),
		os.Symlink("folder", filepath.Join(dir, "way")),
		os.Symlink("/dev/zero", filepath.Join(dir, "device")),
		syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if data, err := regular.ReadIn(root, "folder/file"); err != nil || string(data) != "content" {
		t.Errorf("file: %q, %v", data, err)
	}
	if data, err := regular.Read(filepath.Join(dir, "way", "file")); err != nil || string(data) != "content" {
		t.Errorf("file of a path through a link: %q, %v", data, err)
	}
	for _, name := range []string{"folder", "link", "way/file", "device", "fifo"} {
		var refused *regular.Error
		if _, err := regular.ReadIn(root, name); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a *regular.Error", name, err)
		}
	}
	for name, want := range map[string]error{"none": fs.ErrNotExist, "../x": fs.ErrInvalid, "/etc/passwd": fs.ErrInvalid, "": fs.ErrInvalid} {
		if _, err := regular.ReadIn(root, name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
