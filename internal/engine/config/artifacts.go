package config

import (
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/config/tree"
)

// Artifacts selects the files of a run and their folder.
type Artifacts struct {
	Dir          string  `json:"dir"` // owned by the server in the daemon
	Prefix       *string `json:"prefix"`
	Level        string  `json:"level"` // summary, records (default), raw
	RecordFormat string  `json:"recordFormat"`
	// KeepRecords selects the requests of record files: all, sample (failures and a share of
	// the others) or failures.
	KeepRecords      string   `json:"keepRecords"`
	RecordSampleRate *float64 `json:"recordSampleRate"` // of keepRecords sample; nil = 0.01
	// bytes of a record file before the next one begins; nil = one file
	RecordFileSize  *int64 `json:"recordFileSize"`
	ExportOutputs   bool   `json:"exportOutputsJson"`
	ExportInputs    bool   `json:"exportInputs"`
	Summary         bool   `json:"summary"` // as JSON; AIPerf's ["json"] is true
	CSVPrecision    *int   `json:"csvPrecision"`
	Overwrite       bool   `json:"overwrite"` // the folder that is named after the run
	Trace           bool   `json:"trace"`     // needs level records or raw
	ShowTraceTiming bool   `json:"showTraceTiming"`
	UserFiles       []File `json:"userFiles,omitempty"`
	// SliceDuration is the length of time slices with metrics of their own; nil = none.
	SliceDuration *Seconds `json:"sliceDuration,omitempty"`
}

// Decode reads the section. AIPerf selects files by records and raw; both together
// correspond to a level.
func (a *Artifacts) Decode(f schema.Target, n *tree.Node) bool {
	if n.Shape != tree.Object {
		return f.WrongType(n, f.Path, "an object")
	}
	rest := *n
	rest.Members = append([]tree.Member(nil), n.Members...)
	records, raw := rest.Drop("records"), rest.Drop("raw")
	if s := n.Get("summary"); s != nil && s.Shape == tree.List && len(s.Items) == 1 && s.Items[0].Scalar == "json" {
		rest.Drop("summary")
		f.Given[f.Path+".summary"] = s
	}
	f.Fields(&rest, a, f.Path)
	level, ok := exportLevel(f, records, raw)
	if !ok || level == "" {
		return false
	}
	if f.Given[f.Path+".level"] != nil && a.Level != level {
		f.Conflict(f.Path+".level", "contradicts records and raw, which mean "+level)
	} else {
		a.Level = level
	}
	return true
}

// exportLevel reads AIPerf's two fields; "" = neither is given.
func exportLevel(f schema.Target, records, raw *tree.Node) (level string, ok bool) {
	if records != nil && records.Shape != tree.Null {
		f.Given[f.Path+".records"] = records
		switch {
		case records.Shape == tree.Boolean && records.Scalar == "false":
			level = "summary"
		case records.Shape == tree.List && len(records.Items) == 1 && records.Items[0].Scalar == "jsonl":
			level = "records"
		default:
			f.FailValue(records, problem.CodeBadEnum, "must be false or [\"jsonl\"]")
			return "", false
		}
	}
	if raw == nil || raw.Shape == tree.Null {
		return level, true
	}
	f.Given[f.Path+".raw"] = raw
	switch {
	case raw.Shape == tree.List && len(raw.Items) == 0, raw.Shape == tree.Boolean && raw.Scalar == "false":
		return level, true
	case raw.Shape != tree.Boolean:
		return "", f.WrongType(raw, f.Path+".raw", "true or false")
	case level == "summary":
		f.Conflict(f.Path+".raw", "raw records are written beside records; records is false")
		return "", false
	}
	return "raw", true
}
