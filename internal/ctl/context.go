package ctl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/client"
	"aiperfd/internal/view"
)

const contextLong = `Name daemons, so that --context NAME or the current context chooses one. The
names are in aiperfd/contexts.yaml below $XDG_CONFIG_HOME (default ~/.config).
Tokens are not stored there, but where to find them: a file, an environment
variable, or a command that prints the token.`

func contextCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context",
		Short: "List, choose, set and remove named daemons",
		Long:  contextLong,
		Example: `  aiperfd ctl context set lab --server https://lab:9097 --ca-file ca.pem \
      --token-command 'pass show aiperfd/lab'
  aiperfd ctl context use lab`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(contextListCommand(g), contextUseCommand(g), contextSetCommand(g), contextRemoveCommand(g))
	return cmd
}

// offline makes the function of a command that uses the file of contexts only. Flags of
// other commands are an error.
func (g *globals) offline(formats []string, run func(cmd *cobra.Command, file *contextFile, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := g.checkOutput(formats); err != nil {
			return err
		}
		for _, name := range []string{"context", "timeout"} {
			if cmd.Flags().Changed(name) {
				return usageError("--%s: has no meaning for this command", name)
			}
		}
		file, err := readContexts()
		if err != nil {
			return &ExitError{exitFailed, err}
		}
		return run(cmd, file, args)
	}
}

// contextItem is a context in a list. Token says where the token comes from, without the
// text of a command, which may contain it.
type contextItem struct {
	Name    string `json:"name"`
	Server  string `json:"server"`
	Token   string `json:"token"`
	CAFile  string `json:"ca_file"`
	Current bool   `json:"current"`
}

func contextListCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the contexts; * is the current one",
		Args:  cobra.NoArgs,
		RunE: g.offline([]string{formatJSON, formatYAML, formatName}, func(cmd *cobra.Command, file *contextFile, _ []string) error {
			if err := noTarget(cmd); err != nil {
				return err
			}
			out := terminal.Plain(cmd.OutOrStdout())
			items := []contextItem{}
			var rows [][]string
			for _, name := range file.names() {
				c, mark := file.Contexts[name], ""
				if name == file.Current {
					mark = "*"
				}
				items = append(items, contextItem{name, c.Server, c.token(), c.CAFile, name == file.Current})
				rows = append(rows, []string{mark, name, c.Server, c.token(), c.CAFile})
			}
			if done, err := g.printed(out, map[string]any{"items": items}, file.names()...); done {
				return err
			}
			if len(rows) == 0 {
				fmt.Fprintln(terminal.Plain(cmd.ErrOrStderr()), "no contexts; aiperfd ctl context set makes one")
				return nil
			}
			columns := []view.Column{{}, {Title: "NAME"}, {Title: "SERVER"}, {Title: "TOKEN", Weight: 1}, {Title: "CA", Weight: 2}}
			return printTable(out, widthOf(cmd), used(columns, rows), rows)
		}),
	}
}

// noTarget rejects the flags of a daemon for commands that use none.
func noTarget(cmd *cobra.Command) error {
	for _, name := range []string{"server", "token-file", "ca-file"} {
		if cmd.Flags().Changed(name) {
			return usageError("--%s: has no meaning for this command", name)
		}
	}
	return nil
}

func contextUseCommand(g *globals) *cobra.Command {
	return namedContextCommand(g, "use NAME", "Make a context the current one", func(file *contextFile, name string) {
		file.Current = name
	})
}

func contextRemoveCommand(g *globals) *cobra.Command {
	return namedContextCommand(g, "remove NAME", "Remove a context", func(file *contextFile, name string) {
		delete(file.Contexts, name)
		if file.Current == name {
			file.Current = ""
		}
	})
}

// namedContextCommand returns a command that changes the file of contexts by the name of one.
func namedContextCommand(g *globals, use, short string, change func(file *contextFile, name string)) *cobra.Command {
	return &cobra.Command{
		Use:               use,
		Short:             short,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeContexts,
		RunE: g.offline(nil, func(cmd *cobra.Command, file *contextFile, args []string) error {
			if err := noTarget(cmd); err != nil {
				return err
			}
			if _, ok := file.Contexts[args[0]]; !ok {
				return &ExitError{exitUsage, file.unknown(args[0])}
			}
			change(file, args[0])
			return file.save()
		}),
	}
}

const contextSetLong = `Make or change a context. Flags that are not given keep their values; an empty
value removes one. The first context becomes the current one.`

func contextSetCommand(g *globals) *cobra.Command {
	var env, command string
	cmd := &cobra.Command{
		Use:               "set NAME",
		Short:             "Create or change a context",
		Long:              contextSetLong,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeContexts,
	}
	cmd.Flags().StringVar(&env, "token-env", "", "environment `variable` with the token")
	cmd.Flags().StringVar(&command, "token-command", "", "`command` that prints the token; sh runs it")
	cmd.RunE = g.offline(nil, func(cmd *cobra.Command, file *contextFile, args []string) error {
		name, changed := args[0], cmd.Flags().Changed
		if !contextName.MatchString(name) {
			return usageError("context %q: must have 1 to 64 letters, digits, dots, underscores and hyphens, and begin with a letter or digit", name)
		}
		c, err := g.target.change(file.Contexts[name], changed)
		if err != nil {
			return err
		}
		if tokens := []bool{changed("token-file"), changed("token-env"), changed("token-command")}; tokens[0] || tokens[1] || tokens[2] {
			c.TokenEnv, c.TokenCommand = env, command
			if !tokens[0] {
				c.TokenFile = ""
			}
		}
		if err := c.check(); err != nil {
			return &ExitError{exitUsage, err}
		}
		file.Contexts[name] = c
		if file.Current == "" {
			file.Current = name
		}
		return file.save()
	})
	return cmd
}

// change lays flags over a context. Paths become absolute, because the commands that use
// the context run elsewhere.
func (t *target) change(c Context, changed func(string) bool) (Context, error) {
	if changed("server") {
		c.Server = t.server
	}
	for flag, p := range map[string]struct{ from, to *string }{"token-file": {&t.tokenFile, &c.TokenFile}, "ca-file": {&t.caFile, &c.CAFile}} {
		if !changed(flag) {
			continue
		}
		*p.to = *p.from
		if *p.from == "" {
			continue
		}
		full, err := filepath.Abs(*p.from)
		if err == nil {
			_, err = os.Stat(full)
		}
		if err != nil {
			return c, usageError("--%s: %w", flag, err)
		}
		*p.to = full
	}
	return c, nil
}

// check returns what is wrong with a context.
func (c Context) check() error {
	var faults []error
	if c.Server == "" {
		faults = append(faults, errors.New("--server: required: the URL of the daemon"))
	} else if _, err := client.ParseServer(c.Server); err != nil {
		faults = append(faults, fmt.Errorf("--server: %w", err))
	}
	given := 0
	for _, text := range []string{c.TokenFile, c.TokenEnv, c.TokenCommand} {
		if text != "" {
			given++
		}
	}
	if given > 1 {
		faults = append(faults, errors.New("--token-file, --token-env and --token-command: only one of them can be given"))
	}
	if c.CAFile != "" {
		if _, err := authorities(c.CAFile); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
