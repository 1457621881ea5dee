// Command arrivals tests whether the requests of a run were sent according to the
// arrival process of an open loop.
//
//	go run ./scripts/arrivals artifacts/…/profile_export.jsonl --rate 2000 --process poisson
//
// It reads the record file of a run, lines or Parquet, and compares, of one phase, the gaps
// between the due times and the gaps between the starts with the distribution of
// the process, by the Anderson–Darling test, and prints the achieved rate and the
// lag of the starts. It exits with 1 if the starts of a random process do not fit
// (p below 0.01), if a due time of a constant one is wrong, or if the rate differs by
// more than 0.5 %.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"aiperfd/internal/engine/stat"
	"aiperfd/internal/results"
)

// Limits of the verdict.
const (
	leastP    = 0.01
	rateSlack = 0.005
	dueSlack  = 2.0 // rounding error of a gap of a constant process, in nanoseconds
)

func main() {
	ok, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "arrivals:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	file       string
	process    string
	rate       float64
	smoothness float64
	phase      string
}

func parse(args []string) (options, error) {
	var o options
	set := flag.NewFlagSet("arrivals", flag.ContinueOnError)
	set.StringVar(&o.process, "process", "poisson", "constant, poisson or gamma")
	set.Float64Var(&o.rate, "rate", 0, "arrivals per second that were asked for")
	set.Float64Var(&o.smoothness, "smoothness", 1, "of a gamma process")
	set.StringVar(&o.phase, "phase", "profiling", "kind of the phase to look at")
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		o.file, args = args[0], args[1:]
	}
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if o.file == "" {
		o.file = set.Arg(0)
	}
	switch {
	case o.file == "":
		return o, errors.New("no file; usage: arrivals FILE --rate N [--process poisson]")
	case !(o.rate > 0) || !(o.smoothness > 0):
		return o, errors.New("--rate and --smoothness must be above 0")
	case !slices.Contains([]string{"constant", "poisson", "gamma"}, o.process):
		return o, fmt.Errorf("process %q does not exist", o.process)
	}
	return o, nil
}

// run prints the report; false = the arrivals do not match the process.
func run(args []string, out io.Writer) (bool, error) {
	o, err := parse(args)
	if err != nil {
		return false, err
	}
	dueTimes, starts, err := read(o.file, o.phase)
	if err != nil {
		return false, err
	}
	if len(starts) < 3 {
		return false, fmt.Errorf("%s has %d requests of an open loop; at least 3 are needed", o.file, len(starts))
	}
	return o.report(dueTimes, starts, out), nil
}

// report compares due times and starts, in nanoseconds and in the same order,
// with the process.
func (o *options) report(dueTimes, starts []float64, out io.Writer) bool {
	lags := make([]float64, len(starts))
	for i := range starts {
		lags[i] = (starts[i] - dueTimes[i]) / 1e6
	}
	slices.Sort(lags)
	slices.Sort(dueTimes)
	slices.Sort(starts)
	n := len(starts)
	achieved := float64(n-1) / (starts[n-1] - starts[0]) * 1e9
	scheduled := float64(n-1) / (dueTimes[n-1] - dueTimes[0]) * 1e9
	at := func(q float64) float64 { return stat.Quantile(lags, q) }
	fmt.Fprintf(out, "%d requests, asked %g/s, scheduled %.2f/s, achieved %.2f/s\n", n, o.rate, scheduled, achieved)
	fmt.Fprintf(out, "schedule lag: p50 %.4f ms, p90 %.4f ms, p99 %.4f ms, max %.4f ms\n", at(0.5), at(0.9), at(0.99), lags[n-1])
	// The rate of a finite sample of a random process differs from the nominal one.
	ok := math.Abs(achieved/scheduled-1) <= rateSlack
	if o.process == "constant" {
		worst := 0.0
		for i := range dueTimes {
			worst = max(worst, math.Abs(dueTimes[i]-dueTimes[0]-float64(i)*1e9/o.rate))
		}
		fmt.Fprintf(out, "due times: at most %.1f ns from where they should be\n", worst)
		return ok && worst <= dueSlack
	}
	shape := o.cdf()
	for _, s := range []struct {
		name string
		at   []float64
	}{{"due times", dueTimes}, {"starts", starts}} {
		a2, p := stat.AndersonDarling(gaps(s.at), shape)
		fmt.Fprintf(out, "gaps of the %s: A² = %.3f, p = %.4f\n", s.name, a2, p)
		ok = ok && p >= leastP
	}
	return ok
}

// cdf returns the cumulative distribution of the gaps in seconds.
func (o *options) cdf() func(float64) float64 {
	if o.process == "gamma" {
		return distuv.Gamma{Alpha: o.smoothness, Beta: o.rate * o.smoothness}.CDF
	}
	return distuv.Exponential{Rate: o.rate}.CDF
}

// gaps returns the differences of sorted nanoseconds, in seconds.
func gaps(at []float64) []float64 {
	out := make([]float64, 0, len(at))
	for i := 1; i < len(at); i++ {
		out = append(out, (at[i]-at[i-1])/1e9)
	}
	return out
}

// read returns when the requests of a phase were due and when they started, in
// nanoseconds from the first start of the file.
func read(file, phase string) (dueTimes, starts []float64, err error) {
	var first int64
	for record, err := range results.OpenRecords(file).Records() {
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", file, err)
		}
		m := &record.Metadata
		if first == 0 {
			first = m.Start
		}
		lag, ok := record.Value("schedule_lag") // in milliseconds
		if string(m.Kind) != phase || !ok {
			continue // failed requests have no metrics
		}
		start := float64(m.Start - first)
		starts = append(starts, start)
		dueTimes = append(dueTimes, start-math.Round(lag*1e6))
	}
	return dueTimes, starts, nil
}
