// Command promcheck asks a Prometheus every expression of Grafana dashboards and of
// Prometheus rules.
//
//	go run ./scripts/promcheck -url http://127.0.0.1:9090 \
//	  examples/grafana/dashboards/*.json examples/prometheus/recording.yml examples/prometheus/alerts.yml
//
// It exits with 1 if an expression is refused, or answered with nothing or with NaN only.
// With -wait, each must have been answered once in that time: some have values only during
// a run, and some only after it.
// The expressions of dashboards are asked with all values of the variables. An alert is
// rightly empty in a healthy system; of its expression, each selector must have series.
// It also reports faults of the dashboards that Grafana shows to its users only:
// panels without unit or description, repeated ids, overlapping panels, other data
// sources than the variable, and variables that are used but not defined.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promcheck:", err)
		os.Exit(1)
	}
}

// optional are families that need a configuration: access control and TLS. Their alerts
// are tested by promtool alone.
func optional() []string { return []string{"aiperfd_tls_", "aiperfd_reload_"} }

// run checks the files and reports all faults at once.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("promcheck", flag.ContinueOnError)
	url := flags.String("url", "http://127.0.0.1:9090", "Prometheus to ask")
	wait := flags.Duration("wait", 0, "ask again until all are answered, at most for this time")
	offline := flags.Bool("offline", false, "only check the form of the files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("which files? Dashboards (.json) and rules (.yml)")
	}
	var questions []question
	var faults []error
	for _, name := range flags.Args() {
		read := readRules
		if filepath.Ext(name) == ".json" {
			read = readDashboard
		}
		found, err := read(name)
		faults = append(faults, err)
		questions = append(questions, found...)
	}
	if *offline {
		return errors.Join(faults...)
	}
	prometheus, err := api.NewClient(api.Config{Address: *url})
	if err != nil {
		return err
	}
	questions, more := expand(questions)
	faults = append(faults, more...)
	faults = append(faults, askAll(ctx, v1.NewAPI(prometheus), questions, *wait)...)
	if err := errors.Join(faults...); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d expressions answered\n", len(questions))
	return nil
}

// expand replaces the expression of an alert by itself, which only must not be refused,
// and its selectors.
func expand(questions []question) (out []question, faults []error) {
	for _, q := range questions {
		out = append(out, q)
		if !q.alert || needsMore(q.expr) {
			continue
		}
		parts := selectors(q.expr)
		if len(parts) == 0 {
			faults = append(faults, fmt.Errorf("%s: no selector in %s", q.where, q.expr))
		}
		for _, part := range parts {
			out = append(out, question{where: q.where, expr: part})
		}
	}
	return out, faults
}
