package ctl

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/view"
)

const workersLong = `List the load generators that have joined the daemon (aiperfd worker --join):
the state of each, the run that it performs a part of, how long ago it joined,
what it may use, and how far its clock may be from that of the daemon. One that
is lost stays in the list for ten minutes.`

func workersCommand(g *globals) *cobra.Command {
	formats := []string{formatWide, formatJSON, formatYAML, formatName}
	return &cobra.Command{
		Use:   "workers",
		Short: "List the load generators that have joined",
		Long:  workersLong,
		Args:  cobra.NoArgs,
		RunE: g.online(formats, func(ctx context.Context, s *session, _ []string) error {
			all, data, err := s.Cluster(ctx)
			if err != nil {
				return err
			}
			var names []string
			for i := range all.Workers {
				names = append(names, all.Workers[i].Name)
			}
			switch {
			case s.output == formatJSON || s.output == formatYAML:
				return s.printJSON(s.out, data)
			case !all.Enabled:
				fmt.Fprintln(s.err, "no load generators can join: the daemon has neither --bus-listen nor --bus-url")
				return nil
			case len(names) == 0:
				fmt.Fprintln(s.err, "no load generators have joined")
				return nil
			}
			if done, err := s.printed(s.out, nil, names...); done {
				return err
			}
			return s.printWorkers(all.Workers, time.Now())
		}),
	}
}

// printWorkers prints a table.
func (s *session) printWorkers(all []wire.ClusterWorker, now time.Time) error {
	columns := []view.Column{
		{Title: "NAME"}, {Title: "STATE"}, {Title: "RUN", Weight: 2}, {Title: "AGE", Weight: 4, Number: true},
		{Title: "CORES", Weight: 6, Number: true}, {Title: "MEMORY GiB", Weight: 7, Number: true},
		{Title: "CLOCK ± ms", Weight: 3, Number: true}, {Title: "LABELS", Weight: 5},
		{Title: "ID"}, {Title: "VERSION"}, {Title: "HEARD", Number: true},
	}
	wide, width := s.output == formatWide, widthOf(s.cmd)
	const ofWide = 3 // columns
	if wide {
		width = 0
	} else {
		columns = columns[:len(columns)-ofWide]
	}
	var rows [][]string
	for i := range all {
		rows = append(rows, workerRow(&all[i], now)[:len(columns)])
	}
	return printTable(s.out, width, columns, rows)
}

// workerRow returns the cells of a load generator.
func workerRow(w *wire.ClusterWorker, now time.Time) []string {
	state, id, memory, clock := w.State, "", "", ""
	if w.Draining && state != "drained" {
		state += ", draining"
	}
	if w.RunID != nil {
		const brief = 12
		id = (*w.RunID)[:min(brief, len(*w.RunID))]
	}
	if w.Memory != nil {
		const gibi = 1 << 30
		memory = view.Figure(float64(*w.Memory) / gibi)
	}
	if w.ClockBound != nil {
		clock = view.Bound(*w.ClockBound)
	}
	return []string{
		w.Name, state, id, age(now.Sub(w.Joined)), strconv.Itoa(w.Cores), memory, clock,
		strings.Join(labelList(w.Labels), ","), w.ID, w.Version, age(now.Sub(w.Heard)),
	}
}

const drainLong = `Make load generators take no further run. What they perform now they finish.
NAME is the name of a load generator, or its id (aiperfd ctl workers -o wide).
It is drained when its part has ended, and stays so until its process or the
daemon is started again. The scope admin is required.`

func drainCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "drain NAME...",
		Short:   "Make load generators take no further run",
		Long:    drainLong,
		Example: "  aiperfd ctl drain worker-3",
		Args:    cobra.MinimumNArgs(1),
		RunE: g.online(nil, func(ctx context.Context, s *session, args []string) error {
			var faults []string
			var last error
			for _, name := range args {
				w, err := s.Drain(ctx, name)
				if err != nil {
					faults, last = append(faults, name), fmt.Errorf("%s: %w", name, err)
					if len(args) > 1 {
						fmt.Fprintln(s.err, last)
					}
					continue
				}
				text := w.Name + " takes no further run"
				if w.RunID != nil {
					text += "; it still performs its part of run " + *w.RunID
				}
				fmt.Fprintln(s.out, text)
			}
			if len(faults) > 1 {
				return fmt.Errorf("not drained: %s", strings.Join(faults, ", "))
			}
			return last
		}),
	}
}
