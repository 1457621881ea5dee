package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// containers lists the extensions of files with records; of a repository with several,
// the first is read.
func containers() []string {
	return []string{".parquet", ".arrow", ".jsonl", ".ndjson", ".json", ".csv", ".tsv"}
}

// splits lists the names of splits as words of paths, each with the name that it stands
// for.
func splits() map[string]string {
	return map[string]string{
		"train": "train", "training": "train", "test": "test", "testing": "test", "eval": "test", "evaluation": "test",
		"validation": "validation", "valid": "validation", "val": "validation", "dev": "validation",
	}
}

var (
	words  = regexp.MustCompile(`[A-Za-z]+`)
	shards = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})`)
)

// choose returns the files of a subset and a split of a repository: files with records
// whose path has the name of the subset as a folder or as the beginning of the file's
// name, and that of the split as a word.
func choose(files []string, subset, split string) ([]string, error) {
	files = readable(files)
	if len(files) == 0 {
		return nil, fmt.Errorf("no file has one of the extensions %s", strings.Join(containers(), ", "))
	}
	if subset != "" {
		of := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !inSubset(f, subset) })
		if len(of) == 0 {
			return nil, fmt.Errorf("no subset %q; there are %s", subset, list(subsets(files)))
		}
		files = of
	}
	files, err := ofSplit(files, split)
	if err != nil {
		return nil, err
	}
	if s := subsets(files); subset == "" && len(s) > 1 {
		return nil, fmt.Errorf("several subsets: name one with --hf-subset: %s", list(s))
	}
	if err := whole(files); err != nil {
		return files, err
	}
	return files, nil
}

// readable returns the files with records in the container that is preferred, sorted.
func readable(files []string) []string {
	about := []string{"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json", "metadata.json", "config.json"}
	for _, extension := range containers() {
		var of []string
		for _, f := range files {
			name := path.Base(f)
			for _, packed := range []string{".gz", ".zst"} {
				name = strings.TrimSuffix(name, packed)
			}
			if path.Ext(name) == extension && !slices.Contains(about, name) && !strings.HasPrefix(f, ".") {
				of = append(of, f)
			}
		}
		if len(of) > 0 {
			slices.Sort(of)
			return of
		}
	}
	return nil
}

func inSubset(file, subset string) bool {
	parts := strings.Split(file, "/")
	rest, ok := strings.CutPrefix(parts[len(parts)-1], subset)
	return slices.Contains(parts[:len(parts)-1], subset) || ok && strings.ContainsAny(rest[:min(1, len(rest))], "-_.")
}

// subsets returns the folders at the top that have files of their own; a folder that
// is a split or has a general name is none.
func subsets(files []string) []string {
	names := map[string]bool{}
	for _, f := range files {
		top, _, ok := strings.Cut(f, "/")
		if ok && top != "data" && top != "raw" && splits()[strings.ToLower(top)] == "" {
			names[top] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// ofSplit returns the files of a split. If no path names a split, all belong to it.
func ofSplit(files []string, split string) ([]string, error) {
	if !utf8.ValidString(split) {
		return nil, fmt.Errorf("the split %q is not valid UTF-8", split)
	}
	known := splits()[strings.ToLower(split)]
	own := regexp.MustCompile(`(^|[^A-Za-z0-9])` + regexp.QuoteMeta(split) + `($|[^A-Za-z0-9])`)
	found := map[string]bool{}
	var of []string
	for _, f := range files {
		named := ""
		for _, word := range words.FindAllString(strings.ToLower(f), -1) {
			named = cmp.Or(splits()[word], named) // in a path, the last one
		}
		if own.MatchString(f) || known != "" && named == known {
			of, named = append(of, f), split
		}
		if named != "" {
			found[named] = true
		}
	}
	switch {
	case len(found) == 0:
		return files, nil
	case len(of) == 0:
		return nil, fmt.Errorf("no split %q; there are %s", split, list(slices.Sorted(maps.Keys(found))))
	}
	return of, nil
}

// errIncomplete means that some files are missing.
var errIncomplete = errors.New("the copy is incomplete")

// whole checks that of files with names like train-00000-of-00005 all are there.
func whole(files []string) error {
	have, want := map[string]int{}, map[string]int{}
	for _, f := range files {
		if m := shards.FindStringSubmatch(f); m != nil {
			n, err := strconv.Atoi(m[3])
			if err != nil {
				return err
			}
			have[m[1]]++
			want[m[1]] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] != want[name] {
			return fmt.Errorf("%w: %d of %d files %s-…", errIncomplete, have[name], want[name], name)
		}
	}
	return nil
}

// list joins names for a message.
func list(names []string) string {
	const most = 30
	if len(names) == 0 {
		return "none with a folder of its own"
	}
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}
