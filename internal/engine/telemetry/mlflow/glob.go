package mlflow

import (
	"io/fs"
	"os"
	"path"
	"strings"
)

// DefaultGlobs returns the files that are uploaded if nobody chooses: AIPerf's.
func DefaultGlobs() []string {
	return []string{
		"*.json", "*.csv", "*.jsonl", "*.parquet", "*_timeslices.*",
		"**/*.png", "**/*.jpg", "**/*.jpeg", "**/*.svg", "**/*.html",
	}
}

// match returns the regular files below a folder that a pattern selects, in the order of their names. A part **
// stands for any folders. Names that begin with a dot are selected only by a part that does.
func match(root *os.Root, glob string) (files []string, err error) {
	parts := strings.Split(glob, "/")
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Type().IsRegular() && matches(parts, strings.Split(name, "/")):
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// matches reports whether the parts of a pattern select those of a name.
func matches(glob, name []string) bool {
	switch {
	case len(glob) == 0:
		return len(name) == 0
	case glob[0] == "**":
		return matches(glob[1:], name) || len(name) > 0 && !hidden(name[0]) && matches(glob, name[1:])
	case len(name) == 0 || hidden(name[0]) && !hidden(glob[0]):
		return false
	}
	ok, err := path.Match(glob[0], name[0])
	return err == nil && ok && matches(glob[1:], name[1:])
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
