package redact_test

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/redact"
)

// FuzzCommandLine takes tokens separated by NUL.
func FuzzCommandLine(f *testing.F) {
	for _, tc := range commandCases {
		f.Add(strings.Join(tc.argv, "\x00"))
	}
	f.Fuzz(func(t *testing.T, tokens string) {
		argv := strings.Split(tokens, "\x00")
		once := redact.CommandLine("aiperf", argv, flagTable())
		read := shellSplit(t, once)[1:]
		if len(read) != len(argv) {
			t.Fatalf("%q has %d tokens as %s, want %d", argv, len(read), once, len(argv))
		}
		if twice := redact.CommandLine("aiperf", read, flagTable()); twice != once {
			t.Errorf("%q\n is %s\nthen %s", argv, once, twice)
		}
		secret := redact.CommandLine("aiperf", append([]string{"--api-key", "canary-value"}, argv...), flagTable())
		if strings.Contains(secret, "canary") && !strings.Contains(tokens, "canary") {
			t.Errorf("the key survives in %s", secret)
		}
	})
}
