package ctl

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/client"
)

const logsLong = `Print what the daemon has logged about a run, or with --follow also what it logs
until the run ends, also after a lost connection. -o json prints the lines as
they are.`

func logsCommand(g *globals) *cobra.Command {
	var level string
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Print the log of a run",
		Long:  logsLong,
		Args:  cobra.ExactArgs(1),
		RunE: g.online([]string{formatJSON}, func(ctx context.Context, s *session, args []string) error {
			id, err := s.Resolve(ctx, args[0])
			if err != nil {
				return err
			}
			return followLog(ctx, s, id, level, follow)
		}),
	}
	cmd.Flags().StringVar(&level, "level", "", "the lowest `level` to print: debug, info, warn or error")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue until the run has ended")
	completeRuns(g, cmd, false)
	return cmd
}

// followLog prints the log. A response that follows ends with the run, or after an hour.
func followLog(ctx context.Context, s *session, id, level string, follow bool) error {
	var last int64
	for pause := firstPoll; ; pause = min(pause*2, reconnect) {
		before := last
		var err error
		last, err = s.Log(ctx, id, level, last, follow, func(line []byte) error { return printLogLine(s, line) })
		if last > before {
			pause = firstPoll
		}
		switch {
		case err == nil && !follow:
			return nil
		case err == nil:
			r, err := s.Run(ctx, id)
			if err == nil && r.State.Terminal() {
				return nil
			}
			if err != nil && !client.Transient(err) {
				return err
			}
		case !follow || last == 0 || !client.Transient(err):
			return err
		}
		if client.Sleep(ctx, pause) != nil {
			return context.Cause(ctx)
		}
	}
}

// printLogLine prints a line of the log: time, level, message and fields.
func printLogLine(s *session, line []byte) error {
	if s.output == formatJSON {
		_, err := fmt.Fprintln(s.out, string(line))
		return err
	}
	var entry struct {
		Time    time.Time      `json:"time"`
		Level   string         `json:"level"`
		Message string         `json:"message"`
		Fields  map[string]any `json:"fields"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(entry.Fields)) {
		fields = append(fields, name+"="+valueText(entry.Fields[name]))
	}
	_, err := fmt.Fprintln(s.out, join("  ", entry.Time.UTC().Format("15:04:05.000"), fmt.Sprintf("%-5s", entry.Level), entry.Message, strings.Join(fields, " ")))
	return err
}
