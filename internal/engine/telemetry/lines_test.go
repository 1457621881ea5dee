package telemetry

import (
	"encoding/json"
	"strings"
	"testing"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/window"
)

// A line says during which phase it was read; a profiling phase has its number among those, as AIPerf has it.
func TestLineOfPhase(t *testing.T) {
	file := &lines{}
	clock := bench.NewClock()
	r := &Recorder{o: Options{Clock: clock, Lines: file}, lines: &lineWriter{out: file}}
	for i, kind := range []bench.PhaseKind{bench.Warmup, bench.Profiling, bench.Profiling} {
		r.BeginPhase(Phase{Index: i, Name: "p", Kind: kind}, clock.Now())
		page := &target{history: window.NewHistory(strings.Clone)}
		page.history.Add(window.Scrape{}, []byte("# TYPE x gauge\nx 1\n"))
		r.writeLine(page, r.current())
	}
	if err := r.lines.close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(file.data.String()) {
		var v struct {
			Index     int  `json:"phase_index"`
			Profiling *int `json:"profiling_index"`
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		text := "none"
		if v.Profiling != nil {
			text = string(rune('0' + *v.Profiling))
		}
		got = append(got, text)
	}
	if want := "none 0 1"; strings.Join(got, " ") != want {
		t.Errorf("profiling_index %v, want %s", got, want)
	}
}
