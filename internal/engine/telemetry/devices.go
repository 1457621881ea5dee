package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"slices"
	"time"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/window"
)

// DefaultDevicePeriod is the time between two scrapes of an exporter of accelerators.
const DefaultDevicePeriod = 333 * time.Millisecond

// DeviceOptions configure what is read of accelerators.
type DeviceOptions struct {
	Period time.Duration // > 0 if there are pages
	Local  Local         // reads the cards of this machine; empty = they are not read
	Files  fs.FS         // /sys/class/drm, for [AMDSysfs]; nil = that of this machine
	Select []string      // devices that count; empty = all
	Extra  []gpu.Field   // further fields of DCGM
	Lines  io.WriteCloser
}

// MeasureIdle waits for some time in which nothing is sent, so that it is known what the accelerators use then. If ctx
// ends before, it is not known.
func (r *Recorder) MeasureIdle(ctx context.Context, length time.Duration) {
	r.Sync(ctx)
	from := r.o.Clock.Now()
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	r.Sync(ctx) // the end of the window is read, too
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = window.Window{From: from, To: from + length}
}

// Devices returns what the accelerators did in each phase, in one that goes on up to now; nil = none is read, or
// nobody named a page and none has answered.
func (r *Recorder) Devices() *gpu.Report {
	m := r.moment()
	out := &gpu.Report{Targets: []diagnose.Target{}, Phases: []gpu.Phase{}, Collector: "dcgm"}
	if local := r.o.Devices.Local; local != "" {
		out.Collector = string(local)
	}
	var pages []gpu.Page
	var sources []diagnose.Source
	wanted := false
	for _, t := range r.all() {
		t.mu.Lock()
		defer t.mu.Unlock()
		answered := len(t.history.Scrapes) > 0
		if !t.devices {
			if answered {
				sources = append(sources, diagnose.Source{URL: t.shown, History: t.history, Servers: r.detect(t.history)})
			}
			continue
		}
		wanted = wanted || t.given || answered
		out.Targets = append(out.Targets, m.describe(t))
		if answered {
			pages = append(pages, gpu.Page{URL: t.shown, History: t.history, Refresh: t.refresh})
		}
	}
	if !wanted {
		return nil
	}
	if len(pages) == 0 {
		return out
	}
	if m.idle.To > 0 {
		out.Idle = new(r.examine(pages, nil, m.idle, "idle", "idle"))
	}
	profiling := window.Window{}
	for i := range m.phases {
		p, w := &m.phases[i], m.window(i)
		if w.To <= w.From {
			continue
		}
		one := r.examine(pages, sources, w, p.Name, string(p.Kind))
		one.Subtract(out.Idle)
		out.Phases = append(out.Phases, one)
		if p.Kind == bench.Profiling && !p.Excluded {
			profiling = join(profiling, w)
		}
	}
	o := gpu.Options{Select: r.o.Devices.Select}
	out.Latest = gpu.NewLatest(pages, o)
	if all := m.span(); all.To > all.From {
		out.Curves = gpu.NewCurves(pages, all, r.o.Clock.Wall(all.From), o)
	}
	if profiling.To > profiling.From {
		out.Profiling = new(r.examine(pages, sources, profiling, "profiling", string(bench.Profiling)))
		out.Profiling.Subtract(out.Idle)
	}
	return out
}

// examine says what the devices did in a window.
func (r *Recorder) examine(pages []gpu.Page, sources []diagnose.Source, w window.Window, name, kind string) gpu.Phase {
	p := gpu.Examine(pages, w, gpu.Options{
		Select: r.o.Devices.Select, Extra: r.o.Devices.Extra, Waiting: diagnose.Waiting(sources, w),
	})
	p.Name, p.Kind = name, kind
	p.Start, p.End = r.o.Clock.Wall(w.From), r.o.Clock.Wall(w.To)
	return p
}

// anyServer reports whether a server under test is read.
func (r *Recorder) anyServer() bool {
	return len(r.finders) > 0 || slices.ContainsFunc(r.all(), func(t *target) bool { return !t.devices })
}

// refreshed reports whether the exporters that refresh often enough to be waited for have done so since a time.
func (r *Recorder) refreshed(since time.Duration) bool {
	return !slices.ContainsFunc(r.all(), func(t *target) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.devices && t.awaits(since)
	})
}

// awaits reports whether the next refresh of a page is near and has not come since a time. The target is locked.
func (t *target) awaits(since time.Duration) bool {
	var fresh []time.Duration // the newest first
	for i := len(t.history.Scrapes) - 1; i > 0 && len(fresh) < 3; i-- {
		if s := &t.history.Scrapes[i]; s.Fresh {
			fresh = append(fresh, s.At())
		}
	}
	if len(fresh) < 2 || fresh[0] >= since {
		return false
	}
	every := fresh[0] - fresh[1]
	return every <= settleLimit && t.recorder.o.Clock.Now() < fresh[0]+2*every+t.period()
}

// deviceLine is a line of AIPerf's gpu_telemetry_export.jsonl.
type deviceLine struct {
	Index     int                `json:"gpu_index"`
	UUID      string             `json:"gpu_uuid"`
	Name      string             `json:"gpu_model_name"`
	PCI       string             `json:"pci_bus_id,omitempty"`
	Device    string             `json:"device,omitempty"`
	Host      string             `json:"hostname,omitempty"`
	Namespace string             `json:"namespace,omitempty"`
	Pod       string             `json:"pod_name,omitempty"`
	Platform  string             `json:"platform"`
	At        int64              `json:"timestamp_ns"`
	Source    string             `json:"telemetry_source_url"`
	Data      map[string]float64 `json:"telemetry_data"`
	Instance  string             `json:"instance,omitempty"`
}

// writeDeviceLines writes a line per device of the newest scrape of a target, which is locked. As in AIPerf, a page
// that is the same as the one before has none.
func (r *Recorder) writeDeviceLines(t *target) {
	last := len(t.history.Scrapes) - 1
	if r.deviceLines == nil || !t.history.Scrapes[last].Fresh {
		return
	}
	at := r.o.Clock.UnixNano(t.history.Scrapes[last].FirstByte)
	var b bytes.Buffer
	for _, s := range gpu.Newest(gpu.Page{URL: t.shown, History: t.history}, gpu.Options{Select: r.o.Devices.Select, Extra: r.o.Devices.Extra}) {
		line, err := json.Marshal(deviceLine{
			s.Index, s.UUID, s.Name, s.PCI, s.Device, s.Host, s.Namespace, s.Pod, s.Vendor, at, s.Source, s.Values, s.Instance,
		})
		if err == nil { // texts and finite numbers always encode
			b.Write(append(line, '\n'))
		}
	}
	r.deviceLines.write(b.Bytes())
}
