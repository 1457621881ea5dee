package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestLookup(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, dir, "key", " sk-1\n", 0o600)
	write(t, dir, "both", "file", 0o640)
	write(t, dir, "empty", "\n", 0o600)
	write(t, outside, "elsewhere", "no", 0o600)
	for name, to := range map[string]string{"link": "key", "away": filepath.Join(outside, "elsewhere")} {
		if name == "away" {
			continue // refused when the folder is opened, see below
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "late", "x", 0o644)
	env := map[string]string{"AIPERFD_SECRET_BOTH": "env", "AIPERFD_SECRET_MY_KEY": "env", "AIPERFD_SECRET_": "no"}
	lookup := Lookup(f, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	for name, want := range map[string]string{
		"key": "sk-1", "both": "file", "link": "sk-1", "my-key": "env", "my.key": "env",
		"empty": "", "none": "", "": "", ".": "", "..": "", "../key": "", "a/b": "", ".key": "", "late": "",
	} {
		if got, ok := lookup(name); got != want || ok != (want != "") {
			t.Errorf("lookup(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
	if _, ok := Lookup(nil, nil)("key"); ok {
		t.Error("found a secret in nothing")
	}
}

func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good", "x", 0o400)
	write(t, dir, "open", "x", 0o644)
	write(t, dir, "shared", "x", 0o660)
	write(t, dir, ".hidden", "x", 0o644)
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	_, err := OpenFolder(dir)
	for _, want := range []string{"open has mode 0644", "shared has mode 0660", "away"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("OpenFolder: %v, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "good") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("OpenFolder: %v", err)
	}
	if _, err := OpenFolder(filepath.Join(dir, "none")); err == nil {
		t.Error("opened a folder that does not exist")
	}
	if f, err := OpenFolder(""); f != nil || err != nil {
		t.Errorf("no folder: %v, %v", f, err)
	}
}
