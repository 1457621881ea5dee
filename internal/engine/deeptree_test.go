package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/run"
)

// A document with conversations that start each other runs, and one in which they do so too
// often is refused before a request: neither keeps the engine busy.
func TestDeepTrees(t *testing.T) {
	chain := func(n int) string {
		var records []string
		for i := range n {
			spawns := fmt.Sprintf(`, spawns: [c%d]`, i+1)
			if i == n-1 {
				spawns = ""
			}
			records = append(records, fmt.Sprintf(`{session_id: c%d, turns: [{messages: [{role: user, content: x}], max_tokens: 1%s}]}`, i, spawns))
		}
		return `  dataset: {type: file, format: dag_jsonl, records: [` + strings.Join(records, ", ") + `]}`
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, timing(t, time.Millisecond, 0), nil)
		if r := b.run(document("type: concurrency, concurrency: 1, sessions: 1", chain(1000))); r.State != bench.StateCompleted || r.Summary.Requests != 1000 {
			t.Errorf("run %s: %+v, want 1000 requests", r.State, r.Error)
		}
		r := b.run(document("type: concurrency, concurrency: 1, sessions: 1", chain(2000)))
		const want = "records[0]: turns[0].spawns: conversations start each other to a depth of more than 1000, the most that is accepted"
		if r.State != bench.StateFailed || r.Error == nil || r.Error.Code != run.DatasetFailed || !strings.Contains(r.Error.Message, want) {
			t.Errorf("run %s: %+v, want %s", r.State, r.Error, want)
		}
		b.stop()
	})
}
