package gpu

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"aiperfd/internal/engine/telemetry/window"
)

// Column is a metric of a device as AIPerf has it.
type Column struct {
	Key, Header, Unit string
	Vendor            string
	Field             string  // canonical name
	Scale             float64 // AIPerf's value = canonical value * Scale
	Counter           bool    // AIPerf has its increase alone
}

// Columns returns AIPerf's metrics in its order.
func Columns() []Column {
	return []Column{
		{"nvidia_power_usage", "NVIDIA GPU Power Usage", "W", NVIDIA, "power", 1, false},
		{"nvidia_energy_consumption", "NVIDIA Energy Consumption", "MJ", NVIDIA, "energy", 1e-6, true},
		{"nvidia_gpu_utilization", "NVIDIA GPU Utilization", "%", NVIDIA, "util", 1, false},
		{"nvidia_memory_utilization", "NVIDIA Memory Utilization", "%", NVIDIA, "mem_util", 1, false},
		{"nvidia_memory_used", "NVIDIA GPU Memory Used", "GB", NVIDIA, "mem_used", 1e-9, false},
		{"nvidia_temperature", "NVIDIA GPU Temperature", "°C", NVIDIA, "temp", 1, false},
		{"nvidia_sm_utilization", "NVIDIA SM Utilization", "%", NVIDIA, "sm_active", 100, false},
		{"nvidia_decoder_utilization", "NVIDIA Decoder Utilization", "%", NVIDIA, "decoder_util", 1, false},
		{"nvidia_encoder_utilization", "NVIDIA Encoder Utilization", "%", NVIDIA, "encoder_util", 1, false},
		{"nvidia_xid_errors", "NVIDIA XID Errors", "count", NVIDIA, "xid", 1, true},
		{"nvidia_power_violation", "NVIDIA Power Violation", "us", NVIDIA, "throttle_power", 1e6, true},
		{"amd_power", "AMD GPU Power", "W", AMD, "power", 1, false},
		{"amd_energy_consumption", "AMD Energy Consumption", "MJ", AMD, "energy", 1e-6, true},
		{"amd_gfx_activity", "AMD GFX Activity", "%", AMD, "util", 1, false},
		{"amd_umc_activity", "AMD UMC Activity", "%", AMD, "mem_util", 1, false},
		{"amd_memory_used", "AMD GPU Memory Used", "GB", AMD, "mem_used", 1e-9, false},
		{"amd_temperature", "AMD GPU Temperature", "°C", AMD, "temp", 1, false},
		{"amd_ecc_uncorrectable", "AMD ECC Uncorrectable", "count", AMD, "ecc", 1, true},
	}
}

// Cell is a metric of a device with AIPerf's names and units. Of a counter it has the increase in Total.
type Cell struct {
	Column
	Scaled Metric
}

// Cells returns AIPerf's metrics of a device in its order, then further ones.
func (d *Device) Cells() []Cell {
	var out []Cell
	known := map[string]bool{}
	for _, f := range Fields() {
		known[f.Name] = true
	}
	columns := Columns()
	for i := range d.Metrics {
		if m := &d.Metrics[i]; !known[m.Name] { // of a file of the user
			columns = append(columns, Column{m.Name, m.Title, m.Unit, d.Vendor, m.Name, 1, m.Total != nil})
		}
	}
	for _, c := range columns {
		m := d.Metric(c.Field)
		if m == nil || c.Vendor != d.Vendor {
			continue
		}
		scaled := m.times(c.Scale)
		if c.Counter && scaled.Total == nil && scaled.Max != nil { // a value that only grows
			scaled = Metric{Total: new(*scaled.Max - *scaled.Min)}
		}
		out = append(out, Cell{c, scaled})
	}
	return out
}

// times returns a metric in another unit.
func (m *Metric) times(by float64) Metric {
	out := *m
	for _, v := range []**float64{
		&out.Avg, &out.Min, &out.Max, &out.Std, &out.P1, &out.P5, &out.P10, &out.P25, &out.P50, &out.P75, &out.P90, &out.P95, &out.P99, &out.Total,
	} {
		if *v != nil {
			*v = new(**v * by)
		}
	}
	return out
}

// Snapshot is a device at one reading.
type Snapshot struct {
	Identity
	Values map[string]float64 // by AIPerf's keys, in its units
}

// Newest returns the devices of a page at its newest reading.
func Newest(page Page, o Options) []Snapshot {
	var out []Snapshot
	last := len(page.History.Scrapes) - 1
	for _, d := range find([]Page{page}) {
		if !o.selected(&d.Identity) {
			continue
		}
		s := Snapshot{Identity: d.Identity, Values: map[string]float64{}}
		put := func(key string, f *Field, scale float64) {
			r, ok := d.source(f)
			if !ok {
				return
			}
			if v, ok := page.History.Value(r.groups[0], last); ok {
				by := r.Scale
				if f.Unit == "s" {
					by = violationScale(r.family, 0, window.Window{})
				}
				s.Values[key] = v / by * scale
			}
		}
		for _, c := range Columns() {
			if c.Vendor == d.Vendor {
				put(c.Key, field(c.Field), c.Scale)
			}
		}
		for i := range o.Extra {
			put(o.Extra[i].Name, &o.Extra[i], 1)
		}
		if len(s.Values) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// Vendors returns the vendors of the devices of pages; empty = there is no device.
func Vendors(pages []Page) []string {
	out := []string{}
	for _, d := range find(pages) {
		if !slices.Contains(out, d.Vendor) {
			out = append(out, d.Vendor)
		}
	}
	return out
}

// maxExtra is how many further fields a file may name.
const maxExtra = 500

// ParseFields reads further fields of DCGM from a file as its exporter has them: name, type and description,
// separated by commas. Fields that are known already are left out.
func ParseFields(from io.Reader) ([]Field, error) {
	var out []Field
	known := map[string]bool{}
	for _, f := range Fields() {
		for _, s := range f.Sources {
			known[s.Family] = true
		}
	}
	in := bufio.NewScanner(from)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, ",", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("line %d: must have a name, a type and a description, separated by commas", n)
		}
		name, kind, help := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), strings.TrimSpace(parts[2])
		form := Level
		switch {
		case !strings.HasPrefix(name, "DCGM_"):
			return nil, fmt.Errorf("line %d: the name %q must begin with DCGM_", n, name)
		case kind == "counter":
			form = Total
		case kind != "gauge":
			return nil, fmt.Errorf("line %d: the type %q must be gauge or counter", n, kind)
		}
		if known[name] {
			continue
		}
		known[name] = true
		bare := name
		for _, p := range []string{"DCGM_FI_DEV_", "DCGM_FI_PROF_", "DCGM_FI_", "DCGM_"} {
			if short, found := strings.CutPrefix(name, p); found {
				bare = short
				break
			}
		}
		about, unit, _ := strings.Cut(help, "(in ")
		unit, _, _ = strings.Cut(unit, ")")
		if len(out) == maxExtra {
			return nil, fmt.Errorf("line %d: the file names more than %d further fields", n, maxExtra)
		}
		out = append(out, Field{
			Name: "nvidia_" + strings.ToLower(bare), Unit: unit, About: strings.TrimRight(about, " ."), Form: form, Sources: []Source{plain(name)},
		})
	}
	return out, in.Err()
}
