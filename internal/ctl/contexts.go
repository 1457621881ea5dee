package ctl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"aiperfd/internal/engine/durable"
	"aiperfd/internal/engine/suggest"
)

// Context is a daemon with a name. At most one of the tokens is set; tokens themselves
// are not stored.
type Context struct {
	Server       string `yaml:"server"`
	TokenFile    string `yaml:"tokenFile,omitempty"`
	TokenEnv     string `yaml:"tokenEnv,omitempty"`
	TokenCommand string `yaml:"tokenCommand,omitempty"` // run by sh
	CAFile       string `yaml:"caFile,omitempty"`
}

// token describes where the token comes from.
func (c Context) token() string {
	switch {
	case c.TokenFile != "":
		return "file " + c.TokenFile
	case c.TokenEnv != "":
		return "variable " + c.TokenEnv
	case c.TokenCommand != "":
		return "command"
	}
	return "none"
}

// contextFile is the file of contexts.
type contextFile struct {
	Current  string             `yaml:"current,omitempty"`
	Contexts map[string]Context `yaml:"contexts"`
}

// contextsPath returns the path of the file.
func contextsPath() (string, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the specification ignores relative paths
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the file of contexts: %w", err)
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "aiperfd", "contexts.yaml"), nil
}

// maxContexts is the size of the largest file of contexts.
const maxContexts = 1 << 20

var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// readContexts reads the file of contexts. One that does not exist is empty.
func readContexts() (*contextFile, error) {
	out := &contextFile{Contexts: map[string]Context{}}
	path, err := contextsPath()
	if err != nil {
		return out, nil //nolint:nilerr // without a home, there are no contexts
	}
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return out, nil
	case err != nil:
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s: other users can write it, and it can name commands; run chmod 600", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxContexts+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxContexts:
		return nil, fmt.Errorf("%s: has more than %d bytes", path, maxContexts)
	}
	if err := yaml.UnmarshalWithOptions(data, out, yaml.Strict()); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s", path, yaml.FormatError(err, false, false))
	}
	if out.Contexts == nil {
		out.Contexts = map[string]Context{}
	}
	return out, nil
}

// save writes the file, readable by the user only.
func (f *contextFile) save() error {
	path, err := contextsPath()
	if err != nil {
		return err
	}
	data, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, durable.Private, data)
}

// names returns the names of the contexts, ordered.
func (f *contextFile) names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }

// unknown is the error of a name that no context has.
func (f *contextFile) unknown(name string) error {
	names := f.names()
	if len(names) == 0 {
		return fmt.Errorf("no context %q: there are none; aiperfd ctl context set makes one", name)
	}
	return fmt.Errorf("no context %q%s (contexts: %s)", name, suggest.DidYouMean(name, names), strings.Join(names, ", "))
}
