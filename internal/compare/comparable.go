package compare

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/results"
)

// class is what a difference between the documents of two runs means for their comparison.
type class int

const (
	load    class = iota // what the servers were asked for: results of different loads are not compared
	subject              // what is compared
	ignored              // cannot change a number: other prompts of the same kind, files, destinations
)

// classes lists the members of a document that are not [load], by patterns of path.Match for
// the beginning of their pointers. The first that matches counts.
func classes() []struct {
	pattern string
	class   class
} {
	return []struct {
		pattern string
		class   class
	}{
		{"/endpoint/urls", subject},
		{"/endpoint/headers", subject},
		{"/models/items/*/name", subject},
		{"/models/items/*/tokenizer", subject},
		{"/tokenizer/name", subject},
		{"/tokenizer/revision", subject},
		{"/datasets/*/randomSeed", ignored},
		{"/datasets/*/name", ignored},
		{"/endpoint/waitForModelTimeout", ignored},
		{"/endpoint/waitForModelInterval", ignored},
		{"/endpoint/waitForModelMode", ignored},
		{"/artifacts", ignored},
		{"/runtime", ignored},
		{"/logging", ignored},
		{"/gpuTelemetry", ignored},
		{"/serverMetrics", ignored},
		{"/otel", ignored},
		{"/mlflow", ignored},
		{"/wandb", ignored},
	}
}

// classOf returns the class of the value at a pointer.
func classOf(pointer string) class {
	for _, c := range classes() {
		parts := strings.Split(pointer, "/")
		depth := min(strings.Count(c.pattern, "/")+1, len(parts))
		if ok, _ := path.Match(c.pattern, strings.Join(parts[:depth], "/")); ok {
			return c.class
		}
	}
	return load
}

// allowed reports whether a pointer is one of those in the list, or below one.
func allowed(pointer string, list []string) bool {
	return slices.ContainsFunc(list, func(a string) bool {
		return pointer == a || strings.HasPrefix(pointer, strings.TrimSuffix(a, "/")+"/")
	})
}

// compareLoads looks for differences between the documents of all runs. Those of the load make
// the sides incomparable, unless they are allowed, which leaves a doubt.
func (a *Answer) compareLoads(runs []Input, allow []string) error {
	changed, err := changesOf(runs)
	if err != nil {
		return err
	}
	var loads, subjects, accepted []string
	for _, pointer := range changed.pointers {
		switch class := classOf(pointer); {
		case class == subject:
			subjects = append(subjects, pointer)
		case class == load && allowed(pointer, allow):
			accepted = append(accepted, pointer)
		case class == load:
			loads = append(loads, pointer)
		}
	}
	a.Load = addDifferences(a.Load, changed, loads)
	if err := a.compareSessions(runs); err != nil {
		return err
	}
	a.Subject = addDifferences(a.Subject, changed, subjects)
	for _, pointer := range accepted[:min(len(accepted), maxDifferences)] {
		a.AddDoubt("load-differs", pointer+" differs between the runs (allowed)")
	}
	return nil
}

// rulesPointer is where the digest of the rules of a scenario is shown among the differences, although documents do not
// have it: they have the name and the version.
const rulesPointer = "/scenario/rules_sha256"

// compareSessions compares what runs of recorded sessions say of their scenarios and lanes: under other rules it is not
// the same load, and lanes that began elsewhere are a doubt.
func (a *Answer) compareSessions(runs []Input) error {
	rules := &changes{runs: runs, values: map[string][]string{rulesPointer: make([]string, len(runs))}}
	var known, plans []string
	for i := range runs {
		if runs[i].Dir == "" || !replaysSessions(&runs[i]) {
			continue
		}
		prefix, err := results.Prefix(runs[i].Run.Config)
		if err != nil {
			return err
		}
		of, err := results.Open(runs[i].Dir, prefix).Agents()
		if err != nil {
			return fmt.Errorf("read the result of run %s: %w", runs[i].Run.ID, err)
		}
		if of.Validity != nil {
			known = append(known, strconv.Quote(of.Validity.Rules))
			rules.values[rulesPointer][i] = known[len(known)-1]
		}
		if of.Jobs != nil && of.Jobs.Plan != "" {
			plans = append(plans, of.Jobs.Plan)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(known)))) > 1 {
		a.Load = addDifferences(a.Load, rules, []string{rulesPointer})
	}
	if len(slices.Compact(slices.Sorted(slices.Values(plans)))) > 1 {
		a.AddDoubt("plan-differs", "lanes of the runs began with other sessions, or at other instants of them "+
			"(plan_sha256), so that differences between sessions are in the numbers; the same --random-seed gives the same plan")
	}
	return nil
}

// replaysSessions reports whether the configuration of a run has lanes.
func replaysSessions(in *Input) bool {
	leaves, err := flatten(in.Run.Config)
	return err == nil && slices.ContainsFunc(leaves, func(l leaf) bool { return l.text == `"agentic_replay"` })
}

// addDifferences adds differences to a list, which has each place once: cells of sweeps differ in
// the same places.
func addDifferences(list []Difference, changed *changes, pointers []string) []Difference {
	differences, _ := changed.at(pointers)
	for _, d := range differences {
		if !slices.ContainsFunc(list, func(o Difference) bool { return o.Pointer == d.Pointer }) {
			list = append(list, d)
		}
	}
	return list
}
