// Package report makes reports of runs to keep and to send: an HTML page that is one file
// with the charts of the dashboard, and a summary in Markdown for pull requests.
package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/results"
	"aiperfd/internal/api/runs"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/series"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/otel"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/verdict"
	finished "aiperfd/internal/results"
	"aiperfd/internal/run"
)

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

// Maker makes reports. All fields are required.
type Maker struct {
	Find    *respond.Finder
	Runs    *runs.Handler
	Results *results.Handler
}

// Make returns the report of one run or sweep, or that of 2 to [compare.MaxRuns] runs
// compared with the first. The reports of runs that have ended do not change, unless
// aiperfd does.
func (m *Maker) Make(ctx context.Context, ids []string, format Format) ([]byte, error) {
	c, err := m.collect(ctx, ids)
	if err != nil {
		return nil, err
	}
	if format == Markdown {
		return []byte(c.text().markdown()), nil
	}
	if err := m.keepAnswers(ctx, c); err != nil {
		return nil, err
	}
	return c.html()
}

// content is what a report is made of.
type content struct {
	version    string
	asOf       time.Time // when runs that go on were read; zero = all have ended
	inputs     []compare.Input
	runs       []wire.Run
	withheld   map[string]verdict.Withheld // per-token metrics of a single run whose percentiles mean nothing
	judged     []*compare.Answer           // of each other run against the first; nil = they cannot be compared
	comparison *compare.Comparison         // of one run, too: its metrics with their intervals
	cells      wire.RunList                // of a sweep
	sweep      *finished.Sweep             // likewise; nil = it has no summary
	answer     *finished.Answer            // of an experiment; nil = it has none
	sweeps     []*finished.Sweep           // of several sweeps that are compared; nil = they are no sweeps
	errors     wire.Errors                 // of a single run
	server     *diagnose.Server            // of a single run; nil = the metrics of its servers were not read
	gpu        *gpu.Report                 // of a single run; nil = its GPUs were not read
	path       *paths.Report               // of a single run; nil = the kernel counted nothing
	spans      *otel.ServerSpans           // of a single run; nil = none were received
	agents     *finished.Agents            // of a single run
	answers    map[string]json.RawMessage  // of the API, by the path by which the page asks for them
}

// keep keeps the answer to a request of the page.
func (c *content) keep(path string, v any) error {
	body, err := plainjson.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	c.answers[path] = body
	return nil
}

// input returns a run with its newest snapshot.
func (m *Maker) input(ctx context.Context, id string) (compare.Input, error) {
	found, err := m.Find.Find(ctx, id)
	if err != nil {
		return compare.Input{}, err
	}
	snap, err := m.Find.Snapshot(ctx, found)
	return compare.Input{Run: found, Snapshot: snap}, err
}

// collect reads what both formats show.
func (m *Maker) collect(ctx context.Context, ids []string) (*content, error) {
	c := &content{version: m.Results.Version, answers: map[string]json.RawMessage{}}
	for _, id := range ids {
		input, err := m.input(ctx, id)
		if err != nil {
			return nil, err
		}
		r, err := m.Runs.Resource(ctx, input.Run)
		if err != nil {
			return nil, err
		}
		if err := c.keep(runPath(id), r); err != nil {
			return nil, err
		}
		if !r.State.Terminal() {
			c.asOf = time.Now().UTC().Truncate(time.Second)
		}
		c.runs, c.inputs = append(c.runs, r), append(c.inputs, input)
	}
	if c.inputs[0].Snapshot != nil && c.inputs[0].Snapshot.Stream != nil {
		c.withheld = c.inputs[0].Snapshot.Stream.Withheld
	}
	var err error
	if c.comparison, err = compare.New(c.inputs, 0); err != nil {
		return nil, fmt.Errorf("compare runs: %w", err)
	}
	switch {
	case len(ids) > 1:
		return c, errors.Join(m.judge(ctx, c), m.summaries(ctx, c))
	case c.runs[0].Kind == run.KindSweep:
		if c.sweep, err = m.sweep(ctx, c, c.inputs[0].Run); err != nil {
			return nil, err
		}
		if c.answer, err = m.experiment(ctx, c, c.inputs[0].Run); err != nil {
			return nil, err
		}
		c.cells, err = m.Runs.ListOf(ctx, run.Query{Parent: ids[0], Sort: run.SortCreated, Limit: 500})
		if err != nil {
			return nil, err
		}
		return c, c.keep(runPath(ids[0])+"/children?limit=500", &c.cells)
	}
	c.errors = wire.NewErrors(c.inputs[0].Run, c.inputs[0].Snapshot)
	telemetry, err := m.Results.TelemetryOf(ctx, c.inputs[0].Run, struct{}{})
	if err != nil {
		return nil, err
	}
	c.server, c.spans, c.gpu, c.path = telemetry.Server, telemetry.ServerSpans, telemetry.GPU, telemetry.Path
	if c.agents, err = m.Results.AgentsOf(ctx, c.inputs[0].Run, struct{}{}); err != nil {
		return nil, err
	}
	return c, errors.Join(c.keep(runPath(ids[0])+"/errors", &c.errors), c.keep(runPath(ids[0])+"/telemetry", telemetry),
		c.keep(runPath(ids[0])+"/agents", c.agents))
}

// sweep keeps what the runs of a sweep say together, and returns it; nil = there is nothing yet.
func (m *Maker) sweep(ctx context.Context, c *content, found *run.Run) (*finished.Sweep, error) {
	s, err := m.Results.SweepOf(ctx, found, struct{}{})
	if errors.Is(err, respond.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s, c.keep(runPath(found.ID)+"/sweep", s)
}

// experiment keeps the answer of an experiment, and returns it; nil = there is none.
func (m *Maker) experiment(ctx context.Context, c *content, found *run.Run) (*finished.Answer, error) {
	a, err := m.Results.CapacityOf(ctx, found, struct{}{})
	if errors.Is(err, respond.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return a, c.keep(runPath(found.ID)+"/answer", a)
}

// judge compares each run with the first, and keeps the answers under the path and the sides of the
// question of the page. A run and a sweep cannot be compared, and have no answer.
func (m *Maker) judge(ctx context.Context, c *content) error {
	first := c.inputs[0].Run.ID
	for i := range c.inputs[1:] {
		other := c.inputs[i+1].Run.ID
		a, err := m.Results.Answer(ctx, &compare.Question{A: []string{first}, B: []string{other}})
		if errors.Is(err, respond.ErrParameter) {
			c.judged = append(c.judged, nil)
			continue
		}
		if err != nil {
			return err
		}
		c.judged = append(c.judged, a)
		if err := c.keep("api/compare "+first+" "+other, a); err != nil {
			return err
		}
	}
	return nil
}

// summaries keeps those of runs that are all sweeps.
func (m *Maker) summaries(ctx context.Context, c *content) error {
	var all []*finished.Sweep
	for i := range c.runs {
		if c.runs[i].Kind != run.KindSweep {
			return nil
		}
		s, err := m.sweep(ctx, c, c.inputs[i].Run)
		if err != nil {
			return err
		}
		if s == nil {
			s = &finished.Sweep{}
		}
		all = append(all, s)
	}
	c.sweeps = all
	return nil
}

func runPath(id string) string { return "api/runs/" + id }

// comparedPoints is the number of points of each series in a comparison, at most.
const comparedPoints = 500

// keepAnswers reads what the page asks for besides: see web/src/pages and web/src/state.
func (m *Maker) keepAnswers(ctx context.Context, c *content) error {
	if len(c.runs) > 1 {
		return m.answerCompared(ctx, c)
	}
	found, snap := c.inputs[0].Run, c.inputs[0].Snapshot
	path := runPath(found.ID)
	if err := errors.Join(
		c.keep(path+"/progress", wire.NewProgress(found, snap)),
		c.keep(path+"/metrics", wire.NewMetrics(c.version, found, snap)),
		c.keep(path+"/config", found.Config),
	); err != nil {
		return err
	}
	if c.runs[0].Kind == run.KindSweep {
		return nil
	}
	if err := m.series(ctx, c, found, 0); err != nil {
		return err
	}
	sampled, err := m.Results.SamplesOf(ctx, found, struct{}{})
	if err != nil {
		return err
	}
	if err := c.keep(path+"/samples", sampled); err != nil {
		return err
	}
	for _, metric := range catalogue.Headlines(catalogue.OverTime) {
		if err := m.distributions(ctx, c, found, "?metric="+metric, series.DistributionQuery{}, metric); err != nil {
			return err
		}
	}
	if snap != nil && len(snap.Workers) > 0 {
		if err := c.keep(path+"/workers", wire.NewWorkers(found, snap, wire.Recent{}, snap.Wall)); err != nil {
			return err
		}
	}
	return m.phases(ctx, c, found, snap)
}

// maxPhases is the number of phases whose distributions are kept.
const maxPhases = 6

// phases keeps what the page asks for to show the phases of a run one by one, and what speculative decoding has
// accepted.
func (m *Maker) phases(ctx context.Context, c *content, found *run.Run, snap *run.Snapshot) error {
	if snap == nil || len(snap.Phases) < 2 && snap.AcceptedDrafts == nil {
		return nil
	}
	if err := c.keep(runPath(found.ID)+"/results", wire.NewResults(found, snap)); err != nil {
		return err
	}
	for i := range snap.Phases[:min(maxPhases, len(snap.Phases))] {
		name := snap.Phases[i].Stats.Name
		for _, metric := range catalogue.Headlines(catalogue.OverTime) {
			query := "?metric=" + metric + "&" + url.Values{"phase": {name}}.Encode()
			if err := m.distributions(ctx, c, found, query, series.DistributionQuery{Phase: name}, metric); err != nil {
				return err
			}
		}
	}
	return nil
}

// answerCompared reads what the page of several runs asks for.
func (m *Maker) answerCompared(ctx context.Context, c *content) error {
	ids := make([]string, len(c.runs))
	for i := range c.runs {
		found := c.inputs[i].Run
		ids[i] = found.ID
		if err := m.series(ctx, c, found, step(&c.runs[i]),
			"output_tokens", "requests_completed", "time_to_first_token", "request_latency"); err != nil {
			return err
		}
		shown := []string{"time_to_first_token", "inter_token_latency", "request_latency"}
		query := "?points=1&metric=" + strings.Join(shown, ",")
		if err := m.distributions(ctx, c, found, query, series.DistributionQuery{Columns: 1}, shown...); err != nil {
			return err
		}
	}
	return c.keep("api/compare?ids="+strings.Join(ids, ","), c.comparison)
}

// series keeps time series of a run, with points of step seconds; all without names, and a
// step that fits for 0.
func (m *Maker) series(ctx context.Context, c *content, found *run.Run, step int64, names ...string) error {
	metrics, err := series.Select(names)
	if err != nil {
		return err
	}
	out, err := m.Results.TimeseriesOf(ctx, found, series.Query{Metrics: metrics, Step: step})
	if err != nil {
		return err
	}
	return c.keep(runPath(found.ID)+"/timeseries", out)
}

// distributions keeps distributions of metrics of a run, as the query q of the path asks for them.
func (m *Maker) distributions(
	ctx context.Context, c *content, found *run.Run, query string, q series.DistributionQuery, names ...string,
) error {
	var err error
	if q.Metrics, err = series.DistributionMetrics(names); err != nil {
		return err
	}
	out, err := m.Results.DistributionsOf(ctx, found, q)
	if err != nil {
		return err
	}
	return c.keep(runPath(found.ID)+"/distributions"+query, out)
}

// step returns the length in seconds of a point of the series of a run in a comparison.
func step(r *wire.Run) int64 {
	if r.StartedAt == nil {
		return 1
	}
	end := time.Now()
	if r.EndedAt != nil {
		end = *r.EndedAt
	}
	return int64(min(24*60*60, max(1, math.Ceil(end.Sub(*r.StartedAt).Seconds()/comparedPoints))))
}
