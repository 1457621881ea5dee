package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperfd/internal/engine/config/sweep"
	"aiperfd/internal/study/cell"
	"aiperfd/internal/study/search"
)

// derive returns what a file contains, encodable as JSON. The error says why it cannot be
// derived from the results.
func derive(p *sweep.PostProcess, done []cell.Outcome) (any, error) {
	handler := map[string]func(sweep.PostParams, []cell.Outcome) (any, error){
		sweep.SLABreach: breach, sweep.DegradationKnee: knee, sweep.TTFTCurve: fitted,
		sweep.ITLSurface: surface, sweep.ParetoSweep: pareto,
	}[p.Handler]
	content, err := handler(p.Params, done)
	if err != nil {
		return nil, fmt.Errorf("derive %s: %w", p.OutputFilename, err)
	}
	return content, nil
}

// object is an object with members in alphabetical order.
type object = map[string]any

// value returns the mean of a statistic over the trials that are results: they succeeded,
// and the load generator did not distort the metric.
func value(o *cell.Outcome, tag, stat string) (float64, bool) {
	sum, n := 0.0, 0
	for _, t := range cell.Sound(o.Trials, tag) {
		v, ok := t.Stat(tag, stat)
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, false
		}
		sum, n = sum+v, n+1
	}
	return sum / float64(n), n > 0
}

// assigned returns the number that a variation has at a path, in its long form or as the
// last name of it.
func assigned(o *cell.Outcome, path string) (float64, bool) {
	for _, a := range o.Values {
		if a.Path != path && a.Path != sweep.Name(path) && strings.TrimSuffix(a.Path, ".mean") != path {
			continue
		}
		switch v := a.Value.(type) {
		case float64:
			return v, true
		case int:
			return float64(v), true
		case int64:
			return float64(v), true
		case json.Number:
			x, err := v.Float64()
			return x, err == nil
		}
	}
	return 0, false
}

// point is a value of the swept path, and what was measured there.
type point struct {
	x, y    float64
	outcome *cell.Outcome
}

// points returns the variations by their swept value, ascending. Without a tag all have
// the y 0; otherwise those that did not measure it are left out.
func points(done []cell.Outcome, path, tag, stat string) []point {
	var out []point
	for i := range done {
		x, ok := assigned(&done[i], path)
		if !ok {
			continue
		}
		p := point{x: x, outcome: &done[i]}
		if tag != "" {
			if p.y, ok = value(&done[i], tag, stat); !ok {
				continue
			}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	return out
}

// breach finds the largest value that keeps all limits and the smallest that does not.
func breach(p sweep.PostParams, done []cell.Outcome) (any, error) {
	leaf := sweep.Name(p.SweptParam)
	all := []object{}
	var largest, smallest, first any
	monotonic := true
	for _, pt := range points(done, p.SweptParam, "", "") {
		v := search.Judge(p.SLAFilters, pt.outcome)
		breaches := []object{}
		for _, r := range v.Readings {
			if r.Observed == nil || !r.Holds(*r.Observed) {
				broken := condition(r.Filter)
				broken["observed"] = r.Observed
				breaches = append(breaches, broken)
			}
		}
		all = append(all, object{leaf: pt.x, "feasible": v.Pass, "breaches": breaches})
		switch {
		case v.Pass:
			monotonic = monotonic && smallest == nil
			largest = pt.x
		case smallest == nil:
			if smallest = pt.x; len(breaches) > 0 {
				first = breaches[0]
			}
		}
	}
	filters := []object{}
	for _, f := range p.SLAFilters {
		filters = append(filters, condition(f))
	}
	return object{
		"swept_param": p.SweptParam, "max_passing_" + leaf: largest, "first_failing_" + leaf: smallest,
		"first_failing_breach": first, "all_points": all, "monotonicity_check": monotonic, "filters": filters,
	}, nil
}

func condition(f sweep.Filter) object {
	return object{"metric_tag": f.MetricTag, "stat": f.Stat, "op": f.Op, "threshold": f.Threshold}
}

// knee finds the first value at which a statistic is worse than its baseline by a share.
// The baseline is the mean of the two lowest values: one of them alone would decide by its
// noise.
func knee(p sweep.PostParams, done []cell.Outcome) (any, error) {
	pts := points(done, p.SweptParam, p.MetricTag, p.Stat)
	if len(pts) < 2 {
		return nil, fmt.Errorf("%s (%s) was measured at %d values of %s; at least 2 are needed", p.MetricTag, p.Stat, len(pts), p.SweptParam)
	}
	leaf := sweep.Name(p.SweptParam)
	baseline := (pts[0].y + pts[1].y) / 2
	var at, is any
	for _, pt := range pts[1:] {
		if pt.y > baseline*(1+p.ThresholdPct) {
			at, is = pt.x, pt.y
			break
		}
	}
	all := []object{}
	for _, pt := range pts {
		all = append(all, object{leaf: pt.x, p.Stat: pt.y})
	}
	return object{
		"baseline_" + leaf: pts[0].x, "baseline_" + p.Stat: baseline, "knee_" + leaf: at, "knee_" + p.Stat: is,
		"threshold_pct": p.ThresholdPct, "swept_metric": p.MetricTag, "stat": p.Stat, "swept_param": p.SweptParam, "all_points": all,
	}, nil
}

// surface is a table of a statistic by two values; null = not measured.
func surface(p sweep.PostParams, done []cell.Outcome) (any, error) {
	raw := []object{}
	var concurrencies, lengths []float64
	at := make(map[[2]float64]float64)
	for i := range done {
		c, ok := assigned(&done[i], p.ConcurrencyParam)
		l, ok2 := assigned(&done[i], p.OSLParam)
		v, ok3 := value(&done[i], p.MetricTag, p.Stat)
		if !ok || !ok2 || !ok3 {
			continue
		}
		at[[2]float64{c, l}] = v
		concurrencies, lengths = append(concurrencies, c), append(lengths, l)
		raw = append(raw, object{"concurrency": c, "osl": l, "itl_ms": v})
	}
	if len(raw) < 2 {
		return nil, fmt.Errorf("%s (%s) was measured in %d variations; at least 2 are needed", p.MetricTag, p.Stat, len(raw))
	}
	slices.Sort(concurrencies)
	slices.Sort(lengths)
	concurrencies, lengths = slices.Compact(concurrencies), slices.Compact(lengths)
	grid := make([][]*float64, len(concurrencies))
	for i, c := range concurrencies {
		for _, l := range lengths {
			var measured *float64
			if v, ok := at[[2]float64{c, l}]; ok {
				measured = &v
			}
			grid[i] = append(grid[i], measured)
		}
	}
	return object{
		"swept_metric": p.MetricTag, "stat": p.Stat, "swept_params": []string{p.ConcurrencyParam, p.OSLParam}, "raw_points": raw,
		"surface":            object{"concurrency_axis": concurrencies, "osl_axis": lengths, "itl_grid": grid},
		"surface_fit_failed": false,
	}, nil
}

// pareto lists the variations with two statistics, and marks those that no other is at
// least as good as in both: x is better if smaller, y if larger.
func pareto(p sweep.PostParams, done []cell.Outcome) (any, error) {
	type place struct{ x, y float64 }
	var places []place
	cells := []object{}
	for i := range done {
		x, ok := value(&done[i], p.XMetric, p.XStat)
		y, ok2 := value(&done[i], p.YMetric, p.YStat)
		if !ok || !ok2 {
			continue
		}
		c := object{"x": x, "y": y, "label": done[i].Label}
		for _, a := range done[i].Values {
			c[sweep.Name(a.Path)] = a.Value
		}
		places, cells = append(places, place{x, y}), append(cells, c)
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("no variation measured both %s (%s) and %s (%s)", p.XMetric, p.XStat, p.YMetric, p.YStat)
	}
	for i, a := range places {
		cells[i]["pareto_optimal"] = !slices.ContainsFunc(places, func(b place) bool {
			return b.x <= a.x && b.y >= a.y && b != a
		})
	}
	return object{"x_metric": p.XMetric, "x_stat": p.XStat, "y_metric": p.YMetric, "y_stat": p.YStat, "cells": cells}, nil
}
