package telemetry

import (
	"io/fs"
	"math"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/transport"
)

// startSysfs begins to read the cards whose files are in drm.
func startSysfs(drm fs.FS) (r *Recorder, clock bench.Clock) {
	clock = bench.NewClock()
	return Start(Options{
		Transport: transport.Options{Clock: clock}, Clock: clock, Period: DefaultPeriod, Secrets: redact.NewSet(), Log: zerolog.Nop(),
		Devices: DeviceOptions{Period: DefaultDevicePeriod, Local: AMDSysfs, Files: drm},
	}), clock
}

// A card of 611 W uses 6.11 kJ in ten seconds.
func TestSysfs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, clock := startSysfs(fstest.MapFS{
			"card1/device/vendor": {Data: []byte("0x1002\n")}, "card1/device/unique_id": {Data: []byte("a1\n")},
			"card1/device/gpu_busy_percent":             {Data: []byte("97\n")},
			"card1/device/hwmon/hwmon4/power1_average":  {Data: []byte("611000000\n")},
			"card1/device/hwmon/hwmon4/power1_cap":      {Data: []byte("750000000\n")},
			"card1/device/hwmon/hwmon4/temp2_label":     {Data: []byte("junction\n")},
			"card1/device/hwmon/hwmon4/temp2_input":     {Data: []byte("71000\n")},
			"card1/device/mem_info_vram_used":           {Data: []byte("1073741824\n")},
			"card1/device/hwmon/hwmon4/unrelated_label": {Data: []byte("junction\n")},
		})
		r.Sync(t.Context())
		from := clock.Now()
		r.BeginPhase(Phase{Name: "profiling", Kind: bench.Profiling}, from)
		time.Sleep(10 * time.Second)
		r.Mark()
		r.EndPhase(0, from, clock.Now(), diagnose.Client{})
		r.Settle(t.Context())
		got := r.Devices()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if got.Collector != "amd-sysfs" || got.Targets[0].State != diagnose.OK || got.Targets[0].URL != "amd-sysfs://localhost" || len(got.Profiling.Devices) != 1 {
			t.Fatalf("report %+v", got)
		}
		d := got.Profiling.Devices[0]
		if d.Vendor != "amd" || d.UUID != "a1" || d.Device != "card1" {
			t.Errorf("device %+v", d.Identity)
		}
		if e := d.Energy; e == nil || math.Abs(e.Joules-6110) > e.Bound+1 || e.Source != "integrated" {
			t.Errorf("energy %+v, want 6110 J", e)
		}
		for name, want := range map[string]float64{"power": 611, "power_limit": 750, "util": 97, "temp": 71, "mem_used": 1 << 30} {
			if m := d.Metric(name); m == nil || m.Avg == nil || *m.Avg != want {
				t.Errorf("%s: %+v, want %v", name, m, want)
			}
		}
	})
}

// silentFiles never answer before a channel is closed.
type silentFiles struct{ until <-chan struct{} }

func (s silentFiles) Open(name string) (fs.File, error) {
	<-s.until
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// A machine without a card, and a driver that hangs, are notes.
func TestSysfsTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := startSysfs(fstest.MapFS{"card0/device/vendor": {Data: []byte("0x8086\n")}})
		r.Sync(t.Context())
		got := r.Devices()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if one := got.Targets[0]; one.State != diagnose.Unreachable || one.LastError != "there is no GPU of AMD in /sys/class/drm" {
			t.Errorf("target %+v", one)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		r, _ := startSysfs(silentFiles{until})
		before := time.Now()
		r.Sync(t.Context())
		if waited := time.Since(before); waited > 3*time.Second {
			t.Errorf("a driver that hangs was waited for %v", waited)
		}
		time.Sleep(15 * time.Second)
		got := r.Devices()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if one := got.Targets[0]; one.LastError != "the driver has not answered for 10s" || one.Fetches != 0 {
			t.Errorf("target %+v", one)
		}
		close(until)
	})
}
