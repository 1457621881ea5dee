package config

import "fmt"

// UserCentric is the type of phases whose sessions are users that take turns.
const UserCentric = "user_centric"

// arrivalRules checks who starts the sessions of a phase, and what becomes of arrivals.
type arrivalRules struct{ phaseRules }

// check needs the type that the phase has got.
func (c arrivalRules) check() {
	c.checkUsers()
	c.checkSaturation()
	c.checkSessionRate()
}

// checkUsers checks the fields of user-centric phases, and that only they have them.
func (c arrivalRules) checkUsers() {
	p, path := c.phase, c.path
	if p.Type != UserCentric {
		for _, field := range []string{"users", "userReplacement"} {
			if p.Type != "" && c.has(path+"."+field) {
				c.conflict(path+"."+field, "only valid for the type "+UserCentric)
			}
		}
		return
	}
	if !c.has(path + ".users") {
		c.require(path+".users", "users: a phase of type "+UserCentric+" needs a number of users")
	}
	if c.has(path + ".sessionRate") {
		c.conflict(path+".sessionRate", "a phase of type "+UserCentric+" has a rate of requests; use rate")
	}
	if c.has(path+".smoothness") && !c.has(path+".type") {
		c.conflict(path+".smoothness", "users have no arrival process")
	}
	if p.UserReplacement == "on-completion" && p.Saturation == "drop" {
		c.conflict(path+".saturation", "a fixed population of users cannot lose one; use queue")
	}
	c.checkUserBounds()
	c.checkUserTurns()
}

// checkUserBounds checks that each user of the start has a session and a request.
func (c arrivalRules) checkUserBounds() {
	p := c.phase
	if p.Users == nil {
		return
	}
	for _, bound := range []struct {
		field string
		value *int64
	}{{"requests", p.Requests}, {"sessions", p.Sessions}} {
		if bound.value == nil || *bound.value >= int64(*p.Users) {
			continue
		}
		if at := c.path + "." + bound.field; c.has(at) && !c.inferred(at) {
			c.conflict(at, fmt.Sprintf("%d is less than the number of users, %d: each needs one at least", *bound.value, *p.Users))
			continue
		}
		c.conflict(c.path+".users", fmt.Sprintf("without a bound, %d %s are sent, fewer than users; give requests, sessions or a duration", *bound.value, bound.field))
	}
}

// checkUserTurns checks that the users of a synthetic dataset have something to take
// turns with. The conversations of a file are counted when they are read.
func (c arrivalRules) checkUserTurns() {
	if len(c.doc.Benchmark.Datasets) != 1 {
		return
	}
	const path = "benchmark.datasets.0.turns"
	d := &c.doc.Benchmark.Datasets[0]
	if mean := d.Turns.Mean; d.Type != "synthetic" || mean == nil || *mean >= 2 {
		return
	}
	if c.has(path) {
		c.conflict(path, "a phase of type "+UserCentric+" needs conversations of at least 2 turns on average")
		return
	}
	at := c.path + ".users"
	if !c.has(at) {
		at = c.path + ".type"
	}
	c.conflict(at, "needs conversations of at least 2 turns on average; give the dataset turns, on a command line --conversation-turn-mean")
}

// checkSaturation checks that only arrivals that can wait for a slot have a policy for it.
func (c arrivalRules) checkSaturation() {
	p, path := c.phase, c.path
	if p.Type == "" {
		return // it is reported
	}
	if at := path + ".saturation"; c.has(at) && !c.failed[at] && p.Saturation != "queue" {
		switch {
		case p.Type == "concurrency":
			c.conflict(at, "a phase of type concurrency has no arrivals")
		case p.Concurrency == nil && !c.failed[path+".concurrency"]:
			c.conflict(at, "needs a concurrency: without one, no arrival waits for a slot")
		}
	}
	if c.has(path+".saturationLimit") && p.Saturation != "abort" && !c.failed[path+".saturation"] {
		c.conflict(path+".saturationLimit", "needs the saturation abort")
	}
}

// checkSessionRate checks that a rate of sessions belongs to a phase with arrivals, and
// is its only rate.
func (c arrivalRules) checkSessionRate() {
	p, at := c.phase, c.path+".sessionRate"
	switch {
	case !c.has(at) || p.Type == "" || p.Type == UserCentric:
	case !c.isRated():
		c.conflict(at, "a phase of type "+p.Type+" has no rate")
	case c.has(c.path + ".rateSeries"), c.has(c.path + ".rateRamp"):
		c.conflict(at, "a rate of sessions does not change in time")
	case c.has(c.path + ".rate"):
		c.conflict(at, "excludes rate, which counts the requests of all turns; sessionRate counts new conversations")
	}
}
