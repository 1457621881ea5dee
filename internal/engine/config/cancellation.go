package config

// Cancellation ends some requests of a phase on purpose, to imitate users who go away.
type Cancellation struct {
	Rate  float64 `json:"rate"`  // percent of the requests; 0 = none
	Delay Seconds `json:"delay"` // from the time when a request is fully written
}

// checkCancellation checks that a cancellation has a rate, and that the phase is not a
// warm-up.
func (c phaseRules) checkCancellation() {
	path := c.path + ".cancellation"
	switch x := c.phase.Cancellation; {
	case x == nil:
	case phaseKind(c.phase) == "warmup":
		c.conflict(path, "only valid for profiling phases")
	case c.has(path+".delay") && !c.has(path+".rate"):
		c.conflict(path+".delay", "needs a cancellation rate")
	case !c.has(path + ".rate"):
		c.require(path+".rate", "rate: a cancellation needs a rate, in percent")
	case x.Rate == 0 && x.Delay != 0 && !c.failed[path+".rate"]:
		c.conflict(path+".delay", "needs a cancellation rate above 0")
	}
}
