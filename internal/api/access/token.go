package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"aiperfd/internal/engine/durable"
)

// MaxWorkers is how many workers may be connected with one token at most.
const MaxWorkers = 10_000

// TokenPrefix is the start of every generated token, so that package redact
// recognizes them.
const TokenPrefix = "aiperfd_"

// digest is the SHA-256 of a token or a session id.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// Token is a row of a token file.
type Token struct {
	Name  string
	Scope Scope
	Most  int // workers that may be connected with it at once; 0 unless Scope is Worker
	sum   digest
}

// tokens are the rows of a token file. They are immutable.
type tokens []Token

// find returns the token with a text. The time that it takes depends on the number of
// tokens and the length of the text only.
func (ts tokens) find(text string) (Token, bool) {
	sum := digestOf(text)
	found := -1
	for i := range ts {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], ts[i].sum[:]), i, found)
	}
	if found < 0 {
		return Token{}, false
	}
	return ts[found], true
}

// holder returns the token with a digest, which the server has computed.
func (ts tokens) holder(sum digest) (Token, bool) {
	for _, t := range ts {
		if t.sum == sum {
			return t, true
		}
	}
	return Token{}, false
}

// The limits of a token file.
const (
	maxTokenFile = 1 << 20 // bytes
	maxTokens    = 1000
)

var tokenName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// parseTokens reads the text of a token file and returns all of its problems. They
// name lines, not what stands there.
func parseTokens(text []byte) (tokens, error) {
	var (
		out   tokens
		errs  []error
		names = map[string]int{}
		sums  = map[digest]int{}
	)
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := parseToken(line)
		if err == nil && names[t.Name] > 0 {
			err = fmt.Errorf("the name %s is that of line %d", t.Name, names[t.Name])
		}
		if err == nil && sums[t.sum] > 0 {
			err = fmt.Errorf("the token is that of line %d", sums[t.sum])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", number, err))
			continue
		}
		names[t.Name], sums[t.sum] = number, number
		out = append(out, t)
	}
	if len(out) > maxTokens {
		errs = append(errs, fmt.Errorf("the file has %d tokens; at most %d are accepted", len(out), maxTokens))
	}
	return out, errors.Join(errs...)
}

// parseToken reads name:scopes:sha256hex.
func parseToken(line string) (Token, error) {
	parts := strings.Split(line, ":")
	if len(parts) != 3 {
		return Token{}, errors.New("must be name:scopes:sha256hex")
	}
	t := Token{Name: strings.TrimSpace(parts[0])}
	if !tokenName.MatchString(t.Name) {
		return Token{}, errors.New("the name must have 1 to 64 letters, digits, dots, hyphens or underscores")
	}
	if err := t.permit(parts[1]); err != nil {
		return Token{}, err
	}
	sum, err := hex.DecodeString(strings.TrimSpace(parts[2]))
	if err != nil || len(sum) != len(t.sum) {
		return Token{}, errors.New("the last part must be the SHA-256 of the token in 64 hex digits")
	}
	t.sum = digest(sum)
	return t, nil
}

// permit sets what the token permits: a list of scopes of the API, or worker, which may have max=N.
func (t *Token) permit(scopes string) error {
	list := strings.Split(scopes, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	if list[0] == Worker.String() {
		t.Scope, t.Most = Worker, 1
		if len(list) == 1 {
			return nil
		}
		text, ok := strings.CutPrefix(list[1], "max=")
		n, err := strconv.Atoi(text)
		if len(list) > 2 || !ok || err != nil || n < 1 || n > MaxWorkers {
			return fmt.Errorf("the scope worker may be followed by max=N with N from 1 to %d, and by nothing else", MaxWorkers)
		}
		t.Most = n
		return nil
	}
	for _, name := range list {
		s, err := ParseScope(name)
		if err != nil || s == Worker {
			return errors.New("the scopes must be a comma-separated list of read, submit and admin, or worker, or worker,max=N")
		}
		t.Scope = max(t.Scope, s)
	}
	return nil
}

// String returns the line of a token file.
func (t Token) String() string {
	scope := t.Scope.String()
	if t.Most > 1 {
		scope += fmt.Sprintf(",max=%d", t.Most)
	}
	return fmt.Sprintf("%s:%s:%s", t.Name, scope, hex.EncodeToString(t.sum[:]))
}

// NewToken makes a token with at least 128 random bits. The text is not stored
// anywhere.
func NewToken(name string, scope Scope) (t Token, text string, err error) {
	if !tokenName.MatchString(name) {
		return Token{}, "", fmt.Errorf("name %q: must have 1 to 64 letters, digits, dots, hyphens or underscores", name)
	}
	text = TokenPrefix + rand.Text()
	return Token{Name: name, Scope: scope, sum: digestOf(text)}, text, nil
}

// ReadTokens returns the tokens of a file.
func ReadTokens(path string) ([]Token, error) {
	ts, err := openTokens(path)
	return ts, err
}

// openTokens reads and parses a token file.
func openTokens(path string) (tokens, error) {
	text, err := readTokenFile(path)
	if err != nil {
		return nil, err
	}
	return parseTokenFile(path, text)
}

// readTokenFile returns the text of a token file. A file that every user can write is
// refused, because every user could add a token.
func readTokenFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read token file: %w", err)
	}
	if err := checkMode(path, info); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read token file: %w", err)
	}
	return text, nil
}

func parseTokenFile(path string, text []byte) (tokens, error) {
	ts, err := parseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	return ts, nil
}

// checkMode refuses files that are not regular, are too large, or can be written by all users.
func checkMode(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("token file %s: not a regular file", path)
	case info.Size() > maxTokenFile:
		return fmt.Errorf("token file %s: has %d bytes; at most %d are accepted", path, info.Size(), maxTokenFile)
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("token file %s: all users can write it (mode %04o); run chmod o-w on it", path, info.Mode().Perm())
	}
	return nil
}

// newTokenFile is the mode of a new token file. Only hashes are in it, and the daemon
// may be another user than the one who adds tokens.
const newTokenFile fs.FileMode = 0o644

// AddToken adds a token to a file, which is made if it does not exist. The file is
// replaced as a whole.
func AddToken(path string, t Token) error {
	ts, err := openTokens(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, other := range ts {
		if other.Name == t.Name {
			return fmt.Errorf("token file %s: there is already a token with the name %s; remove it first, or choose another name", path, t.Name)
		}
	}
	return editTokens(path, func(text string) string {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + t.String() + "\n"
	})
}

// RemoveToken removes the token with a name from a file.
func RemoveToken(path, name string) error {
	ts, err := openTokens(path)
	if err != nil {
		return err
	}
	found := false
	for _, t := range ts {
		found = found || t.Name == name
	}
	if !found {
		return fmt.Errorf("token file %s: there is no token with the name %q", path, name)
	}
	return editTokens(path, func(text string) string {
		var kept strings.Builder
		for line := range strings.Lines(text) {
			if t, err := parseToken(strings.TrimSpace(line)); err != nil || t.Name != name {
				kept.WriteString(line)
			}
		}
		return kept.String()
	})
}

// editTokens replaces the text of a token file. It follows symbolic links and keeps
// the mode.
func editTokens(path string, edit func(text string) string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := newTokenFile
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("edit token file: %w", err)
		}
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("edit token file: %w", err)
	}
	return durable.WriteFile(path, mode, []byte(edit(string(text))))
}
