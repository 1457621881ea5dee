// This file reads files with a rate that changes in time.

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"aiperfd/internal/engine/config/tree"
)

// The limits of a series.
const (
	MinPoints      = 2
	MaxPoints      = 100_000
	maxSeriesBytes = 16 << 20 // of a file
)

// readRates returns the points of a file: a JSON array of objects with time_s and qps, or an
// object with such an array as its only member, points. The error names all points
// that are wrong, by their index.
func readRates(data []byte) ([]Point, error) {
	root, duplicates, err := tree.ParseJSON(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("must be JSON: %w", err)
	case len(duplicates) > 0:
		return nil, errors.New("has an object with the same member twice")
	}
	if root.Shape == tree.Object && len(root.Members) == 1 && root.Index("points") == 0 {
		root = root.Get("points")
	}
	if root.Shape != tree.List {
		return nil, errors.New("must be a JSON array of points, or an object with the only member points")
	}
	if n := len(root.Items); n < MinPoints || n > MaxPoints {
		return nil, fmt.Errorf("has %d points: must have %d to %d", n, MinPoints, MaxPoints)
	}
	var problems []error
	points := make([]Point, len(root.Items))
	for i, item := range root.Items {
		if err := readRateList(item, &points[i]); err != nil {
			problems = append(problems, fmt.Errorf("point %d: %w", i, err))
		}
	}
	if len(problems) == 0 {
		for i := range points {
			if !follows(points, i) {
				problems = append(problems, fmt.Errorf("point %d: time_s %v: must be later than the point before, at %v", i, points[i].TimeS, points[i-1].TimeS))
			}
		}
	}
	return points, clippedErrors(problems)
}

// follows reports whether a point is later than the one before.
func follows(points []Point, i int) bool { return i == 0 || points[i].TimeS > points[i-1].TimeS }

// readRateList reads one point.
func readRateList(n *tree.Node, p *Point) error {
	if n.Shape != tree.Object {
		return errors.New("must be an object with time_s and qps")
	}
	fields := []struct {
		name string
		to   *float64
		ok   func(float64) bool
		want string
	}{
		{"time_s", &p.TimeS, func(x float64) bool { return x >= 0 }, "must be a number of seconds, 0 or more"},
		{"qps", &p.QPS, func(x float64) bool { return x > 0 }, "must be a number of requests per second above 0"},
	}
	var problems []error
	known := 0
	for _, f := range fields {
		value := n.Get(f.name)
		if value == nil {
			problems = append(problems, fmt.Errorf("%s: required", f.name))
			continue
		}
		known++
		text := string(value.JSON())
		if value.Shape != tree.Number || json.Unmarshal([]byte(text), f.to) != nil || math.IsInf(*f.to, 0) || !f.ok(*f.to) {
			problems = append(problems, fmt.Errorf("%s %.40s: %s", f.name, text, f.want))
		}
	}
	if known < len(n.Members) {
		problems = append(problems, errors.New("must have no members but time_s and qps"))
	}
	return errors.Join(problems...)
}

// clippedErrors joins errors; of many it keeps the first ones.
func clippedErrors(problems []error) error {
	const most = 10
	if more := len(problems) - most; more > 0 {
		problems = append(problems[:most], fmt.Errorf("and %d more", more))
	}
	return errors.Join(problems...)
}
