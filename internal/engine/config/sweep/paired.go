package sweep

import "aiperfd/internal/engine/config/vary"

// The defaults of a sweep of type ab.
const (
	DefaultPairedSeconds = 1800 // of load, at most
	DefaultBlockSeconds  = 5
	DefaultMargin        = 0.03
)

// checkPaired checks the comparison of two servers, and fills in its defaults.
func (b *Block) checkPaired(r rules, path string) {
	if !r.Has(path+".b") && !r.Failed[path+".b"] {
		r.require(path, "b is required: what is different for the server B, for example endpoint: {url: http://b:8000}")
	}
	for _, name := range []string{"cooldownSeconds", "slaFilters", "maxFailures", "onFailure"} {
		if r.Has(path + "." + name) {
			r.Conflict(path+"."+name, "A and B are measured at the same time, once")
		}
	}
	if b.MaxLoadSeconds == 0 {
		b.MaxLoadSeconds = DefaultPairedSeconds
	}
	if b.BlockSeconds == 0 {
		b.BlockSeconds = DefaultBlockSeconds
	}
	if b.Margin == 0 {
		b.Margin = DefaultMargin
	}
}

// PairedSettings returns the assignments with which both sides are measured for a number of seconds, at most.
func PairedSettings(seconds float64) []vary.Assignment {
	return []vary.Assignment{{Path: durationPath, Value: seconds}}
}
