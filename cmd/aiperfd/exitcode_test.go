package main

import (
	"errors"
	"testing"

	"aiperfd/internal/app"
	"aiperfd/internal/ctl"
)

// Every outcome of a benchmark has an exit code.
func TestExitCodes(t *testing.T) {
	for outcome, want := range map[app.Outcome]int{
		app.Failed: exitFailed, app.Cancelled: exitCancelled, app.InvalidClient: exitClient,
		app.MissedSLO: exitSLO, app.BadInput: exitUsage, app.Undecided: exitUndecided,
	} {
		err := withExitCode(&app.OutcomeError{Outcome: outcome, Message: "the message"})
		var code *ctl.ExitError
		if !errors.As(err, &code) || code.Code != want || err.Error() != "the message" {
			t.Errorf("%s: exit with %+v, message %q, want %d and the message", outcome, code, err, want)
		}
	}
	other := errors.New("no outcome")
	if got := withExitCode(other); !errors.Is(got, other) || errors.As(got, new(*ctl.ExitError)) {
		t.Errorf("another error became %#v", got)
	}
}
