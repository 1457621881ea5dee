package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/report"
	"aiperfd/internal/engine/verdict"
	"aiperfd/internal/results"
	"aiperfd/internal/store"
	"aiperfd/internal/view"
)

// isRun reports whether a folder is that of a run.
func isRun(name string) bool {
	_, err := os.Stat(filepath.Join(name, store.CopyFile))
	return err == nil
}

// validateRun decides again, from the files of a run, whether its result counts for its scenario.
func validateRun(cmd *cobra.Command, dir string) error {
	r, err := store.ReadCopy(dir)
	if err != nil {
		return exitWith(exitUsage, fmt.Errorf("%s: %w", dir, err))
	}
	doc, _, err := config.Load(r.Config, config.LoadOptions{Stored: true, Resolved: true, Choices: plan.Choices()})
	if err != nil {
		return exitWith(exitUsage, fmt.Errorf("%s: %w", dir, problemList(err)))
	}
	prefix, err := results.Prefix(r.Config)
	if err != nil {
		return exitWith(exitUsage, fmt.Errorf("%s: %w", dir, err))
	}
	files := results.Open(dir, prefix)
	rep, _, err := files.Report()
	switch {
	case err != nil:
		return exitWith(exitUsage, fmt.Errorf("%s: %w", dir, err))
	case rep.Validity == nil || doc.Scenario() == nil:
		const nothing = "the run has no scenario (profile --scenario), so that there is nothing to check"
		return exitWith(exitUsage, fmt.Errorf("%s: %s", dir, nothing))
	case rep.Layout.Kept != nil:
		why := rep.Layout.Kept.Warning().Detail
		return exitWith(exitUsage, fmt.Errorf("%s: the record file does not have all requests: %s", dir, why))
	}
	again, err := report.Recheck(cmd.Context(), doc, rep, files.Measured(func(int64, int64) {}))
	if err != nil {
		return exitWith(exitUsage, fmt.Errorf("%s: %w", dir, err))
	}
	again.Checks = append(again.Checks, sameRules(rep.Validity, again), sameChecks(rep.Validity, again))
	again.Valid = again.Failed() == nil
	return printValidity(cmd, again)
}

// sameRules checks that the rules of the run are those that this program has under their name.
func sameRules(stored, again *verdict.Validity) verdict.ValidityCheck {
	c := verdict.ValidityCheck{ID: "rules", OK: stored.Rules == again.Rules, Detail: "the rules have the SHA-256 " + again.Rules}
	if !c.OK {
		c.Detail = fmt.Sprintf("the result was judged by rules with the SHA-256 %s, not %s", stored.Rules, again.Rules)
	}
	return c
}

// sameChecks checks that the result says what its files say.
func sameChecks(stored, again *verdict.Validity) verdict.ValidityCheck {
	c := verdict.ValidityCheck{ID: "result", OK: true, Detail: "the result says what its files say"}
	for _, now := range again.Checks {
		same := func(s verdict.ValidityCheck) bool { return s.ID == now.ID }
		i := slices.IndexFunc(stored.Checks, same)
		if now.ID != "rules" && (i < 0 || stored.Checks[i].OK != now.OK) {
			c.OK, c.Detail = false, "the result says otherwise than its files: "+now.ID
			return c
		}
	}
	return c
}

// printValidity prints every check. The error is that of a result that does not count.
func printValidity(cmd *cobra.Command, v *verdict.Validity) error {
	t := view.Table{Columns: []view.Column{{Title: "Check"}, {Title: "Result"}, {Title: "Observed"}}}
	for _, c := range v.Checks {
		word := "ok"
		if !c.OK {
			word = "failed"
		}
		t.Rows = append(t.Rows, []string{c.ID, word, c.Text()})
	}
	const width, least = 80, 30
	t.WrapColumn(2, width, least)
	fmt.Fprint(plainOut(cmd), view.NewBorder(false, func(text string) string { return text }).Table(&t))
	fmt.Fprintln(plainOut(cmd), v.Line())
	if !v.Valid {
		return exitWith(exitSLO, errors.New("the result does not count"))
	}
	return nil
}
