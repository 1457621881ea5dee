package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"aiperfd/internal/api/access"
	"aiperfd/internal/view"
)

const tokenLong = `Edit the token file of a daemon: serve --token-file FILE. Each line of it has
the name, the scope and the SHA-256 of a token. The daemon reads the file again
when it changes.

  read     see runs, results and metrics
  submit   also start runs, and cancel and delete runs of the same token
  admin    also cancel and delete all runs, and shut down`

func newTokenCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens for the API of the daemon",
		Long:  tokenLong,
		Example: `  aiperfd token new --name ci --scope submit --file tokens
  aiperfd serve --api-host 0.0.0.0 --token-file tokens
  curl -H "Authorization: Bearer $TOKEN" http://host:9097/api/runs`,
	}, newTokenNewCommand(), newTokenListCommand(), newTokenRemoveCommand())
}

const tokenFileVariable = "AIPERFD_TOKEN_FILE"

// tokenFileFlag adds the flag with the path of the token file.
func tokenFileFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("file", os.Getenv(tokenFileVariable), "token `file`; default $"+tokenFileVariable)
}

func newTokenNewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Create a token, print it and add its hash to the token file",
		Long: `Create a token, print it on standard output and add its hash to the token file.
The token is not stored: it cannot be shown again. Without a file, the line for
the token file is printed on standard error.`,
		Args: cobra.NoArgs,
	}
	file := tokenFileFlag(cmd)
	name := cmd.Flags().String("name", "", "`name` of the caller; runs and the audit log show it")
	scopeName := cmd.Flags().String("scope", access.Submit.String(), "read, submit, admin or worker")
	most := cmd.Flags().Int("max-workers", 1, "workers that may be connected with the token at once; for the scope worker")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		scope, err := access.ParseScope(*scopeName)
		if err != nil {
			return exitWith(exitUsage, fmt.Errorf("--scope: %w", err))
		}
		if *name == "" {
			return exitWith(exitUsage, errors.New("--name is missing"))
		}
		token, text, err := access.NewToken(*name, scope)
		if err != nil {
			return exitWith(exitUsage, fmt.Errorf("--name: %w", err))
		}
		if token.Most, err = workersOf(scope, *most, cmd.Flags().Changed("max-workers")); err != nil {
			return exitWith(exitUsage, err)
		}
		note := "line for the token file: " + token.String()
		if *file != "" {
			if err := access.AddToken(*file, token); err != nil {
				return exitWith(exitUsage, err)
			}
			note = fmt.Sprintf("added %s with the scope %s to %s; the token cannot be shown again", token.Name, token.Scope, *file)
		}
		fmt.Fprintln(cmd.ErrOrStderr(), note)
		_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
		return err
	}
	return cmd
}

func newTokenListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the names and scopes of a token file", Args: cobra.NoArgs}
	file := tokenFileFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *file == "" {
			return errNoTokenFile()
		}
		tokens, err := access.ReadTokens(*file)
		if err != nil {
			return exitWith(exitUsage, err)
		}
		table := view.Table{Columns: make([]view.Column, 2)}
		for _, t := range tokens {
			table.Rows = append(table.Rows, []string{t.Name, t.Scope.String()})
		}
		_, err = io.WriteString(cmd.OutOrStdout(), table.Text(0))
		return err
	}
	return cmd
}

func newTokenRemoveCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "remove", Short: "Remove a token from the token file", Args: cobra.NoArgs}
	file := tokenFileFlag(cmd)
	name := cmd.Flags().String("name", "", "`name` of the token")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *file == "" {
			return errNoTokenFile()
		}
		if *name == "" {
			return exitWith(exitUsage, errors.New("--name is missing"))
		}
		if err := access.RemoveToken(*file, *name); err != nil {
			return exitWith(exitUsage, err)
		}
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "removed %s from %s\n", *name, *file)
		return err
	}
	return cmd
}

func errNoTokenFile() error {
	return exitWith(exitUsage, errors.New("--file is missing, and "+tokenFileVariable+" is not set"))
}

// workersOf returns how many workers may be connected with a token of a scope.
func workersOf(scope access.Scope, most int, given bool) (int, error) {
	switch {
	case scope != access.Worker && given:
		return 0, fmt.Errorf("--max-workers: is for tokens with the scope worker, not %s", scope)
	case scope != access.Worker:
		return 0, nil
	case most < 1 || most > access.MaxWorkers:
		return 0, fmt.Errorf("--max-workers %d: must be from 1 to %d", most, access.MaxWorkers)
	}
	return most, nil
}
