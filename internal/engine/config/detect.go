package config

import (
	"encoding/json"
	"io/fs"

	"aiperfd/internal/engine/config/problem"
)

// detect looks at the first record of a dataset: it sets the format if none is given,
// and whether the dataset is a trace with times.
func (f filler) detect(d *Dataset, path string) {
	at := path + ".path"
	if !f.has(at) {
		at = path + ".records"
	}
	if f.options.Choices.Detect == nil || d.Path == "" && len(d.Records) == 0 || f.failed[at] || f.failed[path+".format"] ||
		f.options.Untrusted && len(f.options.DataRoots) == 0 && d.Path != "" {
		return
	}
	file := DatasetFile{Path: d.Path, Format: d.Format, Columns: f.has(path + ".columns"), Endpoint: f.doc.Benchmark.Endpoint.Type}
	if f.options.Untrusted && d.Path != "" {
		file.FS, file.Path = dataFS(d.Path, f.roots())
	}
	for i := range d.Records {
		raw, err := json.Marshal(d.Records[i])
		if err != nil {
			return // it is reported by the decoder
		}
		file.Records = append(file.Records, raw)
	}
	found, err := f.options.Choices.Detect(file)
	if err == nil {
		f.timed = found.Timed
	}
	if d.Format != "" || f.options.Stored {
		return // reading reports the error
	}
	if err != nil {
		f.failed[path+".format"] = true
		place := f.where(at)
		f.Fail(place, problem.CodeRequired, "%s: %v", problem.Label(place), err)
		return
	}
	d.Format = found.Format
	reason := "the first record looks like it"
	if file.Columns && d.Format == "columns" {
		reason = "columns are named"
	}
	f.infer(path+".format", d.Format, reason)
}

// DataFile returns the file system and the path in it by which a file that the document
// names is opened within the bounds of the document. A nil file system means that of the
// operating system.
func (d *Document) DataFile(name string) (fs.FS, string) {
	if d.Trusted() {
		return nil, name
	}
	return dataFS(name, d.roots)
}
