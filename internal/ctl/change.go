package ctl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/app/terminal"
	"aiperfd/internal/client"
)

const cancelLong = `Stop runs. A run that sends requests waits for those in flight within its grace
period and keeps what it has measured; --force ends them at once. A queued run
is never started.`

func cancelCommand(g *globals) *cobra.Command {
	var force, wait bool
	var grace time.Duration
	var reason string
	cmd := &cobra.Command{
		Use:     "cancel ID...",
		Short:   "Stop runs",
		Long:    cancelLong,
		Example: "  aiperfd ctl cancel current --reason 'wrong model'",
		Args:    cobra.MinimumNArgs(1),
		RunE: g.online(nil, func(ctx context.Context, s *session, args []string) error {
			body := wire.Cancel{Reason: reason}
			if force {
				body.Mode = "force"
			}
			if s.cmd.Flags().Changed("grace-period") {
				if grace < 0 {
					return usageError("--grace-period %v: must not be negative", grace)
				}
				body.Grace = new(grace.Seconds())
			}
			return each(ctx, s, args, func(id string) error {
				r, err := s.Cancel(ctx, id, body)
				if err != nil {
					return err
				}
				fmt.Fprintf(s.out, "run %s %s\n", r.ID, r.State)
				if wait && !r.State.Terminal() {
					w := newWatcher(s, s.cmd.ErrOrStderr())
					w.quiet = true
					var code *ExitError
					if err := w.follow(ctx, r); err != nil && !(errors.As(err, &code) && code.Code == exitInterrupted) {
						return err
					}
				}
				return nil
			})
		}),
	}
	fs := cmd.Flags()
	fs.BoolVar(&force, "force", false, "end the requests in flight at once")
	fs.DurationVar(&grace, "grace-period", 0, "wait at most this `duration` for the requests in flight (default that of the run)")
	fs.StringVar(&reason, "reason", "", "`text` that the run shows")
	fs.BoolVar(&wait, "wait", false, "wait until the runs have ended")
	completeRuns(g, cmd, true)
	return cmd
}

const deleteLong = `Delete runs with their files.

current and latest name another run as soon as one starts or ends. For them, a
question on the terminal shows which run it is; without a terminal, --yes has
to be given.`

func deleteCommand(g *globals) *cobra.Command {
	var force, yes bool
	cmd := &cobra.Command{
		Use:     "delete ID...",
		Aliases: []string{"rm"},
		Short:   "Delete runs with their files",
		Long:    deleteLong,
		Args:    cobra.MinimumNArgs(1),
		RunE: g.online(nil, func(ctx context.Context, s *session, args []string) error {
			if !yes {
				var err error
				if args, err = confirmMoving(ctx, s, args); err != nil {
					return err
				}
			}
			return each(ctx, s, args, func(id string) error {
				gone, err := s.Delete(ctx, id, force)
				if err != nil {
					return err
				}
				text := "deleted"
				if !gone {
					text = "is being cancelled, and then deleted"
				}
				_, err = fmt.Fprintf(s.out, "run %s %s\n", id, text)
				return err
			})
		}),
	}
	fs := cmd.Flags()
	fs.BoolVar(&force, "force", false, "also runs that have not ended: they are cancelled")
	fs.BoolVarP(&yes, "yes", "y", false, "delete current and latest without a question")
	completeRuns(g, cmd, true)
	return cmd
}

// confirmMoving asks for each of current and latest whether the run that it names now is to
// be deleted, and returns the names with these replaced by ids.
func confirmMoving(ctx context.Context, s *session, names []string) ([]string, error) {
	names = slices.Clone(names)
	for i, name := range names {
		if !client.Moving(name) {
			continue
		}
		r, err := s.find(ctx, name)
		if err != nil {
			return nil, err
		}
		about := join(", ", name+" is "+r.ID, r.Name, stateOf(r), strings.Join(r.Models, " "))
		if r.EndedAt != nil {
			about += fmt.Sprintf(", ended %s ago", age(time.Since(*r.EndedAt)))
		}
		if in, ok := s.cmd.InOrStdin().(*os.File); !ok || !terminal.IsTerminal(in) {
			return nil, usageError("%s: give its id, or --yes to delete whatever run %s is", about, name)
		}
		if !confirmed(ctx, s, about+". Delete it? [y/N] ") {
			return nil, &ExitError{exitFailed, errors.New("nothing was deleted")}
		}
		names[i] = r.ID
	}
	return names, nil
}

// confirmed asks a question and reports whether the answer is yes.
func confirmed(ctx context.Context, s *session, question string) bool {
	fmt.Fprint(s.err, question)
	answer := make(chan string, 1) // one answer, also if nobody waits for it any more
	go func() {
		line, _ := bufio.NewReader(s.cmd.InOrStdin()).ReadString('\n') // without an answer, no
		answer <- line
	}()
	select {
	case line := <-answer:
		line = strings.ToLower(strings.TrimSpace(line))
		return line == "y" || line == "yes"
	case <-ctx.Done():
		return false
	}
}

// each does something to each run, and returns the errors of all. All ids are resolved
// before anything is changed.
func each(ctx context.Context, s *session, names []string, do func(id string) error) error {
	ids := make([]string, len(names))
	var faults []error
	for i, name := range names {
		id, err := s.Resolve(ctx, name)
		if err != nil {
			faults = append(faults, err)
		}
		ids[i] = id
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	for _, id := range ids {
		if err := do(id); err != nil {
			faults = append(faults, fmt.Errorf("run %s: %w", id, err))
		}
	}
	return errors.Join(faults...)
}
