package ctl

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionLimit bounds the wait of a shell for names; then there are none.
const completionLimit = 2 * time.Second

// completeRuns completes the ids of runs, of one or of several arguments.
func completeRuns(g *globals, cmd *cobra.Command, several bool) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !several {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		out := []string{"current\tthe active run", "latest\tthe run that ended last"}
		out = append(out, runNames(cmd.Context(), g, begun)...)
		return slices.DeleteFunc(out, func(line string) bool { return !strings.HasPrefix(line, begun) }), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// runNames returns the newest runs with their descriptions. Errors give none, because a
// shell has no place for them.
func runNames(ctx context.Context, g *globals, begun string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	c, err := g.connect(ctx)
	if err != nil {
		return nil
	}
	query := url.Values{}
	if begun != "" {
		query.Set("include", "children")
	}
	const most = 100
	list, err := c.List(ctx, query, most)
	if err != nil {
		return nil
	}
	var out []string
	for _, r := range list.Items {
		about := strings.NewReplacer("\t", " ", "\n", " ").Replace(join(" ", stateOf(r), nameOf(r), strings.Join(r.Models, ",")))
		out = append(out, r.ID+"\t"+about)
	}
	return out
}

// completeFlags completes the values of the flags of list.
func completeFlags(cmd *cobra.Command) {
	for flag, values := range map[string][]string{
		"state": {"queued", "starting", "running", "stopping", "exporting", "completed", "cancelled", "failed"},
		"kind":  {"run", "sweep"},
		"sort":  {"created_at", "started_at", "ended_at", "name", "duration", "-created_at", "-started_at", "-ended_at", "-name", "-duration"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails only for flags that do not exist
	}
}

// completeContexts completes the names of contexts.
func completeContexts(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	file, err := readContexts()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := slices.DeleteFunc(file.names(), func(name string) bool { return !strings.HasPrefix(name, begun) })
	return names, cobra.ShellCompDirectiveNoFileComp
}
