// Package report makes reports of runs to keep and to send: an HTML page that is one file
// with the charts of the dashboard, and a summary in Markdown for pull requests.
package report

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/run"
)

// Source has the runs of reports. Its methods are safe for concurrent use and return
// errors of the API.
type Source interface {
	// Get returns the answer of the API to a GET request of a path such as
	// "api/runs/0199…/progress", which may have a query. Secrets are replaced in it.
	Get(ctx context.Context, path string) ([]byte, error)
	// Input returns a run with its newest snapshot.
	Input(ctx context.Context, id string) (compare.Input, error)
}

// Format is a kind of report.
type Format string

// The formats.
const (
	HTML     Format = "html"
	Markdown Format = "md"
)

// ParseFormat returns the format of a name. Without a name it is that of a file's
// extension, HTML if there is none.
func ParseFormat(name, file string) (Format, error) {
	switch f := Format(name); {
	case f == HTML, f == Markdown:
		return f, nil
	case name != "":
		return "", fmt.Errorf("%q: must be html or md", name)
	case strings.EqualFold(filepath.Ext(file), ".md"):
		return Markdown, nil
	}
	return HTML, nil
}

// MediaType returns the media type of a report.
func (f Format) MediaType() string {
	if f == HTML {
		return "text/html; charset=utf-8"
	}
	return "text/markdown; charset=utf-8; variant=GFM"
}

// Make returns the report of one run or sweep, or that of 2 to [compare.MaxRuns] runs
// compared with the first. The reports of runs that have ended do not change, unless
// aiperfd does.
func Make(ctx context.Context, source Source, version string, ids []string, format Format) ([]byte, error) {
	c, err := collect(ctx, source, ids)
	if err != nil {
		return nil, err
	}
	c.version = version
	if format == Markdown {
		return []byte(c.text().markdown()), nil
	}
	if err := c.answer(ctx, source); err != nil {
		return nil, err
	}
	return c.html()
}

// content is what a report is made of.
type content struct {
	version    string
	asOf       time.Time // when runs that go on were read; zero = all have ended
	runs       []wire.Run
	withheld   map[string]verdict.Withheld // per-token metrics of a single run whose percentiles mean nothing
	comparison *compare.Comparison         // of one run, too: its metrics with their intervals
	cells      wire.RunList                // of a sweep
	errors     wire.Errors                 // of a single run
	answers    map[string]json.RawMessage
}

// collect reads what both formats show.
func collect(ctx context.Context, source Source, ids []string) (*content, error) {
	c := &content{answers: map[string]json.RawMessage{}}
	inputs := make([]compare.Input, 0, len(ids))
	for _, id := range ids {
		var r wire.Run
		if err := c.read(ctx, source, runPath(id), &r); err != nil {
			return nil, err
		}
		input, err := source.Input(ctx, id)
		if err != nil {
			return nil, err
		}
		if !r.State.Terminal() {
			c.asOf = time.Now().UTC().Truncate(time.Second)
		}
		c.runs, inputs = append(c.runs, r), append(inputs, input)
	}
	if inputs[0].Snapshot != nil && inputs[0].Snapshot.Stream != nil {
		c.withheld = inputs[0].Snapshot.Stream.Withheld
	}
	var err error
	if c.comparison, err = compare.New(inputs, 0); err != nil {
		return nil, fmt.Errorf("compare runs: %w", err)
	}
	switch {
	case len(ids) > 1:
		return c, nil
	case c.runs[0].Kind == run.KindSweep:
		return c, c.read(ctx, source, runPath(ids[0])+"/children?limit=500", &c.cells)
	}
	return c, c.read(ctx, source, runPath(ids[0])+"/errors", &c.errors)
}

func runPath(id string) string { return "api/runs/" + id }

// read keeps the answer to a request for the page, and decodes it.
func (c *content) read(ctx context.Context, source Source, path string, to any) error {
	body, err := source.Get(ctx, path)
	if err != nil {
		return err
	}
	c.answers[path] = body
	if err := json.Unmarshal(body, to); err != nil {
		return fmt.Errorf("decode %s: %w", path, err)
	}
	return nil
}

// comparedPoints is the number of points of each series in a comparison, at most.
const comparedPoints = 500

// answer reads what the page asks for besides: see web/src/pages and web/src/state.
func (c *content) answer(ctx context.Context, source Source) error {
	first := runPath(c.runs[0].ID)
	if len(c.runs) == 1 {
		paths := []string{"/progress", "/metrics", "/config"}
		if c.runs[0].Kind == run.KindSweep {
			if err := c.intervals(ctx, source); err != nil {
				return err
			}
		} else {
			paths = append(paths, "/timeseries", "/samples")
			for _, metric := range catalogue.Headlines(catalogue.OverTime) {
				paths = append(paths, "/distributions?metric="+metric)
			}
		}
		for _, of := range paths {
			if err := c.get(ctx, source, first+of, first+of); err != nil {
				return err
			}
		}
		return nil
	}
	ids := make([]string, len(c.runs))
	for i := range c.runs {
		r := &c.runs[i]
		ids[i] = r.ID
		path := runPath(r.ID) + "/timeseries"
		query := fmt.Sprintf("?metric=output_tokens,requests_completed,time_to_first_token,request_latency&step=%ds", step(r))
		if err := c.get(ctx, source, path, path+query); err != nil {
			return err
		}
		path = runPath(r.ID) + "/distributions?points=1&metric=time_to_first_token,inter_token_latency,request_latency"
		if err := c.get(ctx, source, path, path); err != nil {
			return err
		}
	}
	path := "api/compare?ids=" + strings.Join(ids, ",")
	return c.get(ctx, source, path, path)
}

// maxIntervals is the number of runs of a sweep whose intervals are shown, as on the
// dashboard.
const maxIntervals = 100

// intervals keeps the confidence intervals of the runs of a sweep that its curves show.
func (c *content) intervals(ctx context.Context, source Source) error {
	var inputs []compare.Input
	for i := range c.cells.Items {
		if r := &c.cells.Items[i]; r.State == bench.StateCompleted && len(inputs) < maxIntervals {
			input, err := source.Input(ctx, r.ID)
			if err != nil {
				return err
			}
			input.Run.Config = nil // the configurations are not compared
			inputs = append(inputs, input)
		}
	}
	shown := compare.Comparison{Runs: []compare.Run{}, Metrics: []compare.Metric{}}
	if len(inputs) > 0 {
		all, err := compare.New(inputs, 0)
		if err != nil {
			return fmt.Errorf("compare runs: %w", err)
		}
		shown.Runs = all.Runs
		for _, tag := range []string{"time_to_first_token", "request_latency"} {
			if m := find(all, tag); m != nil {
				m.Statistics = slices.DeleteFunc(m.Statistics, func(s compare.Statistic) bool { return s.Name != "p50" && s.Name != "p99" })
				shown.Metrics = append(shown.Metrics, *m)
			}
		}
	}
	encoded, err := json.Marshal(shown)
	c.answers["intervals"] = encoded
	return err
}

// get keeps the answer to a request under the path by which the page asks for it.
func (c *content) get(ctx context.Context, source Source, path, request string) error {
	body, err := source.Get(ctx, request)
	c.answers[path] = body
	return err
}

// step returns the length in seconds of a point of the series of a run in a comparison.
func step(r *wire.Run) int {
	if r.StartedAt == nil {
		return 1
	}
	end := time.Now()
	if r.EndedAt != nil {
		end = *r.EndedAt
	}
	return int(min(24*60*60, max(1, math.Ceil(end.Sub(*r.StartedAt).Seconds()/comparedPoints))))
}
