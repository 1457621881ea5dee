package access

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"aiperfd/internal/engine/redact"
)

const sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" // of "test"

func TestParseTokens(t *testing.T) {
	other := strings.Repeat("0", 64)
	tests := []struct {
		name, text, want, err string
	}{
		{"none", "", "", ""},
		{"comments", "# a\n\n  # b\r\n", "", ""},
		{"one", "ci:submit:" + sum, "ci:submit:" + sum, ""},
		{"blanks, lines of Windows and capitals", " ci : read , submit : " + strings.ToUpper(sum) + "\r\n", "ci:submit:" + sum, ""},
		{"two", "ci:submit:" + sum + "\nroot:admin:" + other + "\n", "ci:submit:" + sum + " root:admin:" + other, ""},
		{"all problems", "ci\nc i:read:" + sum + "\nci:write:" + sum + "\nci:read:abc\n", "",
			"line 1: must be name:scopes:sha256hex\nline 2: the name must have 1 to 64 letters, digits, dots, hyphens or underscores\n" +
				"line 3: the scopes must be a comma-separated list of read, submit and admin, or worker, or worker,max=N\nline 4: the last part must be the SHA-256 of the token in 64 hex digits"},
		{"no scope", "ci::" + sum, "", "line 1: the scopes"},
		{"open is no scope of a token", "ci:open:" + sum, "", "line 1: the scopes"},
		{"a worker", "eu: worker :" + sum, "eu:worker:" + sum, ""},
		{"a worker, explicitly one", "eu:worker,max=1:" + sum, "eu:worker:" + sum, ""},
		{"a fleet", "eu:worker , max=40:" + sum, "eu:worker,max=40:" + sum, ""},
		{"no workers", "eu:worker,max=0:" + sum, "", "line 1: the scope worker may be followed by max=N with N from 1 to 10000"},
		{"too many workers", "eu:worker,max=10001:" + sum, "", "line 1: the scope worker may be"},
		{"a worker who submits", "eu:worker,submit:" + sum, "", "line 1: the scope worker may be"},
		{"a worker who submits, the other way", "eu:submit,worker:" + sum, "", "line 1: the scopes must be"},
		{"a maximum without workers", "eu:read,max=2:" + sum, "", "line 1: the scopes must be"},
		{"same name", "ci:read:" + sum + "\nci:admin:" + other, "", "line 2: the name ci is that of line 1"},
		{"same token", "a:read:" + sum + "\nb:admin:" + sum, "", "line 2: the token is that of line 1"},
		{"token instead of its hash", "ci:read:" + TokenPrefix + "QAIFD24HVN676RQZYWYDMYITR6", "", "line 1: the last part"},
		{"too many", manyTokens(maxTokens + 1), "", "the file has 1001 tokens; at most 1000 are accepted"},
	}
	for _, tt := range tests {
		ts, err := parseTokens([]byte(tt.text))
		var got []string
		for _, one := range ts {
			got = append(got, one.String())
		}
		switch {
		case tt.err == "" && err != nil, tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)):
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
		case tt.err == "" && strings.Join(got, " ") != tt.want:
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func manyTokens(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(Token{Name: strconv.Itoa(i), Scope: Read, sum: digestOf(strconv.Itoa(i))}.String() + "\n")
	}
	return b.String()
}

// A token is found by its text alone, wherever it stands.
func TestFind(t *testing.T) {
	var ts tokens
	texts := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		token, text, err := NewToken(name, Read)
		if err != nil {
			t.Fatal(err)
		}
		ts = append(ts, token)
		texts[name] = text
	}
	for name, text := range texts {
		if got, ok := ts.find(text); !ok || got.Name != name {
			t.Errorf("find(%s) = %v, %v", name, got, ok)
		}
	}
	for _, text := range []string{"", "x", texts["a"] + " ", texts["a"][1:]} {
		if got, ok := ts.find(text); ok {
			t.Errorf("find(%q) = %v", text, got)
		}
	}
	if _, ok := tokens(nil).find(""); ok {
		t.Error("nobody was found")
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	add := func(name string) error {
		token, _, err := NewToken(name, Submit)
		if err != nil {
			return err
		}
		return AddToken(path, token)
	}
	names := func() string {
		ts, err := ReadTokens(path)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, one := range ts {
			out = append(out, one.Name)
		}
		return strings.Join(out, " ")
	}
	if err := add("ci"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o022 != 0 {
		t.Errorf("mode of a new file: %v, %v", info.Mode(), err)
	}
	// A comment, no line break at the end, another mode, behind a link.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte("# ours\n"), text[:len(text)-1]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	path = link
	if err := add("root"); err != nil {
		t.Fatal(err)
	}
	if got := names(); got != "ci root" {
		t.Errorf("tokens = %q", got)
	}
	if err := add("ci"); err == nil || !strings.Contains(err.Error(), "already a token with the name ci") {
		t.Errorf("a second ci: %v", err)
	}
	if err := RemoveToken(path, "nobody"); err == nil || !strings.Contains(err.Error(), `no token with the name "nobody"`) {
		t.Errorf("remove nobody: %v", err)
	}
	if err := RemoveToken(path, "ci"); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(kept), "# ours\nroot:submit:") {
		t.Errorf("file = %q, %v", kept, err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(link); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v, %v, want 0640", info.Mode(), err)
	}
	// What all users can write is refused, and so is what is no file.
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTokens(path); err == nil || !strings.Contains(err.Error(), "all users can write it (mode 0666)") {
		t.Errorf("mode 0666: %v", err)
	}
	if _, err := ReadTokens(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

func TestNewToken(t *testing.T) {
	for _, name := range []string{"", "a b", "a:b", "ü", strings.Repeat("a", 65), "a\n"} {
		if _, _, err := NewToken(name, Read); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
	token, text, err := NewToken("ci", Submit)
	if err != nil || strings.Contains(token.String(), text) {
		t.Fatalf("token %s, %v", token, err)
	}
	// No output may show it, whatever stands around it.
	for _, around := range []string{text, "x " + text + ".", `{"a":"` + text + `"}`, "curl?x=" + text + "&y"} {
		if got := redact.Text(around); strings.Contains(got, text) {
			t.Errorf("redact.Text shows %s", got)
		}
	}
}

// FuzzParseTokens: what is accepted is written as it is read.
func FuzzParseTokens(f *testing.F) {
	f.Add("ci:submit:" + sum + "\n# x\nroot: read,admin :" + strings.Repeat("a", 64))
	f.Add("a:b:c:d\n\x00:::\n")
	f.Fuzz(func(t *testing.T, text string) {
		ts, err := parseTokens([]byte(text))
		if err != nil {
			return
		}
		var lines []string
		for _, one := range ts {
			if one.Scope < Worker || one.Scope > Admin || !tokenName.MatchString(one.Name) {
				t.Fatalf("token %s", one)
			}
			lines = append(lines, one.String())
		}
		again, err := parseTokens([]byte(strings.Join(lines, "\n")))
		if err != nil || len(again) != len(ts) {
			t.Fatalf("read again: %v, %v", again, err)
		}
	})
}
