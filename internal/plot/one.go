package plot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"aiperfd/internal/engine/stat"
	finished "aiperfd/internal/results"
)

// oneRun returns the plots of a single run.
func oneRun() []preset {
	return []preset{
		{"ttft_over_time", "time to first token of each request, with rolling p50 and p95", overTime("Time to first token", func(r request) float64 { return r.ttft })},
		{"latency_over_time", "latency of each request, with rolling p50 and p95", overTime("Request latency", func(r request) float64 { return r.latency })},
		{"itl_over_time", "inter-token latency of each request, with rolling p50 and p95", overTime("Inter-token latency", func(r request) float64 { return r.itl })},
		{"throughput_over_time", "output tokens and completed requests per second, requests in flight", throughput},
		{"ttft_timeline", "when each request waited for its first token and when it received tokens", timeline},
		{"latency_distribution", "shares of the requests below each latency", distribution},
		{"schedule_lag_over_time", "how late each request was sent", overTime("Schedule lag", func(r request) float64 { return r.lag })},
		{"timeslices_ttft", "time to first token by time slice", bySlice("Time to first token", "time_to_first_token")},
		{"timeslices_itl", "inter-token latency by time slice", bySlice("Inter-token latency", "inter_token_latency")},
		{"timeslices_throughput", "requests per second by time slice", bySlice("Request throughput", "request_throughput")},
		{"timeslices_latency", "request latency by time slice", bySlice("Request latency", "request_latency")},
	}
}

// The most points and bars of a picture. Of more requests, every n-th is drawn.
const (
	maxPoints = 20_000
	maxBars   = 1_000
)

// title adds the run to the title of a plot.
func (d *results) title(what string, shown, of int) string {
	r := d.runs[0]
	about := []string{what}
	for _, s := range []string{r.model, r.cell} {
		if s != "" {
			about = append(about, s)
		}
	}
	if shown < of {
		about = append(about, fmt.Sprintf("%d of %d requests shown", shown, of))
	} else if of > 0 {
		about = append(about, fmt.Sprintf("%d requests", of))
	}
	if r.partial != "" && of > 0 {
		about = append(about, r.partial)
	}
	if warning := r.warning(); warning != "" {
		about = append(about, warning)
	}
	return strings.Join(about, " · ")
}

// overTime returns a plot of one value of each request over the time of its start.
func overTime(what string, value func(request) float64) func(*results) (*figure, error) {
	return func(d *results) (*figure, error) {
		requests, err := d.load()
		if err != nil {
			return nil, err
		}
		var all []point
		for _, r := range requests {
			if v := value(r); !math.IsNaN(v) {
				all = append(all, point{X: r.start, Y: v})
			}
		}
		if len(all) == 0 {
			return nil, errNoData
		}
		shown := every(all, maxPoints)
		series := []series{{name: "request", colour: 5, points: shown, style: dots}}
		if len(all) >= minRolling {
			series = append(series, rolling("p50", 0, all, 0.50), rolling("p95", 4, all, 0.95))
		}
		return &figure{d.title(what, len(shown), len(all)), []panel{
			{x: "start of the request (s)", y: what + " (ms)", series: series},
		}}, nil
	}
}

// every returns at most n points, evenly spaced in their order.
func every(all []point, n int) []point {
	if len(all) <= n {
		return all
	}
	step := (len(all) + n - 1) / n
	var some []point
	for i := 0; i < len(all); i += step {
		some = append(some, all[i])
	}
	return some
}

// minRolling is the least number of requests with rolling percentiles.
const minRolling = 40

// rolling returns a percentile of a window of a twentieth of the points, at least 20.
func rolling(name string, colour int, all []point, q float64) series {
	window := max(20, len(all)/20)
	step := max(1, (len(all)-window)/500)
	s := series{name: fmt.Sprintf("%s of %d", name, window), colour: colour}
	values := make([]float64, window)
	for from := 0; from+window <= len(all); from += step {
		for i := range values {
			values[i] = all[from+i].Y
		}
		slices.Sort(values)
		s.points = append(s.points, point{X: all[from+window/2].X, Y: stat.Quantile(values, q)})
	}
	return s
}

// throughput draws rates over time. The tokens of a request are spread evenly from its
// first token to its end.
func throughput(d *results) (*figure, error) {
	if why := d.runs[0].partial; why != "" {
		return nil, fmt.Errorf("%w: %s, and rates need all", errNoData, why)
	}
	requests, err := d.load()
	if err != nil {
		return nil, err
	}
	end := 0.0
	for _, r := range requests {
		end = max(end, r.end)
	}
	if end <= 0 {
		return nil, errNoData
	}
	const bins = 200
	step := end / bins
	var tokens, completed, active [bins]float64
	for _, r := range requests {
		completed[min(bins-1, int(r.end/step))] += 1 / step
		spread(&active, step, r.start, r.end, r.end-r.start)
		if !math.IsNaN(r.tokens) {
			first := r.start
			if !math.IsNaN(r.ttft) {
				first = min(r.end, r.start+r.ttft/1000)
			}
			spread(&tokens, step, first, r.end, r.tokens)
		}
	}
	points := func(values [bins]float64) (p []point) {
		for i, v := range values {
			p = append(p, point{X: (float64(i) + 0.5) * step, Y: v})
		}
		return p
	}
	x := "time (s)"
	return &figure{d.title("Throughput", len(requests), len(requests)), []panel{
		{x: x, y: "output tokens/s", series: []series{{points: points(tokens)}}},
		{x: x, y: "completed req/s", series: []series{{colour: 2, points: points(completed)}}},
		{x: x, y: "requests in flight", series: []series{{colour: 4, points: points(active)}}},
	}}, nil
}

// spread adds an amount per second to the bins between two times.
func spread[A interface{ *[200]float64 }](bins A, step, from, to, amount float64) {
	if to-from < step/1000 {
		bins[min(len(bins)-1, int(to/step))] += amount / step
		return
	}
	for i := int(from / step); i < len(bins) && float64(i)*step < to; i++ {
		lo, hi := max(from, float64(i)*step), min(to, float64(i+1)*step)
		bins[i] += amount * max(0, hi-lo) / (to - from) / step
	}
}

// timeline draws a bar per request.
func timeline(d *results) (*figure, error) {
	requests, err := d.load()
	if err != nil {
		return nil, err
	}
	step := max(1, (len(requests)+maxBars-1)/maxBars)
	wait := series{name: "waits for the first token", colour: 1, style: bars}
	receive := series{name: "receives", colour: 0, style: bars}
	shown := 0
	for i := 0; i < len(requests); i += step {
		r, y := requests[i], float64(i+1)
		first := r.end
		if !math.IsNaN(r.ttft) {
			first = min(r.end, r.start+r.ttft/1000)
		}
		wait.points = append(wait.points, point{X: r.start, Y: y}, point{X: first, Y: y})
		receive.points = append(receive.points, point{X: first, Y: y}, point{X: r.end, Y: y})
		shown++
	}
	return &figure{d.title("Requests over time", shown, len(requests)), []panel{
		{x: "time (s)", y: "request", series: []series{wait, receive}},
	}}, nil
}

// distribution draws the shares of requests below each latency.
func distribution(d *results) (*figure, error) {
	requests, err := d.load()
	if err != nil {
		return nil, err
	}
	p := panel{x: "milliseconds", y: "requests below (%)", logX: true}
	for i, of := range []struct {
		name  string
		value func(request) float64
	}{
		{"time to first token", func(r request) float64 { return r.ttft }},
		{"request latency", func(r request) float64 { return r.latency }},
	} {
		var values []float64
		for _, r := range requests {
			if v := of.value(r); v > 0 {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		points := make([]point, len(values))
		for j, v := range values {
			points[j] = point{X: v, Y: 100 * float64(j+1) / float64(len(values))}
		}
		if len(points) > 0 {
			p.series = append(p.series, series{name: of.name, colour: i, points: every(points, 2000)})
		}
	}
	if len(p.series) == 0 {
		return nil, errNoData
	}
	return &figure{d.title("Distribution of latencies", len(requests), len(requests)), []panel{p}}, nil
}

// bySlice returns a plot of a metric over the time slices of the run.
func bySlice(what, tag string) func(*results) (*figure, error) {
	return func(d *results) (*figure, error) {
		var file struct {
			Timeslices []map[string]json.RawMessage `json:"timeslices"`
		}
		files := d.runs[0].files
		name := files.Names.Summary("_timeslices.json")
		err := files.Decode(name, &file)
		if errors.Is(err, fs.ErrNotExist) {
			path := filepath.Join(files.Dir, name)
			return nil, fmt.Errorf("%w: %s is missing; it is written with --slice-duration", errNoData, path)
		}
		if err != nil {
			return nil, err
		}
		lines := map[string]*series{}
		var order []*series
		zero, unit := 0.0, ""
		for i, slice := range file.Timeslices {
			start, end := floatOf(slice["start_ns"]), floatOf(slice["end_ns"])
			if i == 0 {
				zero = start
			}
			m, _ := finished.ReadMetric(slice[tag])
			for _, stat := range []string{"avg", "p50", "p95", "p99"} {
				v, ok := m.Stats[stat]
				if !ok {
					continue
				}
				if lines[stat] == nil {
					lines[stat] = &series{name: stat, colour: len(order), style: joined}
					order = append(order, lines[stat])
					unit = m.Unit
				}
				lines[stat].points = append(lines[stat].points, point{X: ((start+end)/2 - zero) / 1e9, Y: v})
			}
		}
		if len(order) == 0 {
			return nil, errNoData
		}
		p := panel{x: "middle of the slice (s)", y: what + " (" + unit + ")"}
		for _, s := range order {
			p.series = append(p.series, *s)
		}
		return &figure{d.title(what+" by time slice", 0, 0), []panel{p}}, nil
	}
}

func floatOf(raw json.RawMessage) float64 {
	var x float64
	_ = json.Unmarshal(raw, &x) // 0 = unknown
	return x
}
