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

func TestHosts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "key", "sk-1", 0o600)
	write(t, dir, "key.hosts", "# of the lab\napi.example.com:443\n*.lab # all\n\n10.0.0.0/8", 0o600)
	write(t, dir, "none.hosts", "# nowhere", 0o600)
	write(t, dir, "my-x.hosts", "gw.lab", 0o600)
	write(t, dir, "my_x.hosts", "gw.lab", 0o600)
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "late.hosts", "a b", 0o600)
	write(t, dir, "open.hosts", "api.example.com", 0o644)
	for _, c := range []struct {
		name, host  string
		port        uint16
		bound, want bool
	}{
		{"key", "api.example.com", 443, true, true}, {"key", "api.example.com", 80, true, false}, {"key", "GW.lab.", 1, true, true},
		{"key", "10.1.2.3", 80, true, true}, {"key", "evil.example", 443, true, false}, {"none", "gw.lab", 80, true, false},
		{"late", "a", 80, true, false}, {"open", "api.example.com", 443, true, false}, {"other", "gw.lab", 80, false, false}, {"../key", "gw.lab", 80, false, false},
		{"KEY", "GW.lab.", 1, true, true}, {"KEY", "evil.example", 443, true, false}, {"MY.X", "gw.lab", 80, true, false},
	} {
		hosts, bound := f.Hosts(c.name)
		if got := hosts.Host(c.host, c.port); bound != c.bound || got != c.want {
			t.Errorf("Hosts(%s): bound %v, %s:%d %v; want %v, %v", c.name, bound, c.host, c.port, got, c.bound, c.want)
		}
	}
	if _, ok := f.Get("key.hosts"); ok {
		t.Error("a file of hosts is a secret")
	}
	if _, err := OpenFolder(dir); err == nil || !strings.Contains(err.Error(), `late.hosts: "a b": `) || !strings.Contains(err.Error(), "open.hosts has mode") {
		t.Errorf("OpenFolder: %v, want both wrong files of hosts", err)
	}
	if _, bound := (*Folder)(nil).Hosts("key"); bound {
		t.Error("nothing binds a secret")
	}
}
