package compare

import (
	"fmt"
	"path"
	"slices"
	"strings"
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
	all, _, err := differences(runs)
	if err != nil {
		return err
	}
	for _, d := range all {
		switch classOf(d.Pointer) {
		case ignored:
		case subject:
			a.Subject = addDifference(a.Subject, d)
		case load:
			if !allowed(d.Pointer, allow) {
				a.Load = addDifference(a.Load, d)
				continue
			}
			a.doubt("load-differs", fmt.Sprintf("%s differs between the runs (allowed)", d.Pointer))
		}
	}
	return nil
}

// addDifference adds a difference to a list, which has each place once: cells of sweeps differ in
// the same places.
func addDifference(list []Difference, d Difference) []Difference {
	if slices.ContainsFunc(list, func(o Difference) bool { return o.Pointer == d.Pointer }) {
		return list
	}
	return append(list, d)
}
