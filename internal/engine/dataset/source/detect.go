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
	Chat      bool   // the endpoint type takes chat messages; of others, messages are whole bodies
	Members   map[string]json.RawMessage
}

// Table reports whether the records are rows of a table; lines of text are a table with
// one column.
func (h *Head) Table() bool {
	return slices.Contains([]string{"text", "csv", "tsv", "parquet", "arrow"}, h.Container)
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

// Known is what is known of a dataset before its first record is read.
type Known struct {
	Format  string // empty = unknown
	Columns bool   // the user names columns
	Bodies  bool   // the endpoint type takes no chat messages, so that they are whole bodies
}

// Detect returns the format of a file by its first record, unless its name is known, and
// whether it is a trace whose first record has a time. A member type that is the name of
// a format decides; otherwise exactly one format must recognise the record. The error
// says how the file can be read.
func Detect(ctx context.Context, f file.File, known Known, formats []Format) (format string, timed bool, err error) {
	if f.IsPipe() {
		return "", false, errors.New("its format cannot be detected, since it can be read only once: set the format (--custom-dataset-type)")
	}
	for i := range formats {
		f.MaxRecord = max(f.MaxRecord, formats[i].MaxRecord)
	}
	h, err := readHead(ctx, f)
	if err != nil {
		return "", false, err
	}
	h.Chat = !known.Bodies
	if format = known.Format; format == "" {
		if format, err = h.format(known, formats); err != nil {
			return "", false, err
		}
	}
	for i := range formats {
		if row := &formats[i]; row.Name == format && row.Trace {
			timed = row.Timed(h)
		}
	}
	return format, timed, nil
}

// format returns the format that the first record looks like.
func (h *Head) format(known Known, formats []Format) (string, error) {
	var name string
	if json.Unmarshal(h.Members["type"], &name) == nil && slices.ContainsFunc(formats, func(f Format) bool { return f.Name == name }) {
		return name, nil
	}
	var found []string
	for i := range formats {
		row := &formats[i]
		switch {
		case known.Columns && row.Columns:
			return row.Name, nil
		case row.Detect != nil && row.Detect(h):
			name = row.Name
			found = append(found, row.Name+" ("+row.Needs+")")
		}
	}
	switch len(found) {
	case 0:
		return "", h.unrecognised(formats)
	case 1:
		return name, nil
	}
	return "", fmt.Errorf("its first record looks like several formats: %s; set the format (--custom-dataset-type)", strings.Join(found, ", "))
}

// unrecognised is the error of a record that is of no format: what it has, and how the
// file can be read.
func (h *Head) unrecognised(formats []Format) error {
	const most = 10
	keys := slices.Sorted(maps.Keys(h.Members))
	listed := strings.Join(keys[:min(most, len(keys))], ", ")
	if len(keys) > most {
		listed += ", …"
	}
	way := `write prompts as {"prompt": "…"}`
	if !slices.ContainsFunc(formats, func(f Format) bool { return f.Columns }) { // traces
		way = "needed is one of"
		for i := range formats {
			way += fmt.Sprintf("; %s: %s", formats[i].Name, formats[i].Needs)
		}
	} else if key := h.longest(keys); key != "" {
		way = fmt.Sprintf("if %s is the prompt, the option is --prompt-column %s", key, key)
	}
	return fmt.Errorf("unrecognised record format (keys: %s); %s; docs/datasets.md has all formats", listed, way)
}

// longest returns the key of the longest text of the record; empty = it has none.
func (h *Head) longest(keys []string) (longest string) {
	most := 0
	for _, key := range keys {
		var text string
		if json.Unmarshal(h.Members[key], &text) == nil && len(text) > most {
			longest, most = key, len(text)
		}
	}
	return longest
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
		if wrong := file.CheckObject(record.Data); wrong != nil {
			err = fmt.Errorf("%v: %w", record.Place, wrong)
			if h.Container == "jsonl" && record.Data[0] != '{' {
				err = fmt.Errorf("%w; the name of a file with one prompt per line must end in .txt", err)
			}
		} else {
			err = json.Unmarshal(record.Data, &h.Members)
		}
	}
	return h, errors.Join(err, r.Close())
}
