package config

import "fmt"

func fillUsers(in *input, p *Phase, path string) {
	if p.UserReplacement == "" {
		p.UserReplacement = "scheduled"
		in.infer(path+".userReplacement", p.UserReplacement, "as in AIPerf")
	}
	fillSaturation(in, p, path)
}

func checkUsers(in *input, p *Phase, path string) {
	if !in.Has(path + ".users") {
		in.require(path+".users", "users: a phase of type "+UserCentric+" needs a number of users")
	}
	if in.Has(path + ".sessionRate") {
		in.Conflict(path+".sessionRate", "a phase of type "+UserCentric+" has a rate of requests; use rate")
	}
	if in.Has(path+".smoothness") && !in.Has(path+".type") {
		in.Conflict(path+".smoothness", "users have no arrival process")
	}
	if p.UserReplacement == "on-completion" && p.Saturation == "drop" {
		in.Conflict(path+".saturation", "a fixed population of users cannot lose one; use queue")
	}
	checkUserBounds(in, p, path)
	checkUserTurns(in, path)
}

// checkUserBounds checks that each user of the start has a session and a request.
func checkUserBounds(in *input, p *Phase, path string) {
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
		if at := path + "." + bound.field; in.Has(at) && !in.inferred(at) {
			in.Conflict(at, fmt.Sprintf("%d is less than the number of users, %d: each needs one at least",
				*bound.value, *p.Users))
			continue
		}
		in.Conflict(path+".users", fmt.Sprintf("without a bound, %d %s are sent, fewer than users; "+
			"give requests, sessions or a duration", *bound.value, bound.field))
	}
}

// checkUserTurns checks that the users of a synthetic dataset have something to take
// turns with. The conversations of a file are counted when they are read.
func checkUserTurns(in *input, phase string) {
	if len(in.doc.Benchmark.Datasets) != 1 {
		return
	}
	const turns = "benchmark.datasets.0.turns"
	d := &in.doc.Benchmark.Datasets[0]
	if mean := d.Turns.Mean; d.Type != "synthetic" || mean == nil || *mean >= 2 {
		return
	}
	if in.Has(turns) {
		in.Conflict(turns, "a phase of type "+UserCentric+" needs conversations of at least 2 turns on average")
		return
	}
	at := phase + ".users"
	if !in.Has(at) {
		at = phase + ".type"
	}
	in.Conflict(at, "needs conversations of at least 2 turns on average; give the dataset turns, "+
		"on a command line --conversation-turn-mean")
}
