package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/suggest"
)

// The bounds of a file of flags.
const (
	maxFlagFile   = 1 << 20 // bytes
	maxFlagValues = 10_000
)

// flagsFromFile sets every flag that is not set yet from a YAML file, whose keys are the
// names of the flags, and returns all problems. An underscore counts as a dash. Flags of the
// list except are not accepted. An empty path means no file.
func flagsFromFile(fs *pflag.FlagSet, path string, except ...string) error {
	if path == "" {
		return nil
	}
	root, duplicates, err := readFlagFile(path)
	if err != nil {
		return err
	}
	var errs []error
	wrong := func(line int, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %s", path, line, fmt.Sprintf(format, args...)))
	}
	for _, d := range duplicates {
		wrong(d.Line, "%s is also in line %d", d.Name, d.First)
	}
	var known []string
	fs.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "help" && !slices.Contains(except, flag.Name) {
			known = append(known, flag.Name)
		}
	})
	switch root.Shape {
	case tree.Object:
		for _, m := range root.Members {
			name := strings.ReplaceAll(m.Name, "_", "-")
			if !slices.Contains(known, name) {
				wrong(m.Line, "unknown key %q%s", m.Name, suggest.DidYouMean(m.Name, known))
			} else if flag := fs.Lookup(name); !flag.Changed {
				if err := setFlag(fs, flag, m.Value); err != nil {
					wrong(m.Line, "%s: %v", m.Name, err)
				}
			}
		}
	case tree.Null, tree.Boolean, tree.Number, tree.Text, tree.List:
		wrong(max(1, root.Line), "must have lines such as api-port: 9097, not %s", root.Shape)
	}
	return errors.Join(errs...)
}

// readFlagFile parses a file of flags.
func readFlagFile(path string) (*tree.Node, []tree.Duplicate, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--config: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFlagFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("--config: %w", err)
	}
	if len(data) > maxFlagFile {
		return nil, nil, fmt.Errorf("%s: must have at most %d bytes", path, maxFlagFile)
	}
	if blank(data) {
		return tree.ObjectNode(), nil, nil
	}
	root, duplicates, err := tree.Parse(data, tree.YAML, maxFlagValues)
	if malformed, ok := errors.AsType[*tree.Malformed](err); ok {
		return nil, nil, fmt.Errorf("%s:%d: %s", path, max(1, malformed.Line), malformed.Detail)
	}
	return root, duplicates, err
}

// blank reports whether a file has nothing but comments.
func blank(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// setFlag sets a flag to the value of a node.
func setFlag(fs *pflag.FlagSet, flag *pflag.Flag, n *tree.Node) error {
	list, isList := flag.Value.(pflag.SliceValue)
	isRules := flag.Value.Type() == ruleType
	items := []*tree.Node{n}
	if n.Shape == tree.List {
		if !isList && !isRules {
			return errors.New("must be one value, not a list")
		}
		items = n.Items
	}
	texts := make([]string, len(items))
	for i, item := range items {
		switch item.Shape {
		case tree.Null:
			return errors.New("has no value")
		case tree.List, tree.Object:
			return fmt.Errorf("must be a value, not %s", item.Shape)
		case tree.Boolean, tree.Number, tree.Text:
			texts[i] = item.Scalar
		}
	}
	switch {
	case isList:
		flag.Changed = true
		return list.Replace(texts) // Set would split them at commas
	case isRules:
		for _, text := range texts {
			if err := flag.Value.Set(text); err != nil {
				return err
			}
		}
		flag.Changed = true
		return nil
	}
	err := fs.Set(flag.Name, texts[0])
	if err != nil {
		err = errors.Join(wrongValue(flag, texts[0], err), flag.Value.Set(flag.DefValue)) // Set has changed it
	}
	return err
}

// wrongValue returns an error that says what a flag accepts.
func wrongValue(flag *pflag.Flag, text string, err error) error {
	accepted := map[string]string{
		"bool": "true or false", "int": "a whole number", "int64": "a whole number", "float64": "a number",
		"duration": "a duration, such as 30s or 24h",
	}[flag.Value.Type()]
	if accepted != "" {
		return fmt.Errorf("%q must be %s", text, accepted)
	}
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	return fmt.Errorf("%q: %w", text, err)
}
