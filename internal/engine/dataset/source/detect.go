package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"aiperfd/internal/engine/dataset/file"
)

// Head is the beginning of a dataset.
type Head struct {
	Container string // as [file.Reader.Container] names it
	Folder    bool   // the file is the first of a folder
	Members   map[string]json.RawMessage
}

// Table reports whether the records are rows of a table.
func (h *Head) Table() bool {
	return slices.Contains([]string{"csv", "tsv", "parquet", "arrow"}, h.Container)
}

// HasAny reports whether the first record has one of these members.
func (h *Head) HasAny(names ...string) bool { return HasAny(h.Members, names...) }

// HasAny reports whether an object has one of these members, and not null.
func HasAny(object map[string]json.RawMessage, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		v, ok := object[name]
		return ok && string(v) != "null"
	})
}

// First returns the first element of a member that is a list of objects; nil = it is
// none.
func (h *Head) First(name string) map[string]json.RawMessage {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	if json.Unmarshal(h.Members[name], &list) != nil || len(list) == 0 || json.Unmarshal(list[0], &object) != nil {
		return nil
	}
	return object
}

// Detect returns the format of a file by its first record, unless its name is given, and
// whether it is a trace whose first record has a time. A member type that is the name of
// a format decides; otherwise exactly one format must recognise the record. The error
// lists the candidates.
func Detect(ctx context.Context, f file.File, name string, formats []Format) (format string, timed bool, err error) {
	if f.IsPipe() {
		return "", false, errors.New("its format cannot be detected, since it can be read only once: set the format (--custom-dataset-type)")
	}
	h, err := readHead(ctx, f)
	if err != nil {
		return "", false, err
	}
	if name == "" {
		if name, err = h.format(formats); err != nil {
			return "", false, err
		}
	}
	for i := range formats {
		if row := &formats[i]; row.Name == name && row.Trace {
			timed = row.Timed(h)
		}
	}
	return name, timed, nil
}

// format returns the format that the first record looks like.
func (h *Head) format(formats []Format) (string, error) {
	var name string
	if json.Unmarshal(h.Members["type"], &name) == nil && slices.ContainsFunc(formats, func(f Format) bool { return f.Name == name }) {
		return name, nil
	}
	var found, all []string
	for i := range formats {
		row := &formats[i]
		if row.Detect == nil {
			continue
		}
		needs := row.Name + " (" + row.Needs + ")"
		if all = append(all, needs); row.Detect(h) {
			name = row.Name
			found = append(found, needs)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("its first record, with the members %s, looks like none of %s; set the format (--custom-dataset-type)",
			strings.Join(slices.Sorted(maps.Keys(h.Members)), ", "), strings.Join(all, ", "))
	case 1:
		return name, nil
	}
	return "", fmt.Errorf("its first record looks like several formats: %s; set the format (--custom-dataset-type)", strings.Join(found, ", "))
}

// readHead reads the first record of a file.
func readHead(ctx context.Context, f file.File) (*Head, error) {
	f.Folder, f.Key = true, "data"
	r, err := file.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	h := &Head{Folder: f.IsFolder()}
	record, err := r.Next()
	if h.Container = r.Container(); errors.Is(err, io.EOF) {
		err = errors.New("no records")
	} else if err == nil {
		if json.Unmarshal(record.Data, &h.Members) != nil || h.Members == nil {
			err = fmt.Errorf("%v: must be a JSON object", record.Place)
		}
	}
	return h, errors.Join(err, r.Close())
}
