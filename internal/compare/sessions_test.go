package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"aiperfd/internal/engine/export"
)

// Runs of recorded sessions under other rules of a scenario are not compared, and lanes that began elsewhere are a
// doubt.
func TestJudgeSessions(t *testing.T) {
	const config = `{"phases":[{"type":"agentic_replay"}]}`
	side := func(id, rules, plan string) []Input {
		in := input(t, id, config, latency("request_latency", 100, 99, 101))
		in.Dir = t.TempDir()
		validity := "null"
		if rules != "" {
			validity = fmt.Sprintf(`{"rules_sha256":%q}`, rules)
		}
		result := fmt.Sprintf(`{"schema":"aiperfd/1","agents":{"plan_sha256":%q},"validity":%s}`, plan, validity)
		name := filepath.Join(in.Dir, export.NamesFor("").Result)
		if err := os.WriteFile(name, []byte(result), 0o600); err != nil {
			t.Fatal(err)
		}
		return []Input{in}
	}
	tests := []struct {
		name       string
		a, b       []Input
		comparable bool
		doubt      bool
	}{
		{"alike", side("a", "r", "p"), side("b", "r", "p"), true, false},
		{"other rules", side("a", "r", "p"), side("b", "s", "p"), false, false},
		{"one without a scenario", side("a", "r", "p"), side("b", "", "p"), true, false},
		{"other lanes", side("a", "r", "p"), side("b", "r", "q"), true, true},
	}
	for _, tt := range tests {
		got, err := Judge(tt.a, tt.b, AnswerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if (got.Verdict != NotComparable) != tt.comparable {
			t.Errorf("%s: %s, %v", tt.name, got.Verdict, got.Load)
		}
		doubted := false
		for _, d := range got.Doubts {
			doubted = doubted || d.Code == "plan-differs"
		}
		if doubted != tt.doubt {
			t.Errorf("%s: doubts %v", tt.name, got.Doubts)
		}
	}
}
