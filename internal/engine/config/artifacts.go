package config

// Artifacts says which files a run leaves and where.
type Artifacts struct {
	Dir           string  `json:"dir" validate:"min=1"` // owned by the server in the daemon
	Prefix        *string `json:"prefix"`
	Level         string  `json:"level" validate:"oneof=summary records raw"` // summary, records (default), raw
	ExportOutputs bool    `json:"exportOutputsJson"`
}

// decode reads the section. AIPerf selects files by records and raw; both together
// correspond to a level.
func (a *Artifacts) decode(f field, n *node) bool {
	if n.shape != object {
		return f.wrongType(n, f.path, "an object")
	}
	rest := *n
	rest.members = append([]member(nil), n.members...)
	records, raw := rest.drop("records"), rest.drop("raw")
	f.fields(&rest, a, f.path)
	level, ok := f.exportLevel(records, raw)
	if !ok || level == "" {
		return false
	}
	if f.has(f.path+".level") && a.Level != level {
		f.conflict(f.path+".level", "contradicts records and raw, which mean "+level)
	} else {
		a.Level = level
	}
	return true
}

// exportLevel reads AIPerf's two fields; "" = nothing was said.
func (f field) exportLevel(records, raw *node) (level string, ok bool) {
	if records != nil && records.shape != null {
		f.given[f.path+".records"] = records
		switch {
		case records.shape == boolean && records.scalar == "false":
			level = "summary"
		case records.shape == list && len(records.items) == 1 && records.items[0].scalar == "jsonl":
			level = "records"
		default:
			f.failValue(records, CodeBadEnum, "must be false or [\"jsonl\"]")
			return "", false
		}
	}
	if raw == nil || raw.shape == null {
		return level, true
	}
	f.given[f.path+".raw"] = raw
	switch {
	case raw.shape == list && len(raw.items) == 0, raw.shape == boolean && raw.scalar == "false":
		return level, true
	case raw.shape != boolean:
		return "", f.wrongType(raw, f.path+".raw", "true or false")
	case level == "summary":
		f.conflict(f.path+".raw", "raw records are written beside records; records is false")
		return "", false
	}
	return "raw", true
}
