package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/metric/measure"
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
