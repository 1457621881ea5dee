package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"aiperfd/internal/engine/allow"
)

// variablePrefix begins the names of environment variables that are secrets.
const variablePrefix = "AIPERFD_SECRET_"

// hostsSuffix ends the name of the file with the hosts of a secret.
const hostsSuffix = ".hosts"

// maxSecret is the most bytes of a secret's file.
const maxSecret = 64 << 10

// Folder is a directory whose files are secrets, by their names. Its methods are safe for
// concurrent use.
type Folder struct{ root *os.Root }

// OpenFolder opens a directory, which stays open. An empty name gives nil. It checks that no
// other user can read the files in it, or change the directory: links may lead to other
// files in it only, as in a volume of Kubernetes.
func OpenFolder(dir string) (*Folder, error) {
	if dir == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{root}
	if err := f.check(dir); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// check reports all files of the directory with a wrong mode.
func (f *Folder) check(dir string) error {
	info, err := f.root.Stat(".")
	if err != nil {
		return err
	}
	var problems []error
	if mode := info.Mode().Perm(); mode&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		problems = append(problems, fmt.Errorf("%s has mode %#o: other users can change it", dir, mode))
	}
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := f.root.Stat(e.Name())
		if err == nil && info.Mode().IsRegular() {
			err = checkMode(info)
		}
		if name, ok := strings.CutSuffix(e.Name(), hostsSuffix); ok && err == nil {
			_, _, err = f.hosts(name)
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// checkMode refuses a file that others than its owner and its group can read, or that
// others than its owner can change.
func checkMode(info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o027 != 0 {
		return fmt.Errorf("%s has mode %#o: other users can read or change it; at most 0640 is accepted", info.Name(), mode)
	}
	return nil
}

// Get returns the content of a file, without blanks around it. The file is read each
// time, so that a secret can be replaced.
func (f *Folder) Get(name string) (string, bool) {
	if strings.HasSuffix(name, hostsSuffix) {
		return "", false
	}
	text, err := f.read(name)
	return text, err == nil && text != ""
}

// read reads a file. The error is fs.ErrNotExist if there is none.
func (f *Folder) read(name string) (string, error) {
	if f == nil || !validName(name) {
		return "", fs.ErrNotExist
	}
	file, err := f.root.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err == nil {
		err = checkMode(info)
	}
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err == nil && len(data) > maxSecret {
		err = errTooLong
	}
	return strings.TrimSpace(string(data)), err
}

// The errors of files that cannot be secrets.
var (
	errNotRegular = errors.New("not a regular file")
	errTooLong    = errors.New("longer than 64 KiB")
)

// Hosts returns the hosts to which a secret is bound: the patterns in the file NAME.hosts, one per
// line. bound is false if there is no such file. A file that cannot be read binds the
// secret to no host.
func (f *Folder) Hosts(name string) (hosts allow.Patterns, bound bool) {
	hosts, bound, err := f.hosts(name)
	if err != nil {
		return nil, true
	}
	return hosts, bound
}

// hosts is [Folder.Hosts] with the reason.
func (f *Folder) hosts(name string) (hosts allow.Patterns, bound bool, err error) {
	text, err := f.read(name + hostsSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return f.hostsOfVariable(name)
	}
	var lines []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if err == nil {
		hosts, err = allow.ParseAll(lines)
	}
	if err != nil {
		err = fmt.Errorf("%s%s: %w", name, hostsSuffix, err)
	}
	return hosts, true, err
}

// hostsOfVariable returns the hosts of a secret from the environment, of which a document
// can choose the spelling.
func (f *Folder) hostsOfVariable(name string) (hosts allow.Patterns, bound bool, err error) {
	if _, ok := f.Get(name); ok || f == nil {
		return nil, false, nil // it is a file, or there is no folder
	}
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, true, err
	}
	var found []string
	for _, e := range entries {
		if other, ok := strings.CutSuffix(e.Name(), hostsSuffix); ok && variable(other) == variable(name) {
			found = append(found, other)
		}
	}
	switch len(found) {
	case 0:
		return nil, false, nil
	case 1:
		return f.hosts(found[0])
	}
	return nil, true, fmt.Errorf("%s: %s%s and %s%s are about the same variable", name, found[0], hostsSuffix, found[1], hostsSuffix)
}

// Lookup finds secrets in a folder, which may be nil, and in the environment as
// AIPERFD_SECRET_NAME.
func Lookup(f *Folder, env func(string) (string, bool)) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		if text, ok := f.Get(name); ok {
			return text, true
		}
		if env == nil || !validName(name) {
			return "", false
		}
		text, ok := env(variablePrefix + variable(name))
		return text, ok && text != ""
	}
}

// variable returns the name of a secret as the environment has it: names that differ in
// case, or in "-", "_" and ".", are the same there.
func variable(name string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// validName reports whether name can be that of a secret.
func validName(name string) bool {
	for _, c := range name {
		if c != '-' && c != '_' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != "" && len(name) <= 128 && name[0] != '.'
}
