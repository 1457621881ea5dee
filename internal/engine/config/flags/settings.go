package flags

import (
	"strings"

	"aiperfd/internal/engine/config"
)

// Setting describes a flag that sets a field of the document.
type Setting struct {
	Flag    string // main spelling, with dashes
	Path    string // of the field, relative to the benchmark section; see [options]
	Field   string // the row of the table of fields; the mean and the spread of a distribution have one
	Help    string
	Default string // in words; "" = none
	Switch  bool   // the flag takes no value
}

// Settings lists the supported flags that set fields, in the order of the help.
func Settings(known *config.Choices) []Setting {
	var all []Setting
	for _, o := range options() {
		if o.status == supported && o.path != "" {
			all = append(all, Setting{
				Flag: o.name, Path: o.path, Help: known.Expand(o.help), Default: o.def, Switch: o.kind == optBool,
				Field: strings.TrimSuffix(strings.TrimSuffix(fieldOf(o.path), ".mean"), ".stddev"),
			})
		}
	}
	return all
}
