package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/api/wire"
)

// Run is a run as the daemon describes it.
type Run struct {
	wire.Run
	JSON json.RawMessage // as it came, also with members that this version does not know
}

// newRun reads a run.
func newRun(data json.RawMessage) (*Run, error) {
	out := &Run{JSON: data}
	if err := json.Unmarshal(data, &out.Run); err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return out, nil
}

// runPath is the path of a run and of what belongs to it.
func runPath(id string, rest string) string { return "/api/runs/" + url.PathEscape(id) + rest }

// Submit submits a document; media is its media type. The request has a key of its own,
// so that it can be repeated until it has an answer, and makes one run.
func (c *Client) Submit(ctx context.Context, data []byte, media string) (*Run, error) {
	out, err := c.call(ctx, request{
		method: http.MethodPost, path: "/api/runs", body: data, repeat: true,
		header: map[string]string{"Content-Type": media, "Idempotency-Key": rand.Text()},
	})
	if err != nil {
		return nil, err
	}
	return newRun(out.body)
}

// Run returns a run by its id, or by the names current and latest.
func (c *Client) Run(ctx context.Context, id string) (*Run, error) {
	data, err := c.get(ctx, runPath(id, ""), nil)
	if err != nil {
		return nil, err
	}
	return newRun(data)
}

// List is a list of runs.
type List struct {
	Items []*Run
	Total int // of all runs that match
}

// pageSize is the number of runs of one request.
const pageSize = 200

// List returns the runs that match the parameters of GET /api/runs, at most limit.
func (c *Client) List(ctx context.Context, query url.Values, limit int) (*List, error) {
	return c.list(ctx, "/api/runs", query, limit, func(*Run) bool { return true })
}

// Children returns the runs of a study, at most limit.
func (c *Client) Children(ctx context.Context, id string, limit int) (*List, error) {
	return c.list(ctx, runPath(id, "/children"), url.Values{}, limit, func(*Run) bool { return true })
}

// list reads pages until there is no further one, or limit runs are read, and returns
// those to keep.
func (c *Client) list(ctx context.Context, path string, query url.Values, limit int, keep func(*Run) bool) (*List, error) {
	out := &List{Items: []*Run{}}
	read := 0
	params := url.Values{}
	for name, values := range query {
		params[name] = slices.Clone(values)
	}
	for {
		params.Set("limit", strconv.Itoa(min(pageSize, limit-read)))
		data, err := c.get(ctx, path, params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"next_cursor"`
			Total int               `json:"total"`
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return nil, fmt.Errorf("read list of runs: %w", err)
		}
		for _, item := range page.Items {
			found, err := newRun(item)
			if err != nil {
				return nil, err
			}
			if keep(found) {
				out.Items = append(out.Items, found)
			}
		}
		out.Total = page.Total
		read += len(page.Items)
		if page.Next == "" || len(page.Items) == 0 || read >= limit {
			return out, nil
		}
		params.Set("cursor", page.Next)
	}
}

// Cancel stops a run. If it was queued or stopping, it is also returned.
func (c *Client) Cancel(ctx context.Context, id string, request wire.Cancel) (*Run, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	out, err := c.call(ctx, cancelRequest(id, body))
	if err != nil {
		return nil, err
	}
	return newRun(out.body)
}

// cancelRequest is the request of Cancel, which may be repeated.
func cancelRequest(id string, body []byte) request {
	return request{
		method: http.MethodPost, path: runPath(id, "/cancel"), body: body, repeat: true,
		header: map[string]string{"Content-Type": "application/json"},
	}
}

// Delete deletes a run with its files; with force, it is cancelled before. It reports
// whether the run is gone already.
func (c *Client) Delete(ctx context.Context, id string, force bool) (gone bool, err error) {
	query := url.Values{}
	if force {
		query.Set("force", "true")
	}
	out, err := c.call(ctx, request{method: http.MethodDelete, path: runPath(id, ""), query: query})
	if err != nil {
		return false, err
	}
	return out.status == http.StatusNoContent, nil
}

// Results returns the results of a run as JSON.
func (c *Client) Results(ctx context.Context, id string) (json.RawMessage, error) {
	return c.get(ctx, runPath(id, "/results"), nil)
}

// Config returns the resolved document of a run as JSON, without its secrets.
func (c *Client) Config(ctx context.Context, id string) (json.RawMessage, error) {
	return c.get(ctx, runPath(id, "/config"), nil)
}

// Answer returns the answer to a question about runs: the bodies of POST /api/compare.
func (c *Client) Answer(ctx context.Context, question json.RawMessage) (json.RawMessage, error) {
	out, err := c.call(ctx, request{
		method: http.MethodPost, path: "/api/compare", body: question, repeat: true,
		header: map[string]string{"Content-Type": "application/json"},
	})
	if err != nil {
		return nil, err
	}
	return out.body, nil
}

// baselinePath is the path of a baseline, or of one of its revisions; without a name, that of all.
func baselinePath(name string, revision int) string {
	path := "/api/baselines"
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	if revision > 0 {
		path += "/" + strconv.Itoa(revision)
	}
	return path
}

// Baseline returns a baseline or, with a number above 0, one of its revisions; without a name, all baselines.
func (c *Client) Baseline(ctx context.Context, name string, revision int) (json.RawMessage, error) {
	return c.get(ctx, baselinePath(name, revision), nil)
}

// SetBaseline makes runs the newest revision of a baseline, and returns it.
func (c *Client) SetBaseline(ctx context.Context, name string, runs wire.BaselineRuns) (json.RawMessage, error) {
	return c.sendJSON(ctx, request{method: http.MethodPut, path: baselinePath(name, 0), repeat: true}, runs)
}

// PromoteBaseline makes runs the newest revision of a baseline if they pass its rules, and returns it with the answer.
func (c *Client) PromoteBaseline(ctx context.Context, name string, candidate wire.Candidate) (json.RawMessage, error) {
	return c.sendJSON(ctx, request{method: http.MethodPost, path: baselinePath(name, 0) + "/promote"}, candidate)
}

// Judge returns whether runs may pass by rules, and changes no baseline.
func (c *Client) Judge(ctx context.Context, name string, of *wire.Judgement) (json.RawMessage, error) {
	return c.sendJSON(ctx, request{method: http.MethodPost, path: baselinePath(name, 0) + "/judge", repeat: true}, of)
}

// sendJSON performs a request with a value as its body, and returns the body of the response.
func (c *Client) sendJSON(ctx context.Context, r request, value any) (json.RawMessage, error) {
	var err error
	if r.body, err = json.Marshal(value); err != nil {
		return nil, err
	}
	r.header = map[string]string{"Content-Type": "application/json"}
	out, err := c.call(ctx, r)
	if err != nil {
		return nil, err
	}
	return out.body, nil
}

// RemoveBaseline removes a baseline or, with a number above 0, one of its revisions.
func (c *Client) RemoveBaseline(ctx context.Context, name string, revision int) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: baselinePath(name, revision)})
	return err
}

// Compare returns the values of runs beside those of the first of them, as JSON.
func (c *Client) Compare(ctx context.Context, ids []string) (json.RawMessage, error) {
	return c.get(ctx, "/api/compare", url.Values{"ids": {strings.Join(ids, ",")}, "baseline": ids[:1]})
}

// Report returns the report of a run, or that of several runs compared with the first.
func (c *Client) Report(ctx context.Context, ids []string, format string) ([]byte, error) {
	r := request{method: http.MethodGet, path: runPath(ids[0], "/report."+format), repeat: true}
	if len(ids) > 1 {
		r.path, r.query = "/api/compare/report."+format, url.Values{"ids": {strings.Join(ids, ",")}}
	}
	out, err := c.call(ctx, r)
	if err != nil {
		return nil, err
	}
	return out.body, nil
}

// Queue returns the active and the queued runs; also as JSON.
func (c *Client) Queue(ctx context.Context) (*wire.Queue, json.RawMessage, error) {
	data, err := c.get(ctx, "/api/queue", nil)
	if err != nil {
		return nil, nil, err
	}
	out, err := decoded[wire.Queue](data, nil)
	return out, data, err
}

// Cluster returns the load generators that have joined; also as JSON.
func (c *Client) Cluster(ctx context.Context) (*wire.Cluster, json.RawMessage, error) {
	data, err := c.get(ctx, "/api/cluster", nil)
	if err != nil {
		return nil, nil, err
	}
	out, err := decoded[wire.Cluster](data, nil)
	return out, data, err
}

// Drain makes a load generator, named by its name or id, take no further run.
func (c *Client) Drain(ctx context.Context, name string) (*wire.ClusterWorker, error) {
	out, err := c.call(ctx, request{
		method: http.MethodPost, path: "/api/cluster/workers/" + url.PathEscape(name) + "/drain", repeat: true,
	})
	if err != nil {
		return nil, err
	}
	return decoded[wire.ClusterWorker](out.body, nil)
}

// Metrics returns the newest values of the metrics of a run.
func (c *Client) Metrics(ctx context.Context, id string) (*wire.Metrics, error) {
	return decoded[wire.Metrics](c.get(ctx, runPath(id, "/metrics"), nil))
}

// Progress returns the phases of a run.
func (c *Client) Progress(ctx context.Context, id string) (*wire.Progress, error) {
	return decoded[wire.Progress](c.get(ctx, runPath(id, "/progress"), nil))
}

// Errors returns the errors of a run.
func (c *Client) Errors(ctx context.Context, id string) (*wire.Errors, error) {
	return decoded[wire.Errors](c.get(ctx, runPath(id, "/errors"), nil))
}

// Timeseries returns time series of metrics between two seconds of a run, with points of
// step seconds.
func (c *Client) Timeseries(
	ctx context.Context, id string, metrics []string, step, from, to int64,
) (*wire.Timeseries, error) {
	return decoded[wire.Timeseries](c.get(ctx, runPath(id, "/timeseries"), url.Values{
		"metric": {strings.Join(metrics, ",")}, "step": {strconv.FormatInt(step, 10) + "s"},
		"from": {strconv.FormatInt(from, 10)}, "to": {strconv.FormatInt(to, 10)},
	}))
}

// Version returns the version of the daemon.
func (c *Client) Version(ctx context.Context) (*wire.Version, error) {
	return decoded[wire.Version](c.get(ctx, "/api/version", nil))
}

// decoded reads an answer.
func decoded[T any](data json.RawMessage, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return out, nil
}
