package sweep

import (
	"cmp"

	"aiperfd/internal/engine/config/vary"
)

// The designs of a sweep of type ab.
const (
	Mirror    = "mirror"    // every request goes to both servers at the same time
	Crossover = "crossover" // the servers take turns
	Split     = "split"     // every request goes to one of the servers
)

// The defaults of a sweep of type ab, and of the design crossover, whose blocks are longer: a server begins each turn
// without load.
const (
	DefaultPairedSeconds    = 1800 // of load, at most
	DefaultBlockSeconds     = 5
	DefaultCrossoverSeconds = 7200
	DefaultTurnSeconds      = 30
	DefaultMargin           = 0.03
)

// checkPaired checks the comparison of two servers, and fills in its defaults.
func (b *Block) checkPaired(r rules, path string) {
	if !r.Has(path+".b") && !r.Failed[path+".b"] {
		r.require(path, "b is required: what is different for the server B, for example endpoint: {url: http://b:8000}")
	}
	for _, name := range []string{"cooldownSeconds", "slaFilters", "maxFailures", "onFailure"} {
		if r.Has(path + "." + name) {
			r.Conflict(path+"."+name, "A and B are measured together, once")
		}
	}
	b.Design = cmp.Or(b.Design, Mirror)
	load, block := float64(DefaultPairedSeconds), float64(DefaultBlockSeconds)
	if b.Design == Crossover {
		load, block = DefaultCrossoverSeconds, DefaultTurnSeconds
	}
	b.MaxLoadSeconds, b.BlockSeconds = cmp.Or(b.MaxLoadSeconds, load), cmp.Or(b.BlockSeconds, block)
	b.Margin = cmp.Or(b.Margin, DefaultMargin)
}

// PairedSettings returns the assignments with which both sides are measured for a number of seconds, at most.
func PairedSettings(seconds float64) []vary.Assignment {
	return []vary.Assignment{{Path: durationPath, Value: seconds}}
}
