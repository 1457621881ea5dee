package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	check := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("content = %q, %v, want %q", got, err, want)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("files = %v, %v, want one", all, err)
		}
	}
	for _, text := range []string{"first", "2"} {
		if err := WriteFile(path, Private, []byte(text)); err != nil {
			t.Fatal(err)
		}
		check(text)
	}
	stop := errors.New("stop")
	if err := Write(path, Private, func(w io.Writer) error {
		_, err := w.Write([]byte("half"))
		return errors.Join(err, stop)
	}); !errors.Is(err, stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
	check("2")
}

func TestRemoveLeftovers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".x.json.123.tmp", ".y.json.123.tmp", "x.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	RemoveLeftovers(filepath.Join(dir, "x.json"))
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 2 || all[0].Name() != ".y.json.123.tmp" {
		t.Errorf("left: %v, %v; want the other file and its leftover", all, err)
	}
}

// Others than who ran the command can read the results, if the umask says so.
func TestModeFollowsTheUmask(t *testing.T) {
	dir := t.TempDir()
	if err := Replace(filepath.Join(dir, "result"), Shared, func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	plain, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	plain.Close()
	want, err := os.Stat(plain.Name())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.Stat(filepath.Join(dir, "result"))
	if err != nil || got.Mode() != want.Mode() {
		t.Errorf("mode %v (%v), want that of any new file, %v", got.Mode(), err, want.Mode())
	}
}

func TestCreate(t *testing.T) {
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), Private); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]func(from, to string) error{"symbolic": os.Symlink, "hard": os.Link} {
		path := filepath.Join(dir, name)
		if err := link(victim, path); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			f, err := Create(path, Private)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.WriteString(f, "new")
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		for path, want := range map[string]string{victim: "precious", path: "new"} {
			if got, err := os.ReadFile(path); err != nil || string(got) != want {
				t.Errorf("%s link: %s has %q, %v, want %q", name, filepath.Base(path), got, err, want)
			}
		}
	}
}

func TestMkdirAll(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for file, accepted := range map[string]bool{"x": true, "a/b/x": true, "link/a/x": false, "../a/x": false} {
		if err := MkdirAll(dir, file); (err == nil) != accepted {
			t.Errorf("MkdirAll(%s): %v", file, err)
		}
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("folders elsewhere: %v, %v", left, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "a", "b")); err != nil || !info.IsDir() {
		t.Errorf("no folder: %v", err)
	}
}
