package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"aiperfd/internal/engine/bench"
)

// apiClient calls the API of a daemon, as a user's script would.
type apiClient struct{ base string }

// runProgress is the part of a run resource that the demonstration shows.
type runProgress struct {
	State    bench.State
	Progress struct {
		Phase         string
		Percent       *float64
		RequestsSent  int64 `json:"requests_sent"`
		RequestsDone  int64 `json:"requests_completed"`
		RequestErrors int64 `json:"request_errors"`
		InFlight      int64 `json:"in_flight"`
	}
	Reason string `json:"state_reason"`
}

// String returns a line of the progress display.
func (p runProgress) String() string {
	line := fmt.Sprintf("%-10s", p.State)
	if pr := p.Progress; pr.Phase != "" {
		line += fmt.Sprintf(" %-10s", pr.Phase)
		if pr.Percent != nil {
			line += fmt.Sprintf(" %5.1f %%", *pr.Percent)
		}
		line += fmt.Sprintf("   sent %d, done %d, errors %d, in flight %d", pr.RequestsSent, pr.RequestsDone, pr.RequestErrors, pr.InFlight)
	}
	if p.Reason != "" {
		line += "   " + p.Reason
	}
	return line
}

func (c apiClient) submit(ctx context.Context, document []byte) (id string, err error) {
	var run struct{ ID string }
	err = c.call(ctx, http.MethodPost, "/api/runs", document, &run)
	return run.ID, err
}

func (c apiClient) progress(ctx context.Context, id string) (p runProgress, err error) {
	return p, c.call(ctx, http.MethodGet, "/api/runs/"+id, nil, &p)
}

// call sends one request and decodes the JSON of the response into a pointer.
func (c apiClient) call(ctx context.Context, method, path string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/yaml")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("call daemon: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("call daemon: %w", err)
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("call daemon: %s %s: %s: %s", method, path, resp.Status, data)
	}
	return json.Unmarshal(data, into)
}
