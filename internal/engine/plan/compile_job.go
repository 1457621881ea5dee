package plan

import (
	"cmp"

	"aiperfd/internal/engine/endpoint"
)

// jobs compiles how jobs are submitted and polled, and adapts the endpoint type to
// that.
func (c *compiler) jobs(p *Plan) {
	e := &c.b.Endpoint
	j := &p.Settings.Job
	j.Timeout = e.Timeout.Duration()
	if e.Jobs.Timeout != nil {
		j.Timeout = e.Jobs.Timeout.Duration()
	}
	if e.Jobs.PollInterval != nil {
		j.Interval = e.Jobs.PollInterval.Duration()
	}
	j.Mode, j.Input, j.Download = e.Jobs.RunpodMode, e.Jobs.RunpodInput, e.DownloadVideoContent
	if p.Settings.Streaming {
		j.Mode = cmp.Or(j.Mode, endpoint.RunpodStream)
	}
	j.JSON = e.RequestContentType != nil && *e.RequestContentType == "application/json"
	if p.Kind.Adapt != nil {
		p.Kind.Adapt(&p.Kind, &p.Settings)
	}
}
