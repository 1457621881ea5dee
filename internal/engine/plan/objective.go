package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/suggest"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
)

// runSLOs reads the objectives of the run as a whole.
func runSLOs(c *compiler, p *Plan) {
	for i, text := range c.b.RunSLOs {
		o, err := measure.ParseObjective(text, config.ObjectiveAliases())
		if err == nil {
			err = p.Metrics.Measures(o.Tag)
		}
		if err != nil {
			c.problem(fmt.Sprintf("runSlos/%d", i), problem.CodeBadEnum, "%v", err)
			continue
		}
		p.RunSLOs = append(p.RunSLOs, o)
	}
}

// unwantedFindings reads the findings that the run must not have.
func unwantedFindings(c *compiler, p *Plan) {
	servers, cards := diagnose.Codes(), gpu.Codes()
	for i, code := range c.b.Gates.FailOnFinding {
		at := fmt.Sprintf("gates/failOnFinding/%d", i)
		switch {
		case slices.Contains(p.Unwanted, code): // it is given twice
		case slices.Contains(servers, code) && !c.b.ServerMetrics.Enabled:
			c.problem(at, problem.CodeConflict, "%s: is about servers, whose metrics are not read (--no-server-metrics)", code)
		case slices.Contains(cards, code) && !c.b.GPUTelemetry.Enabled:
			c.problem(at, problem.CodeConflict, "%s: is about GPUs, whose metrics are not read (--no-gpu-telemetry)", code)
		case slices.Contains(servers, code), slices.Contains(cards, code):
			p.Unwanted = append(p.Unwanted, code)
		default:
			all := slices.Concat(servers, cards)
			c.problem(at, problem.CodeBadEnum, "%s: must be one of %s%s", problem.Clip(code), strings.Join(all, ", "), suggest.DidYouMean(code, all))
		}
	}
}

// Objectives returns the metrics that the run has objectives of, of single requests or as a
// whole.
func (p *Plan) Objectives() []string {
	tags := slices.Sorted(maps.Keys(p.Metrics.SLOs))
	for i := range p.RunSLOs {
		tags = append(tags, p.RunSLOs[i].Tag)
	}
	return tags
}

// tokenDeadline makes the deadlines of tokens an objective of each request.
func tokenDeadline(c *compiler, p *Plan) {
	d := c.b.TokenDeadline
	switch {
	case d == nil:
		return
	case d.TTFT == nil || d.ITL == nil:
		c.problem("tokenDeadline", problem.CodeRequired, "needs both ttft and itl, in milliseconds")
		return
	case !p.Settings.Streaming:
		c.problem("tokenDeadline", problem.CodeConflict, "deadlines of tokens need streaming (--streaming)")
		return
	case !p.Kind.Caps.ProducesTokens:
		c.problem("tokenDeadline", problem.CodeConflict, "the endpoint type %s does not produce tokens", c.b.Endpoint.Type)
		return
	}
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	p.Metrics.Deadline = catalogue.Deadline{First: ms(*d.TTFT), Each: ms(*d.ITL)}
	p.Metrics.SLOs = maps.Clone(p.Metrics.SLOs)
	if p.Metrics.SLOs == nil {
		p.Metrics.SLOs = make(map[string]float64)
	}
	p.Metrics.SLOs["token_deadline_lateness"] = 0
}
