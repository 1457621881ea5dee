package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 16 << 20

// question is an expression and where it stands.
type question struct {
	where, expr string
	labels      string // "" or a metric: ask for its label values instead of the expression
	alert       bool   // an empty answer is right
}

// server is a Prometheus.
type server struct {
	url     string
	timeout time.Duration // of one question
}

// answer is the part of a response that counts.
type answer struct {
	Status string
	Error  string
	Data   json.RawMessage
}

// result is a vector, without its labels.
type result struct {
	Result []struct {
		Value     []any           `json:"value"`
		Histogram json.RawMessage `json:"histogram"`
	}
}

// pause is the time between two rounds of questions.
const pause = 2 * time.Second

// askAll asks all questions, those without an answer again until wait is over, and returns
// what is wrong with the rest.
func (s server) askAll(ctx context.Context, questions []question, wait time.Duration) []error {
	for deadline := time.Now().Add(wait); ; {
		var open []question
		var faults []error
		for _, q := range questions {
			n, err := s.ask(ctx, q)
			if err == nil && n == 0 && !q.alert {
				err = errors.New("empty answer")
			}
			if err != nil {
				open = append(open, q)
				faults = append(faults, fmt.Errorf("%s: %w\n  %s", q.where, err, q.expr))
			}
		}
		if len(open) == 0 || time.Now().After(deadline) {
			return faults
		}
		questions = open
		select {
		case <-ctx.Done():
			return append(faults, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// ask returns the number of series that have a value, or of values of a label.
func (s server) ask(ctx context.Context, q question) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	target := s.url + "/api/v1/query?" + url.Values{"query": {q.expr}}.Encode()
	if q.labels != "" {
		target = s.url + "/api/v1/label/" + q.labels + "/values?" + url.Values{"match[]": {q.expr}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return 0, err
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return 0, fmt.Errorf("decode the answer of Prometheus (status %d): %w", response.StatusCode, err)
	}
	if a.Status != "success" {
		return 0, errors.New(a.Error)
	}
	if q.labels != "" {
		var values []string
		err := json.Unmarshal(a.Data, &values)
		return len(values), err
	}
	var r result
	if err := json.Unmarshal(a.Data, &r); err != nil {
		return 0, err
	}
	n := 0
	for _, series := range r.Result {
		if series.Histogram != nil || len(series.Value) == 2 && series.Value[1] != "NaN" {
			n++
		}
	}
	return n, nil
}

// selector matches a metric of ours, of the process or of Prometheus, or one recorded by
// a rule, with its matchers.
var selector = regexp.MustCompile(`\b(?:run:\w+:\w+|aiperfd?_\w+|process_\w+|go_\w+|up\b)(?:\{[^}]*\})?`) //nolint:gochecknoglobals // compiled once

// selectors returns the selectors of an expression that every daemon has series for.
func selectors(expr string) []string {
	return slices.DeleteFunc(selector.FindAllString(expr, -1), needsMore)
}

// needsMore reports whether an expression needs a configuration that the checked daemon
// may lack.
func needsMore(expr string) bool {
	return slices.ContainsFunc(optional(), func(prefix string) bool { return strings.Contains(expr, prefix) })
}
