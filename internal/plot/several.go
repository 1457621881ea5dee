package plot

import (
	"cmp"
	"fmt"
	"slices"
)

// severalRuns returns the plots that compare runs.
func severalRuns() []preset {
	return []preset{
		{"pareto_curve_throughput_vs_latency", "output tokens per second against the mean latency, with the Pareto front",
			pareto("Output token throughput against latency", axis{"request_latency", "avg", "mean request latency (ms)", true})},
		{"pareto_curve_throughput_vs_interactivity", "output tokens per second in total and of each user, with the Pareto front",
			pareto("Output token throughput against interactivity", axis{"output_token_throughput_per_user", "avg", "mean output tokens/s per user", false})},
		{"latency_vs_throughput", "percentiles of the latency against requests per second", percentiles("Request latency", "request_latency")},
		{"ttft_vs_throughput", "percentiles of the time to first token against requests per second", percentiles("Time to first token", "time_to_first_token")},
		{"throughput_vs_load", "requests and output tokens per second against the load", byLoad},
	}
}

// cell is a point of a sweep: the runs of one model and one load.
type cell struct {
	model, name string
	load        float64
	runs        []*result
	invalid     bool // the load generator distorted what is drawn in all of them
}

// cells groups the runs by model and cell, in the order of the load, to draw some metrics.
func (d *results) cells(tags ...string) []*cell {
	var all []*cell
	for _, r := range d.runs {
		i := slices.IndexFunc(all, func(c *cell) bool { return c.model == r.model && c.name == r.cell })
		if i < 0 {
			i = len(all)
			all = append(all, &cell{model: r.model, name: r.cell, load: r.load})
		}
		all[i].runs = append(all[i].runs, r)
	}
	for _, c := range all {
		sound := slices.DeleteFunc(slices.Clone(c.runs), func(r *result) bool { return r.distorted(tags...) })
		if c.invalid = len(sound) == 0; !c.invalid {
			c.runs = sound // as in the comparison of a sweep
		}
	}
	slices.SortStableFunc(all, func(a, b *cell) int {
		return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.load, b.load))
	})
	return all
}

// span is the mean and the range of a statistic over the runs of a cell.
type span struct{ mean, low, high float64 }

// span returns the mean of a statistic over the runs that have it; false = none has.
func (c *cell) span(tag, stat string) (s span, ok bool) {
	n := 0.0
	for _, r := range c.runs {
		v, has := r.stat(tag, stat)
		if !has {
			continue
		}
		if n == 0 {
			s.low, s.high = v, v
		}
		s.low, s.high = min(s.low, v), max(s.high, v)
		s.mean += v
		n++
	}
	if n > 0 {
		s.mean /= n
	}
	return s, n > 0
}

// axis is a statistic of an axis.
type axis struct {
	tag, stat, label string
	less             bool // less is better
}

const (
	tokens  = "output_token_throughput"
	notKept = "distorted by the client"
)

// pareto returns a plot of the output token throughput against another statistic.
func pareto(title string, x axis) func(*results) (*figure, error) {
	return func(d *results) (*figure, error) {
		valid := series{name: "run", style: marks}
		bad := series{name: notKept, colour: 4, style: hollow}
		for _, c := range d.cells(x.tag, tokens) {
			a, okA := c.span(x.tag, x.stat)
			b, okB := c.span(tokens, "avg")
			if !okA || !okB {
				continue
			}
			to := &valid
			if c.invalid {
				to = &bad
			}
			to.point(a.mean, b, c.name)
		}
		if len(valid.points)+len(bad.points) == 0 {
			return nil, errNoData
		}
		if len(bad.points) == 0 {
			bad.name = ""
		}
		front := series{name: "Pareto front", colour: 2, style: line, points: frontier(valid.points, x.less)}
		return &figure{title + d.trials(), []panel{
			{x: x.label, y: "output tokens/s", series: []series{front, valid, bad}},
		}}, nil
	}
}

// point adds a point with its range and its label.
func (s *series) point(x float64, y span, label string) {
	s.points = append(s.points, point{X: x, Y: y.mean})
	s.low, s.high = append(s.low, y.low), append(s.high, y.high)
	s.labels = append(s.labels, label)
}

// frontier returns the points that no other point is better than in both, in the order
// of x.
func frontier(all []point, less bool) []point {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b point) int {
		order := cmp.Compare(a.X, b.X)
		if !less {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(b.Y, a.Y))
	})
	var front []point
	for _, p := range sorted {
		if len(front) == 0 || p.Y > front[len(front)-1].Y {
			front = append(front, p)
		}
	}
	return front
}

// trials says how often each cell was run.
func (d *results) trials() string {
	most := 0
	for _, c := range d.cells() {
		most = max(most, len(c.runs))
	}
	if most < 2 {
		return ""
	}
	return fmt.Sprintf(" · mean of up to %d runs, lines show their range", most)
}

// percentiles returns a plot of p50, p95 and p99 against the request throughput, for
// each model.
func percentiles(what, tag string) func(*results) (*figure, error) {
	return func(d *results) (*figure, error) {
		p := panel{x: "requests/s", y: what + " (ms)"}
		byName := map[string]int{}
		models := d.models()
		bad := series{name: notKept + ", p50", colour: 4, style: hollow}
		for _, c := range d.cells("request_throughput", tag) {
			x, ok := c.span("request_throughput", "avg")
			if !ok {
				continue
			}
			if y, ok := c.span(tag, "p50"); ok && c.invalid {
				bad.point(x.mean, y, c.name)
			}
			for _, stat := range []string{"p50", "p95", "p99"} {
				y, ok := c.span(tag, stat)
				if !ok || c.invalid {
					continue
				}
				name := stat
				if models > 1 {
					name = c.model + " " + stat
				}
				i, ok := byName[name]
				if !ok {
					i = len(p.series)
					byName[name] = i
					p.series = append(p.series, series{name: name, colour: i, style: joined})
				}
				label := c.name
				if stat != "p50" {
					label = "" // that of the lowest line is enough
				}
				p.series[i].point(x.mean, y, label)
			}
		}
		if len(bad.points) > 0 {
			p.series = append(p.series, bad)
		}
		if len(p.series) == 0 {
			return nil, errNoData
		}
		return &figure{what + " against throughput" + d.trials(), []panel{p}}, nil
	}
}

// models returns the number of models.
func (d *results) models() int {
	names := map[string]bool{}
	for _, r := range d.runs {
		names[r.model] = true
	}
	return len(names)
}

// byLoad draws throughputs against the load of the cells.
func byLoad(d *results) (*figure, error) {
	requests, output := series{style: joined}, series{colour: 2, style: joined}
	badRequests, badOutput := series{colour: 4, style: hollow}, series{name: notKept, colour: 4, style: hollow}
	for _, c := range d.cells("request_throughput", tokens) {
		if c.load == 0 {
			continue
		}
		toRequests, toOutput := &requests, &output
		if c.invalid {
			toRequests, toOutput = &badRequests, &badOutput
		}
		if v, ok := c.span("request_throughput", "avg"); ok {
			toRequests.point(c.load, v, c.name)
		}
		if v, ok := c.span(tokens, "avg"); ok {
			toOutput.point(c.load, v, "")
		}
	}
	if len(badOutput.points) == 0 {
		badOutput.name = ""
	}
	if len(requests.points)+len(badRequests.points) == 0 {
		return nil, errNoData
	}
	f := &figure{title: "Throughput against load" + d.trials()}
	if len(output.points)+len(badOutput.points) > 0 {
		f.panels = append(f.panels, panel{y: "output tokens/s", x: "load", series: []series{output, badOutput}})
	}
	f.panels = append(f.panels, panel{y: "requests/s", x: "concurrency, requests per second or users", series: []series{requests, badRequests}})
	return f, nil
}
