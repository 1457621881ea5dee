package config

import (
	"encoding/json"

	"aiperfd/internal/engine/config/problem"
)

// detect looks at the first record of a dataset: it sets the format if none is given,
// and whether the dataset is a trace with times.
func detectFormat(in *input, d *Dataset, path string) {
	at := path + ".path"
	if !in.Has(at) {
		at = path + ".records"
	}
	if in.options.Choices.Detect == nil || d.Path == "" && len(d.Records) == 0 || in.Failed[at] || in.Failed[path+".format"] ||
		in.doc.closed() && d.Path != "" {
		return
	}
	file := DatasetFile{Path: d.Path, Format: d.Format, Columns: in.Has(path + ".columns"), Endpoint: in.doc.Benchmark.Endpoint.Type}
	if d.Path != "" {
		file.FS, file.Path = in.doc.DataFile(d.Path)
	}
	for i := range d.Records {
		raw, err := json.Marshal(d.Records[i])
		if err != nil {
			return // it is reported by the decoder
		}
		file.Records = append(file.Records, raw)
	}
	found, err := in.options.Choices.Detect(file)
	if err == nil {
		in.timed = found.Timed
	}
	if d.Format != "" || in.options.Stored {
		return // reading reports the error
	}
	if err != nil {
		in.Failed[path+".format"] = true
		place := in.Where(at)
		in.Fail(place, problem.CodeRequired, "%s: %v", problem.Label(place), err)
		return
	}
	d.Format = found.Format
	reason := "the first record looks like it"
	if file.Columns && d.Format == "columns" {
		reason = "columns are named"
	}
	in.infer(path+".format", d.Format, reason)
}
