package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// maxLogLine is the size of the largest line of a log that is read.
const maxLogLine = 1 << 20

// Log calls line with each line of the log of a run after the number after, as JSON; with
// follow also with those that are written until the run ends. It returns the number of
// the last line, from which another call goes on.
func (c *Client) Log(ctx context.Context, id, level string, after int64, follow bool, line func([]byte) error) (int64, error) {
	query := url.Values{"follow": {strconv.FormatBool(follow)}}
	if level != "" {
		query.Set("level", level)
	}
	if after > 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: runPath(id, "/logs"), query: query})
	if err != nil {
		return after, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLogLine)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue // it keeps the connection open
		}
		var entry struct {
			Seq int64 `json:"seq"`
		}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			if !lines.Scan() && lines.Err() != nil { // the connection broke within the line
				break
			}
			return after, fmt.Errorf("read log: %w", err)
		}
		if err := line(lines.Bytes()); err != nil {
			return after, err
		}
		after = entry.Seq
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return after, fmt.Errorf("read log: %w", err)
	case err != nil:
		return after, unreachable(ctx, c.Server(), err)
	}
	return after, nil
}
