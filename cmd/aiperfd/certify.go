package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/certify"
	"aiperfd/internal/engine/pace"
	"aiperfd/internal/engine/plainjson"
	"aiperfd/internal/engine/transport"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/view"
)

const certifyLong = `Measure how much this client adds to the latencies it reports, on this machine
and at this moment. A small server inside the program streams responses over the
loopback interface and records when it sent them; the client's own way of
sending, receiving and decoding is compared with that. Nothing leaves the
machine.

added: upper bound of the error of a p99, valid for 95 of 100 runs of this kind;
~ marks a bound extrapolated from few independent observations.
error: error of the p99 in this measurement.
verdict: ok if the bounds are within 1 % of --ttft and --itl, likely if only the
errors are, over if they are not. With few streams responses are shortened, so
that there are enough of them.

The server competes with the client for the same processors: with a server on
another machine, the client is more accurate.`

// certifyFlags are the flags of certify.
type certifyFlags struct {
	streams []int
	seconds float64
	chunk   int
	ttft    time.Duration
	itl     time.Duration
	asJSON  bool
}

func newCertifyCommand() *cobra.Command {
	f := new(certifyFlags)
	cmd := &cobra.Command{
		Use:     "certify",
		Short:   "Measure how much this client adds to latencies on this machine",
		Long:    certifyLong,
		Example: "  aiperfd certify\n  aiperfd certify --concurrency 64,256 --seconds 10 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return exitWith(exitUsage, err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			err := f.run(ctx, cmd.OutOrStdout())
			if ctx.Err() != nil {
				return exitWith(exitCancelled, errors.New("cancelled"))
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.IntSliceVar(&f.streams, "concurrency", []int{1, 8, 64, 256, 1000}, "concurrent `streams`, ascending")
	fs.Float64Var(&f.seconds, "seconds", 3, "duration of each measurement, in seconds")
	fs.IntVar(&f.chunk, "chunk-bytes", certify.DefaultChunkBytes, "size of an event, in `bytes`")
	fs.DurationVar(&f.ttft, "ttft", certify.DefaultTTFT, "time to first token of the server")
	fs.DurationVar(&f.itl, "itl", certify.DefaultITL, "time between events of the server")
	fs.BoolVar(&f.asJSON, "json", false, "print the measurements as JSON")
	return cmd
}

// check returns the first problem of the flags.
func (f *certifyFlags) check() error {
	switch {
	case len(f.streams) == 0:
		return errors.New("--concurrency: requires a value")
	case !slices.IsSorted(f.streams) || f.streams[0] < 1 || f.streams[len(f.streams)-1] > certify.MaxStreams:
		return fmt.Errorf("--concurrency: must be ascending numbers from 1 to %d", certify.MaxStreams)
	case !(f.seconds >= 1 && f.seconds <= certify.MaxTime.Seconds()):
		return fmt.Errorf("--seconds %v: must be from 1 to %v", f.seconds, certify.MaxTime.Seconds())
	case f.chunk < 1 || f.chunk > certify.MaxChunkBytes:
		return fmt.Errorf("--chunk-bytes %d: must be from 1 to %d", f.chunk, certify.MaxChunkBytes)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"--ttft", f.ttft}, {"--itl", f.itl}} {
		if d.value <= 0 || d.value > time.Second {
			return fmt.Errorf("%s %s: must be more than 0 and at most 1s", d.name, d.value)
		}
	}
	return nil
}

// ability is one measurement: one row of the table.
type ability struct {
	verdict.Certificate
	// Grade reports whether the error is within one percent: ok if its bounds are,
	// likely if only the observed error is, else over.
	Grade string `json:"grade"`
}

// abilities is the output of --json.
type abilities struct {
	Measurements []ability `json:"measurements"`
	// Streams is the highest concurrency whose observed errors are within one
	// percent, and Proven the highest whose bounds are; 0 = none.
	Streams int `json:"streams_within_1_percent"`
	Proven  int `json:"streams_within_1_percent_proven"`
}

// The grades.
const (
	gradeOK     = "ok"
	gradeLikely = "likely"
	gradeOver   = "over"
)

// run performs the measurements one after the other and prints them.
func (f *certifyFlags) run(ctx context.Context, out io.Writer) error {
	if !f.asJSON {
		fmt.Fprintf(out, "%47s%35s\n", "TTFT p99, ms", "inter-chunk p99, ms")
		fmt.Fprintf(out, tableRow, "streams", "events/s", "requests", "true", "error", "added", "true", "error", "added", "cores", "verdict")
	}
	var all abilities
	for _, streams := range f.streams {
		c, err := certify.Run(ctx, certify.Options{
			Concurrency: streams, Time: time.Duration(f.seconds * float64(time.Second)), TTFT: f.ttft, ITL: f.itl,
			ChunkBytes: f.chunk, Pacer: pace.Precise, Transport: transport.Options{},
		})
		if err != nil {
			return fmt.Errorf("certify %d streams: %w", streams, err)
		}
		a := ability{*c, f.grade(c)}
		all.Measurements = append(all.Measurements, a)
		if !f.asJSON {
			a.row(out)
		}
	}
	all.conclude()
	if f.asJSON {
		return plainjson.WriteIndent(out, &all)
	}
	_, err := fmt.Fprintln(out, "\n"+all.line(f.itl))
	return err
}

// grade compares the errors of a measurement with one percent of the latencies that
// the server simulates.
func (f *certifyFlags) grade(c *verdict.Certificate) string {
	ttft, itl := f.ttft.Seconds()*1000/100, f.itl.Seconds()*1000/100
	switch {
	case c.TTFTAdded <= ttft && c.InterChunkAdded <= itl:
		return gradeOK
	case off(&c.TTFT) <= ttft && off(&c.InterChunk) <= itl:
		return gradeLikely
	}
	return gradeOver
}

// off returns the observed error of a p99 in milliseconds.
func off(c *verdict.Certified) float64 { return math.Abs(c.ReportedP99 - c.TrueP99) }

// conclude sets the highest concurrencies before the first measurement that is
// over one percent.
func (a *abilities) conclude() {
	proven := true
	for i := range a.Measurements {
		m := &a.Measurements[i]
		if m.Grade == gradeOver {
			return
		}
		a.Streams = *m.Concurrency
		if proven = proven && m.Grade == gradeOK; proven {
			a.Proven = a.Streams
		}
	}
}

// line returns the conclusion as a sentence.
func (a *abilities) line(itl time.Duration) string {
	streams := view.Plural(a.Streams, "stream")
	pace := strconv.FormatFloat(1/itl.Seconds(), 'g', 3, 64) + " events/s"
	last := a.Measurements[len(a.Measurements)-1]
	switch a.Streams {
	case 0:
		return fmt.Sprintf("this host cannot drive a single stream of %s with an error of at most 1 %%", pace)
	case *last.Concurrency:
		return fmt.Sprintf("this host drives at least %s of %s with an error of at most 1 %% (proven: %d; more were not tried)", streams, pace, a.Proven)
	}
	return fmt.Sprintf("this host drives %s of %s with an error of at most 1 %% (proven: %d)", streams, pace, a.Proven)
}

// tableRow is the format of a row. Rows are printed one by one, so the widths are
// fixed.
const tableRow = "%7s  %8s  %8s  %8s %8s %9s  %8s %8s %9s  %6s  %s\n"

// row prints the row of a measurement.
func (a *ability) row(w io.Writer) {
	cores := "-"
	if a.UsedCores != nil {
		cores = fmt.Sprintf("%.2f", *a.UsedCores)
	}
	added := func(bound float64, c *verdict.Certified) string {
		text := fmt.Sprintf("%.3f", bound)
		if c.Extrapolated {
			text = "~" + text
		}
		return text
	}
	fixed := func(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }
	fmt.Fprintf(w, tableRow,
		strconv.Itoa(*a.Concurrency), fixed(float64(a.Events)/a.Window, 0), strconv.Itoa(a.Requests),
		fixed(a.TTFT.TrueP99, 2), fixed(off(&a.TTFT), 3), added(a.TTFTAdded, &a.TTFT),
		fixed(a.InterChunk.TrueP99, 2), fixed(off(&a.InterChunk), 3), added(a.InterChunkAdded, &a.InterChunk), cores, a.Grade)
}
