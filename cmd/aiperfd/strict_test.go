package main

import (
	"errors"
	"io"
	"testing"

	"aiperfd/internal/engine"
	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/verdict"
)

// Only an invalid client of a run that completed has an exit code of its own, and
// only if that was asked for.
func TestExitCodeOfAnInvalidClient(t *testing.T) {
	tests := []struct {
		name   string
		strict bool
		state  bench.State
		level  verdict.Level
		want   int
	}{
		{"invalid, strict", true, bench.Completed, verdict.Invalid, exitClient},
		{"invalid, not strict", false, bench.Completed, verdict.Invalid, exitOK},
		{"suspect, strict", true, bench.Completed, verdict.Suspect, exitOK},
		{"unknown, strict", true, bench.Completed, verdict.Unknown, exitOK},
		{"nobody watched", true, bench.Completed, "", exitOK},
		{"failed anyway", true, bench.Failed, verdict.Invalid, exitFailed},
		{"cancelled anyway", true, bench.Aborted, verdict.Invalid, exitCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"--model", "m"}
			if tt.strict {
				args = append(args, "--strict-client")
			}
			flags, err := flags.Parse(args, nil)
			if err != nil {
				t.Fatal(err)
			}
			flags.Options.Choices = engine.Choices()
			doc, _, err := flags.Document()
			if err != nil {
				t.Fatal(err)
			}
			run := &engine.Run{State: tt.state}
			if tt.level != "" {
				run.Client = &engine.ClientVerdict{Verdict: tt.level, Reasons: []verdict.Reason{{Message: "it was woken late"}}}
			}
			err = (&oneShot{doc: doc, dir: t.TempDir(), out: io.Discard}).report(run, nil)
			got := exitOK
			var code exitError
			if errors.As(err, &code) {
				got = code.code
			}
			if got != tt.want {
				t.Errorf("exit code %d (%v), want %d", got, err, tt.want)
			}
		})
	}
}
