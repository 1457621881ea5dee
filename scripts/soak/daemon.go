package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"aiperfd/scripts/lab"
)

// watch keeps one WebSocket client connected until ctx ends. A client that does not read
// is cut by the daemon, and connects again.
func watch(ctx context.Context, addr string, reads bool) {
	for ctx.Err() == nil {
		//nolint:bodyclose // there is no body after an upgrade
		c, _, err := websocket.DefaultDialer.DialContext(ctx, "ws://"+addr+"/ws", nil)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if !reads {
			lab.Pause(ctx, 30*time.Second)
		}
		for reads && ctx.Err() == nil && err == nil {
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			_, _, err = c.ReadMessage()
		}
		_ = c.Close()
	}
}

// perform submits a document and waits until its run has ended.
func perform(ctx context.Context, daemon *lab.Program, document string) error {
	var run struct {
		ID, State string
		Error     any
	}
	if err := daemon.Ask(ctx, http.MethodPost, "/api/runs", document, http.StatusCreated, &run); err != nil {
		return err
	}
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if err := daemon.Get(ctx, "/api/runs/"+run.ID, &run); err != nil {
			return err
		}
		switch {
		case run.State == "completed":
			return nil
		case lab.Terminal(run.State):
			return fmt.Errorf("%s is %s: %v", run.ID, run.State, run.Error)
		}
	}
	return fmt.Errorf("%s is still %s after 2 minutes", run.ID, run.State)
}

// readGauges returns what the daemon says about itself on /metrics.
func readGauges(ctx context.Context, daemon *lab.Program, names []string) ([]float64, error) {
	_, text, err := daemon.Call(ctx, http.MethodGet, "/metrics", "")
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(names))
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, " ")
		if i := slices.Index(names, name); i >= 0 {
			if _, err := fmt.Sscan(value, &out[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
