package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// question is an expression and where it stands.
type question struct {
	where, expr string
	labels      string   // "" or a metric: ask for its label values instead of the expression
	taken       []string // labels that every series of the answer must have
	alert       bool     // an empty answer is right
}

// pause is the time between two rounds of questions.
const pause = 2 * time.Second

// askAll asks all questions, those without an answer again until wait is over, and returns
// what is wrong with the rest.
func askAll(ctx context.Context, prometheus v1.API, questions []question, wait time.Duration) []error {
	for deadline := time.Now().Add(wait); ; {
		var open []question
		var faults []error
		for _, q := range questions {
			n, err := ask(ctx, prometheus, q)
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

// askLimit is the time that one question may take.
const askLimit = 10 * time.Second

// ask returns the number of series that have a value, or of values of a label.
func ask(ctx context.Context, prometheus v1.API, q question) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if q.labels != "" {
		values, _, _, err := prometheus.LabelValues(ctx, q.labels, []string{q.expr}, time.Time{}, time.Time{})
		return len(values), err
	}
	answer, _, _, err := prometheus.Query(ctx, q.expr, time.Time{})
	if err != nil {
		return 0, err
	}
	series, ok := answer.(model.Vector)
	if !ok {
		return 0, fmt.Errorf("the answer is a %s, not a vector", answer.Type())
	}
	n := 0
	for _, one := range series {
		for _, label := range q.taken {
			if one.Metric[model.LabelName(label)] == "" {
				return 0, fmt.Errorf("a series has no label %s: %s", label, one.Metric)
			}
		}
		if one.Histogram != nil || !math.IsNaN(float64(one.Value)) {
			n++
		}
	}
	return n, nil
}

// selector matches a metric of ours, of the process or of Prometheus, or one recorded by
// a rule, with its matchers.
var selector = regexp.MustCompile(`\b(?:run:\w+:\w+|aiperfd?_\w+|process_\w+|go_\w+|up\b)(?:\{[^}]*\})?`)

// selectors returns the selectors of an expression that every daemon has series for.
func selectors(expr string) []string {
	return slices.DeleteFunc(selector.FindAllString(expr, -1), needsMore)
}

// needsMore reports whether an expression needs a configuration that the checked daemon
// may lack.
func needsMore(expr string) bool {
	return slices.ContainsFunc(optional(), func(prefix string) bool { return strings.Contains(expr, prefix) })
}
