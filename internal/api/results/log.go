package results

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// The times of a log that is followed.
const (
	pollEvery = 500 * time.Millisecond // how often new lines are looked for
	beatEvery = 15 * time.Second       // after the last line an empty one is sent, so that proxies keep the connection
	maxFollow = time.Hour              // then the client asks for the rest
	writeTime = 30 * time.Second       // for one write to the client
)

// maxFollowers bounds the clients that follow logs at the same time.
const maxFollowers = 64

// LogParameters returns the query parameters of the log.
func LogParameters() []string { return []string{"follow", "level", "after"} }

// Log serves the log of a run.
//
//	@Summary		Get the log of a run
//	@Description	One JSON object per line: seq, time, level, message and fields. The newest lines up to 1 MiB are kept. With follow=true the response ends with the run, after an hour at most; an empty line every 15 s keeps the connection open. To continue after a disconnect, pass the seq of the last line as after.
//	@Tags			runs
//	@Param			follow	query		boolean	false	"Send further lines until the run ends"
//	@Param			level	query		string	false	"The least level"	Enums(debug, info, warn, error)
//	@Param			after	query		integer	false	"Send only lines with a greater seq"	minimum(0)
//	@Success		200		{object}	results.LogLine
//	@Failure		400,503		{object}	wire.Problem
//	@Produce		application/x-ndjson
//	@Router			/api/runs/{id}/logs [get]
func (h *Handler) Log(w http.ResponseWriter, r *http.Request) error {
	s := &sender{handler: h, w: w, control: http.NewResponseController(w)}
	follow, problems := s.query(r.URL.Query())
	if len(problems) > 0 {
		return respond.Fail(respond.ErrParameter, "%s", strings.Join(problems, "; "))
	}
	found, err := h.Find.Run(w, r)
	if err != nil {
		return err
	}
	s.id = found.ID
	if follow && r.Method != http.MethodHead {
		if h.followers.Add(1) > maxFollowers {
			h.followers.Add(-1)
			return respond.ErrTooManyStreams
		}
		defer h.followers.Add(-1)
		return s.follow(r.Context())
	}
	return s.send()
}

// sender sends the lines of one log to a client.
type sender struct {
	handler *Handler
	w       http.ResponseWriter
	control *http.ResponseController
	id      string
	least   int   // index of the least level
	after   int64 // seq of the last line that was sent
	began   bool  // the head of the response was written
	sent    time.Time
}

// query reads the parameters, and returns all that is wrong with them.
func (s *sender) query(values url.Values) (follow bool, problems []string) {
	switch text := values.Get("follow"); text {
	case "", "false":
	case "true":
		follow = true
	default:
		problems = append(problems, fmt.Sprintf("follow: %q is neither true nor false", text))
	}
	if text := values.Get("level"); text != "" {
		if s.least = slices.Index(results.Levels(), text); s.least < 0 {
			problems = append(problems, fmt.Sprintf("level: %q is none of %s", text, strings.Join(results.Levels(), ", ")))
		}
	}
	if text := values.Get("after"); text != "" {
		var err error
		if s.after, err = strconv.ParseInt(text, 10, 64); err != nil || s.after < 0 {
			problems = append(problems, fmt.Sprintf("after: %q is not the seq of a line", text))
		}
	}
	return follow, problems
}

// follow sends lines until the run has ended, the client has left, or the time is over.
func (s *sender) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxFollow)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		active := s.handler.Recorded.Active(s.id) // before the lines are read: the last ones are there if it is not
		if err := s.send(); err != nil {
			return err
		}
		if !active {
			return nil
		}
		if time.Since(s.sent) >= beatEvery {
			if s.write([]byte("\n")) != nil {
				return nil // the client has left
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// send sends the lines that were not sent. Its error is that of a log that cannot be read;
// one of the connection ends the response.
func (s *sender) send() error {
	var out []byte
	err := s.handler.Recorded.Log(s.id, func(line *results.LogLine) error {
		if line.Seq <= s.after {
			return nil
		}
		s.after = line.Seq
		if slices.Index(results.Levels(), line.Level) < s.least {
			return nil
		}
		data, err := plainjson.Marshal(line)
		out = append(append(out, data...), '\n')
		return err
	})
	switch {
	case err != nil && !s.began:
		return fmt.Errorf("log of run %s: %w: %w", s.id, run.ErrStore, err)
	case err != nil:
		panic(http.ErrAbortHandler) // the client sees that the response is not complete
	}
	if s.began && len(out) == 0 {
		return nil
	}
	_ = s.write(out) // if the client has left, the context ends
	return nil
}

// write writes to the client at once. The head of the response goes before the first byte.
func (s *sender) write(data []byte) error {
	if !s.began {
		s.began = true
		s.w.Header().Set("Content-Type", "application/x-ndjson")
		s.w.Header().Set("Cache-Control", "no-store")
		s.w.Header().Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
	}
	s.sent = time.Now()
	_ = s.control.SetWriteDeadline(s.sent.Add(writeTime)) // unsupported by the ResponseWriter of tests
	if _, err := s.w.Write(data); err != nil {
		return err
	}
	return s.control.Flush()
}
