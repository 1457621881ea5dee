package engine_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"aiperfd/internal/engine"
	"aiperfd/internal/mock"
	"aiperfd/internal/results"
)

// logOf returns the messages of the log of a run, with some fields.
func (b *bed) logOf(id string) (out []string) {
	b.t.Helper()
	err := engine.NewHistory(b.engine).Log(id, func(line *results.LogLine) error {
		text := line.Level + " " + line.Message
		for _, name := range []string{"phase", "end", "code", "reason"} {
			if v, ok := line.Fields[name]; ok {
				text += fmt.Sprintf(" %s=%v", name, v)
			}
		}
		out = append(out, text)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// TestLogOfRun: the log of a run has its states, phases and warnings, and what the engine
// logs about it.
func TestLogOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var daemon bytes.Buffer
		b := newBedWith(t, mock.Options{TTFT: mock.ConstDelay(time.Second)}, nil, func(o *engine.Options) { o.Log = zerolog.New(&daemon) })
		const document = `
benchmark:
  model: m
  endpoint: {url: http://mock, apiKey: secret-5d1e77}
  dataset: {type: synthetic, isl: 8, osl: 4}
  tokenizer: {name: %s}
  phases: [{name: warmup, type: concurrency, concurrency: 1, requests: 1, excludeFromResults: true}, {name: secret-5d1e77, kind: profiling, type: concurrency, concurrency: 2, requests: 4}]
`
		history := engine.NewHistory(b.engine)
		id := b.submit(fmt.Sprintf(document, "builtin"))
		time.Sleep(500 * time.Millisecond)
		if !history.Active(id) {
			t.Error("an active run gets no lines")
		}
		b.wait(id)
		synctest.Wait()
		if history.Active(id) {
			t.Error("a run that has ended gets further lines")
		}
		got := b.logOf(id)
		warnings := 0
		states := got[:0:0]
		for _, line := range got {
			if strings.HasPrefix(line, "warn ") && strings.Contains(line, " code=") {
				warnings++
				continue
			}
			states = append(states, line)
		}
		want := []string{
			"info the run is starting", "info the run is running", "info the phase begins phase=warmup", "info the phase has ended phase=warmup end=completed",
			"info the phase begins phase=<redacted>", "info the phase has ended phase=<redacted> end=completed", "info the run is exporting", "info the run is completed",
		}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if r, err := b.engine.Get(t.Context(), id); err != nil || warnings != len(r.Warnings) || warnings == 0 {
			t.Errorf("the log has %d warnings, the run %v", warnings, r.Warnings)
		}

		id = b.submit(fmt.Sprintf(document, "/none"))
		b.wait(id)
		got = b.logOf(id)
		if last := got[len(got)-1]; !strings.HasPrefix(last, "error the run is failed code=") {
			t.Errorf("the log of a run that failed ends with %s", last)
		}
	})
}
