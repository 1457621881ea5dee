package client

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"aiperfd/internal/api/wire"
)

// Live reads what a run has measured so far. Both fields are required.
type Live struct {
	Client *Client
	ID     string // of the run
}

// Progress returns the phases of the run.
func (l Live) Progress(ctx context.Context) (*wire.Progress, error) {
	return decoded[wire.Progress](l.Client.get(ctx, runPath(l.ID, "/progress"), nil))
}

// Errors returns the errors of the run.
func (l Live) Errors(ctx context.Context) (*wire.Errors, error) {
	return decoded[wire.Errors](l.Client.get(ctx, runPath(l.ID, "/errors"), nil))
}

// Timeseries returns time series of metrics between two seconds of the run, with points of
// step seconds.
func (l Live) Timeseries(ctx context.Context, metrics []string, step, from, to int64) (*wire.Timeseries, error) {
	return decoded[wire.Timeseries](l.Client.get(ctx, runPath(l.ID, "/timeseries"), url.Values{
		"metric": {strings.Join(metrics, ",")}, "step": {strconv.FormatInt(step, 10) + "s"}, "from": {strconv.FormatInt(from, 10)}, "to": {strconv.FormatInt(to, 10)},
	}))
}
