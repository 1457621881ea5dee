// Package mlflow writes the results of a run to an MLflow server, by version 2.0 of its REST API: metrics,
// parameters and tags in batches, and files as artifacts if the server proxies them.
package mlflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/engine/allow"
	"aiperfd/internal/engine/durable"
)

// Limits of a batch and of its texts, in the API. A batch is kept well below its limit of 1 MB.
const (
	maxAll   = 1000 // metrics, params and tags together
	maxTexts = 100  // params, and tags
	maxParam = 6000 // bytes of a value
	maxTag   = 5000
)

// Server is where results are sent.
type Server struct {
	URL   *url.URL    // http or https; user info becomes basic authentication
	Token string      // for the Authorization header; empty = none
	Allow *allow.List // checked when a connection is opened
	// Dial opens connections; nil = the system's, to allowed addresses.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Pair is a name with its text.
type Pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Metric is a number of a run.
type Metric struct {
	Key   string
	Value float64
}

// Run is what is written.
type Run struct {
	Experiment   string // its name
	ExperimentID string // of [Find]
	Name         string
	ParentID     string // may be empty
	BenchmarkID  string
	Start, End   time.Time
	Status       string // FINISHED, FAILED or KILLED
	Metrics      []Metric
	Params, Tags []Pair
	Files        *os.Root // the folder of the run
	Globs        []string // which files become artifacts
	ShownURI     string   // the URL of the server without secrets
}

// MetadataFile says in the folder of a run where its results are, as AIPerf has it.
const MetadataFile = "mlflow_export.json"

// metadata is the content of [MetadataFile].
type metadata struct {
	TrackingURI   string   `json:"tracking_uri"`
	Experiment    string   `json:"experiment"`
	RunID         string   `json:"run_id"`
	RunName       string   `json:"run_name"`
	BenchmarkID   string   `json:"benchmark_id"`
	ParentRunID   *string  `json:"parent_run_id"`
	LiveStreaming bool     `json:"live_streaming"`
	ReusedLiveRun bool     `json:"reused_live_run"`
	MetricKeys    []string `json:"metric_keys"`
	ParamKeys     []string `json:"param_keys"`
	TagKeys       []string `json:"tag_keys"`
	Uploaded      []string `json:"uploaded_artifacts"`
	ExportedAt    int64    `json:"exported_at_ns"`
}

// Find returns the id of an experiment, which is created if there is none.
func Find(ctx context.Context, s Server, name string) (id string, err error) {
	c := newClient(s)
	defer c.http.CloseIdleConnections()
	if id, err = c.experiment(ctx, name); err != nil {
		return "", fmt.Errorf("find the experiment %s: %w", name, err)
	}
	return id, nil
}

// Export writes a run. notes are what is missing though the run was written.
func Export(ctx context.Context, s Server, r *Run) (notes []string, err error) {
	c := newClient(s)
	defer c.http.CloseIdleConnections()
	parent := r.ParentID
	if parent != "" {
		err := c.call(ctx, http.MethodGet, "runs/get", url.Values{"run_id": {parent}}, nil, nil)
		switch {
		case missing(err):
			notes, parent = append(notes, "there is no run "+parent+" to be the parent: the run stands alone"), ""
		case err != nil:
			return nil, fmt.Errorf("find the parent run %s: %w", parent, err)
		}
	}
	id, artifacts, err := c.begin(ctx, parent, r)
	if err != nil {
		return nil, fmt.Errorf("create a run: %w", err)
	}
	defer func() {
		if err != nil { // the server must not show a run that goes on for ever
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = c.end(late, id, "FAILED", r.End)
		}
	}()
	if err := c.logBatches(ctx, id, r); err != nil {
		return nil, fmt.Errorf("log metrics: %w", err)
	}
	more, err := c.upload(ctx, id, parent, artifacts, r)
	if notes = append(notes, more...); err != nil {
		return nil, err
	}
	if err := c.end(ctx, id, r.Status, r.End); err != nil {
		return nil, fmt.Errorf("end the run: %w", err)
	}
	return notes, nil
}

// client calls the API.
type client struct {
	Server
	http *http.Client
}

func newClient(s Server) *client {
	dial := s.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, Control: s.Allow.Control}).DialContext
	}
	return &client{Server: s, http: &http.Client{
		// A redirect could lead to a server that is not allowed, and take the token along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DialContext: dial, ForceAttemptHTTP2: true},
	}}
}

// apiError is an answer of the server that is no success.
type apiError struct {
	status  int
	Code    string `json:"error_code"`
	Message string `json:"message"`
}

func (e *apiError) Error() string {
	parts := []string{fmt.Sprintf("HTTP %d", e.status)}
	for _, more := range []string{e.Code, e.Message} {
		if more != "" {
			parts = append(parts, more[:min(len(more), 300)])
		}
	}
	return strings.Join(parts, ": ")
}

// missing reports whether the server does not know what it was asked for.
func missing(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && e.Code == "RESOURCE_DOES_NOT_EXIST"
}

// maxAnswer is the most that is read of an answer.
const maxAnswer = 4 << 20

// call calls a method of the API.
func (c *client) call(ctx context.Context, method, name string, query url.Values, body, into any) error {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
	}
	at := c.URL.JoinPath("api/2.0/mlflow", name)
	at.RawQuery = query.Encode()
	answer, err := c.send(ctx, method, at, bytes.NewReader(content), "application/json")
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", name, err)
	}
	return nil
}

// send sends one request and returns the body of its answer.
func (c *client) send(ctx context.Context, method string, at *url.URL, body io.Reader, kind string) ([]byte, error) {
	user := at.User
	at.User = nil
	req, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if file, ok := body.(*os.File); ok {
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		req.ContentLength = info.Size()
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "aiperfd")
	switch {
	case c.Token != "":
		req.Header.Set("Authorization", "Bearer "+c.Token)
	case user != nil:
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the URL
		}
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer: %w", err)
	case resp.StatusCode/100 != 2:
		failure := &apiError{status: resp.StatusCode}
		_ = json.Unmarshal(answer, failure) // it may be the page of a proxy
		return nil, failure
	}
	return answer, nil
}

// experiment is [Find] without the name of what it does.
func (c *client) experiment(ctx context.Context, name string) (string, error) {
	find := func() (string, error) {
		var got struct {
			Experiment struct {
				ID string `json:"experiment_id"`
			} `json:"experiment"`
		}
		err := c.call(ctx, http.MethodGet, "experiments/get-by-name", url.Values{"experiment_name": {name}}, nil, &got)
		return got.Experiment.ID, err
	}
	id, err := find()
	if !missing(err) {
		return id, err
	}
	var made struct {
		ID string `json:"experiment_id"`
	}
	err = c.call(ctx, http.MethodPost, "experiments/create", nil, map[string]string{"name": name}, &made)
	if e, ok := errors.AsType[*apiError](err); ok && e.Code == "RESOURCE_ALREADY_EXISTS" {
		return find() // another run has made it meanwhile
	}
	return made.ID, err
}

// begin creates the run and returns its id and where its artifacts are.
func (c *client) begin(ctx context.Context, parent string, r *Run) (id, artifacts string, err error) {
	tags := []Pair{{"mlflow.source.name", "aiperfd"}, {"mlflow.source.type", "JOB"}}
	if parent != "" {
		tags = append(tags, Pair{"mlflow.parentRunId", parent})
	}
	var made struct {
		Run struct {
			Info struct {
				ID        string `json:"run_id"`
				Artifacts string `json:"artifact_uri"`
			} `json:"info"`
		} `json:"run"`
	}
	err = c.call(ctx, http.MethodPost, "runs/create", nil, map[string]any{
		"experiment_id": r.ExperimentID, "run_name": r.Name, "start_time": r.Start.UnixMilli(), "tags": tags,
	}, &made)
	if err == nil && made.Run.Info.ID == "" {
		err = errors.New("the answer has no run id")
	}
	return made.Run.Info.ID, made.Run.Info.Artifacts, err
}

// end says how the run has ended.
func (c *client) end(ctx context.Context, id, status string, at time.Time) error {
	return c.call(ctx, http.MethodPost, "runs/update", nil, map[string]any{
		"run_id": id, "status": status, "end_time": at.UnixMilli(),
	}, nil)
}

// logBatches logs metrics, params and tags in pieces that the API takes.
func (c *client) logBatches(ctx context.Context, id string, r *Run) error {
	type metric struct {
		Key       string  `json:"key"`
		Value     float64 `json:"value"`
		Timestamp int64   `json:"timestamp"`
		Step      int64   `json:"step"`
	}
	var metrics []metric
	for _, m := range r.Metrics {
		if !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) { // JSON has none
			metrics = append(metrics, metric{m.Key, m.Value, r.End.UnixMilli(), 0})
		}
	}
	params, tags := shortened(r.Params, maxParam), shortened(r.Tags, maxTag)
	for len(metrics)+len(params)+len(tags) > 0 {
		p, t := min(len(params), maxTexts), min(len(tags), maxTexts)
		m := min(len(metrics), maxAll-p-t)
		err := c.call(ctx, http.MethodPost, "runs/log-batch", nil, map[string]any{
			"run_id": id, "metrics": metrics[:m], "params": params[:p], "tags": tags[:t],
		}, nil)
		if err != nil {
			return err
		}
		metrics, params, tags = metrics[m:], params[p:], tags[t:]
	}
	return nil
}

// shortened returns pairs whose values have at most so many bytes.
func shortened(all []Pair, most int) []Pair {
	out := slices.Clone(all)
	for i := range out {
		if v := &out[i].Value; len(*v) > most {
			*v = strings.ToValidUTF8((*v)[:most], "")
		}
	}
	return out
}

// upload writes the metadata file, and uploads it with the files that the globs select.
func (c *client) upload(ctx context.Context, id, parent, artifacts string, r *Run) (notes []string, err error) {
	files, err := selected(r)
	if err != nil {
		return nil, fmt.Errorf("list the files of the run: %w", err)
	}
	at := c.proxied(artifacts)
	if at == nil {
		files = nil
		notes = append(notes,
			"the server does not proxy artifacts (mlflow server --serve-artifacts), so no files were uploaded")
	}
	m := metadata{
		TrackingURI: r.ShownURI, Experiment: r.Experiment, RunID: id, RunName: r.Name, BenchmarkID: r.BenchmarkID,
		MetricKeys: []string{}, ParamKeys: keys(r.Params), TagKeys: keys(r.Tags), ExportedAt: time.Now().UnixNano(),
		Uploaded: append([]string{}, files...),
	}
	if parent != "" {
		m.ParentRunID = &parent
	}
	for _, one := range r.Metrics {
		m.MetricKeys = append(m.MetricKeys, one.Key)
	}
	slices.Sort(m.MetricKeys)
	if at != nil {
		files = append(files, MetadataFile)
		m.Uploaded = append(m.Uploaded, MetadataFile)
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return notes, fmt.Errorf("encode %s: %w", MetadataFile, err)
	}
	name := path.Join(r.Files.Name(), MetadataFile)
	if err := durable.WriteFile(name, durable.Shared, append(content, '\n')); err != nil {
		return notes, fmt.Errorf("write %s: %w", MetadataFile, err)
	}
	for _, file := range files {
		if err := c.put(ctx, at, r.Files, file); err != nil {
			return notes, fmt.Errorf("upload %s: %w", file, err)
		}
	}
	return notes, nil
}

// keys returns the names of pairs in their order.
func keys(all []Pair) []string {
	out := make([]string, 0, len(all))
	for _, p := range all {
		out = append(out, p.Key)
	}
	slices.Sort(out)
	return out
}

// proxied returns where the server takes the artifacts of a run; nil = it does not.
func (c *client) proxied(artifacts string) *url.URL {
	rest, ok := strings.CutPrefix(artifacts, "mlflow-artifacts:")
	if !ok {
		return nil
	}
	if u, err := url.Parse(rest); err == nil {
		rest = u.Path // without an authority
	}
	return c.URL.JoinPath("api/2.0/mlflow-artifacts/artifacts", rest)
}

// selected returns the files that the globs select, in the order of the globs, without those whose names begin
// with a dot.
func selected(r *Run) (files []string, err error) {
	for _, glob := range r.Globs {
		matched, err := match(r.Files, glob)
		if err != nil {
			return nil, err
		}
		for _, name := range matched {
			if name != MetadataFile && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	return files, nil
}

// put uploads one file. AIPerf sorts them into two folders.
func (c *client) put(ctx context.Context, at *url.URL, files *os.Root, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	folder := "exports"
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".svg", ".gif", ".webp", ".html":
		folder = "plots"
	}
	to := at.JoinPath(folder, strings.TrimPrefix(name, folder+"/"))
	_, err = c.send(ctx, http.MethodPut, to, f, "application/octet-stream")
	return err
}
