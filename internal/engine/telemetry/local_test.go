package telemetry

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/transport"
)

// cards is a shell function that writes a line per card as nvidia-smi does: two cards of 300 and 500 W, of which the
// second cannot say how hot its memory is.
const cards = `cards() {
	echo "0, GPU-aaaa, NVIDIA H100 80GB HBM3, 00000000:18:00.0, 2, 300.00, 700.00, 90, 40, 61440, 81559, 1980, 2619, 55, 60, 0x0000000000000004"
	echo "1, GPU-bbbb, NVIDIA H100 80GB HBM3, 00000000:2A:00.0, 2, 500.00, 700.00, 50, 20, 30720, 81559, 1980, 2619, 45, [N/A], 0x0000000000000000"
}
`

// readLocalFor reads the cards of a machine whose nvidia-smi is a script, through one phase.
func readLocalFor(t *testing.T, script string, phase time.Duration) (got *gpu.Report, file *lines, pid string) {
	t.Helper()
	folder := t.TempDir()
	pids := filepath.Join(folder, "pids")
	text := "#!/bin/sh\necho $$ >>" + pids + "\necho \"$@\" >" + filepath.Join(folder, "arguments") + "\n" + cards + script
	if err := os.WriteFile(filepath.Join(folder, smiProgram), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	file = &lines{}
	clock := bench.NewClock()
	r := Start(Options{
		Transport: transport.Options{Clock: clock}, Clock: clock, Period: DefaultPeriod, Secrets: redact.NewSet(), Log: zerolog.Nop(),
		Devices: DeviceOptions{Period: DefaultDevicePeriod, Local: SMI, Lines: file},
	})
	until := time.Now().Add(20 * time.Second)
	for r.fetches() == 0 && !strings.Contains(script, "never") && time.Now().Before(until) {
		time.Sleep(10 * time.Millisecond)
	}
	r.Sync(t.Context())
	from := clock.Now()
	r.BeginPhase(Phase{Name: "profiling", Kind: bench.Profiling}, from)
	time.Sleep(phase)
	r.Mark()
	r.EndPhase(0, from, clock.Now(), diagnose.Client{})
	r.Settle(t.Context())
	got = r.Devices()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	arguments, err := os.ReadFile(filepath.Join(folder, "arguments"))
	if err != nil || !strings.Contains(string(arguments), "--format=csv,noheader,nounits -lms 200") {
		t.Errorf("arguments: %q, %v", arguments, err)
	}
	all, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	return got, file, strings.TrimSpace(string(all))
}

// ended fails if a child is left.
func ended(t *testing.T, pids string) {
	t.Helper()
	for pid := range strings.FieldsSeq(pids) {
		if _, err := os.Stat("/proc/" + pid); err == nil {
			t.Errorf("nvidia-smi goes on as process %s", pid)
		}
	}
}

func TestLocalCards(t *testing.T) {
	got, file, pid := readLocalFor(t, "while :; do cards; sleep 0.1; done\n", 2*time.Second)
	ended(t, pid)
	if got == nil || got.Collector != "nvidia-smi" || got.Profiling == nil || len(got.Profiling.Devices) != 2 {
		t.Fatalf("report: %+v", got)
	}
	if one := got.Targets[0]; one.State != diagnose.OK || one.URL != "nvidia-smi://localhost" {
		t.Errorf("target: %+v", one)
	}
	for i, want := range []struct{ watts, memory float64 }{{300, 60}, {500, 0}} {
		d := got.Profiling.Devices[i]
		if d.UUID != []string{"GPU-aaaa", "GPU-bbbb"}[i] || d.Name != "NVIDIA H100 80GB HBM3" || d.PCI == "" {
			t.Errorf("device %d: %+v", i, d.Identity)
		}
		joules := want.watts * got.Profiling.Seconds
		if e := d.Energy; e == nil || e.Joules < joules-e.Bound-1e-6*joules || e.Joules > joules+e.Bound+1e-6*joules {
			t.Errorf("device %d: energy %+v, want %v J", i, e, joules)
		}
		hot := 0.0
		for _, m := range d.Metrics {
			if m.Name == "mem_temp" && m.Avg != nil {
				hot = *m.Avg
			}
		}
		if hot != want.memory {
			t.Errorf("device %d: its memory has %v °C, want %v", i, hot, want.memory)
		}
	}
	for line := range bytes.Lines(file.data.Bytes()) {
		if !json.Valid(line) {
			t.Fatalf("no JSON: %s", line)
		}
	}
	if file.data.Len() == 0 {
		t.Error("no line of AIPerf's file")
	}
}

// TestLocalCardsTrouble has an nvidia-smi that ends, writes other things, or hangs. None of it disturbs the run.
func TestLocalCardsTrouble(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		error  string // that the target has
		cards  int
	}{
		"no driver":     {"echo never: could not communicate with the driver; exit 9\n", "could not communicate with the driver", 0},
		"never a line":  {"# never\nexec sleep 1000\n", "", 0},
		"other columns": {"while :; do echo never, 1, 2; sleep 0.1; done\n", "", 0},
		"ends once":     {"cards\nsleep 0.1\ncards\nexit 0\n", "nvidia-smi has ended", 2},
		"ignores TERM":  {"trap '' TERM INT HUP\nwhile :; do cards; sleep 0.1; done\n", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got, _, pids := readLocalFor(t, tc.script, time.Second)
			ended(t, pids)
			if got == nil || len(got.Targets) != 1 {
				t.Fatalf("report: %+v", got)
			}
			if one := got.Targets[0]; !strings.Contains(one.LastError, tc.error) || tc.cards == 0 && one.State == diagnose.OK {
				t.Errorf("target: %+v, want %q", one, tc.error)
			}
			seen := 0
			if got.Profiling != nil {
				seen = len(got.Profiling.Devices)
			}
			if seen != tc.cards {
				t.Errorf("%d cards, want %d", seen, tc.cards)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("a phase of 1 s took %v", took)
			}
		})
	}
}

func TestNoLocalProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	clock := bench.NewClock()
	r := Start(Options{
		Transport: transport.Options{Clock: clock}, Clock: clock, Period: DefaultPeriod, Secrets: redact.NewSet(), Log: zerolog.Nop(),
		Devices: DeviceOptions{Local: SMI},
	})
	r.Sync(t.Context())
	last := r.Devices().Targets[0].LastError
	if !strings.Contains(last, "there is no nvidia-smi on this machine") {
		t.Errorf("last error: %q", last)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
