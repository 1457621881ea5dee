package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/view"
)

// devices returns the devices of the profiling phases; nil = there are none.
func (r *Report) devices() []gpu.Device {
	if r.GPU == nil || r.GPU.Profiling == nil {
		return nil
	}
	return r.GPU.Profiling.Devices
}

// exporterOf returns the address of a page as AIPerf shows it.
func exporterOf(page string) string {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" {
		return page
	}
	return u.Host + strings.TrimSuffix(u.Path, "/metrics")
}

// deviceStat is a statistic of a metric of a device.
type deviceStat struct {
	stat metric.Stat
	of   func(m *gpu.Metric) *float64
}

// deviceStats are the statistics that AIPerf has of a level, in the order of its file.
func deviceStats() []deviceStat {
	return []deviceStat{
		{metric.Avg, func(m *gpu.Metric) *float64 { return m.Avg }}, {metric.P1, func(m *gpu.Metric) *float64 { return m.P1 }},
		{metric.P5, func(m *gpu.Metric) *float64 { return m.P5 }}, {metric.P10, func(m *gpu.Metric) *float64 { return m.P10 }},
		{metric.P25, func(m *gpu.Metric) *float64 { return m.P25 }}, {metric.P50, func(m *gpu.Metric) *float64 { return m.P50 }},
		{metric.P75, func(m *gpu.Metric) *float64 { return m.P75 }}, {metric.P90, func(m *gpu.Metric) *float64 { return m.P90 }},
		{metric.P95, func(m *gpu.Metric) *float64 { return m.P95 }}, {metric.P99, func(m *gpu.Metric) *float64 { return m.P99 }},
		{metric.Min, func(m *gpu.Metric) *float64 { return m.Min }}, {metric.Max, func(m *gpu.Metric) *float64 { return m.Max }},
		{metric.Std, func(m *gpu.Metric) *float64 { return m.Std }},
		{metric.Sum, func(m *gpu.Metric) *float64 {
			if m.Avg == nil || m.Count == 0 {
				return nil
			}
			return new(*m.Avg * float64(m.Count))
		}},
	}
}

// cellStat returns a statistic of a cell. Of a counter AIPerf has its increase as the average, and nothing else.
func cellStat(c *gpu.Cell, s deviceStat) (v float64, ok bool) {
	value := s.of(&c.Scaled)
	if c.Counter {
		value = nil
		if s.stat == metric.Avg {
			value = c.Scaled.Total
		}
	}
	if value == nil || !finite(*value) {
		return 0, false
	}
	return *value, true
}

// telemetryData returns AIPerf's member telemetry_data; nil = there is no device.
func telemetryData(r *Report) object {
	if len(r.devices()) == 0 {
		return nil
	}
	return devicesObject(r.GPU, r.GPU.Profiling)
}

// devicesObject returns what devices did in a phase, or in several, as AIPerf has it. What AIPerf
// does not have is in ours.
func devicesObject(all *gpu.Report, p *gpu.Phase) object {
	devices := p.Devices
	configured, answered := []string{}, []string{}
	for i := range all.Targets {
		if t := &all.Targets[i]; t.Fetches > 0 {
			configured, answered = append(configured, t.URL), append(answered, t.URL)
		} else if t.Given {
			configured = append(configured, t.URL)
		}
	}
	summary := object{{"endpoints_configured", configured}, {"endpoints_successful", answered}}
	summary.addTime("start_time", p.Start)
	summary.addTime("end_time", p.End)
	endpoints := object{}
	for _, page := range pagesOf(devices) {
		gpus, taken := object{}, map[string]bool{}
		for i := range devices {
			if d := &devices[i]; d.Source == page {
				key := "gpu_" + strconv.Itoa(d.Index)
				if taken[key] { // of another host behind the same page, or another instance of the card
					key += "_" + strings.TrimSuffix(d.Host+"_"+d.Instance, "_")
				}
				taken[key] = true
				gpus.add(key, deviceObject(d))
			}
		}
		endpoints.add(exporterOf(page), object{{"gpus", gpus}})
	}
	return object{{"summary", summary}, {"endpoints", endpoints}, {"error_summary", failedReadings(all.Targets)}}
}

// failedReadings counts, per page that answered or that the user named, the readings that failed, under the last error.
func failedReadings(targets []diagnose.Target) []object {
	out := []object{}
	for i := range targets {
		t := &targets[i]
		if t.Failures == 0 || t.Fetches == 0 && !t.Given {
			continue
		}
		details := object{{"type", "MetricsError"}, {"message", t.URL + ": " + t.LastError}}
		out = append(out, object{{"error_details", details}, {"count", t.Failures}})
	}
	return out
}

// pagesOf returns the pages of devices in order.
func pagesOf(devices []gpu.Device) []string {
	var out []string
	for i := range devices {
		if !slices.Contains(out, devices[i].Source) {
			out = append(out, devices[i].Source)
		}
	}
	return out
}

// deviceObject returns a device as AIPerf has it.
func deviceObject(d *gpu.Device) object {
	out := object{{"gpu_index", d.Index}, {"gpu_name", d.Name}, {"gpu_uuid", d.UUID}, {"platform", d.Vendor}}
	for _, p := range []property{{"hostname", d.Host}, {"namespace", d.Namespace}, {"pod_name", d.Pod}} {
		if p.value != "" {
			out = append(out, p)
		}
	}
	metrics := object{}
	cells := d.Cells()
	for i := range cells {
		c := &cells[i]
		block := object{{"unit", c.Unit}}
		for _, s := range deviceStats() {
			if v, ok := cellStat(c, s); ok && s.stat != metric.Sum {
				block.add(s.stat.String(), v)
			}
		}
		if c.Scaled.Count > 0 && !c.Counter {
			block.add("count", c.Scaled.Count)
			if v, ok := cellStat(c, deviceStats()[len(deviceStats())-1]); ok {
				block.add("sum", v)
			}
		}
		metrics.add(c.Key, block)
	}
	out.add("metrics", metrics)
	ours := object{}
	if d.Instance != "" {
		ours.add("instance", d.Instance)
	}
	if d.Energy != nil {
		ours.add("energy", d.Energy)
	}
	out.add("ours", ours)
	return out
}

// writeDevicesCSV writes AIPerf's table of GPUs after the others, if there are any.
func writeDevicesCSV(w io.Writer, r *Report) error {
	devices := r.devices()
	if len(devices) == 0 {
		return nil
	}
	var optional []deviceText
	for _, t := range deviceTexts() {
		if slices.ContainsFunc(devices, func(d gpu.Device) bool { return t.of(&d) != "" }) {
			optional = append(optional, t)
		}
	}
	head := []string{"Endpoint", "GPU_Index", "GPU_Name", "GPU_UUID", "Platform", "Metric"}
	for _, s := range csvStats {
		head = append(head, s.String())
	}
	for _, t := range optional {
		head = append(head, t.header)
	}
	rows := [][]string{head}
	for i := range devices {
		d := &devices[i]
		cells := d.Cells()
		for j := range cells {
			c := &cells[j]
			row := []string{exporterOf(d.Source), strconv.Itoa(d.Index), d.Name, d.UUID, d.Vendor, c.Header + " (" + c.Unit + ")"}
			for _, stat := range csvStats {
				at := slices.IndexFunc(deviceStats(), func(s deviceStat) bool { return s.stat == stat })
				text := ""
				if v, ok := cellStat(c, deviceStats()[at]); ok {
					text = decimal(v, r.Layout.CSVDigits)
				}
				row = append(row, text)
			}
			for _, t := range optional {
				row = append(row, t.of(d))
			}
			rows = append(rows, row)
		}
	}
	if _, err := io.WriteString(w, "\r\n\r\n"); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	return out.WriteAll(rows)
}

// deviceText is a column of the table of GPUs that exists if a GPU has it.
type deviceText struct {
	header string
	of     func(d *gpu.Device) string
}

func deviceTexts() []deviceText {
	return []deviceText{
		{"Hostname", func(d *gpu.Device) string { return d.Host }},
		{"Namespace", func(d *gpu.Device) string { return d.Namespace }},
		{"Pod Name", func(d *gpu.Device) string { return d.Pod }},
	}
}

// deviceTables prints AIPerf's tables of GPUs: which exporters answered, and a table per GPU.
func (p *page) deviceTables(r *Report) {
	devices := r.devices()
	if len(devices) == 0 {
		return
	}
	answered, all := 0, 0
	var lines []string
	for i := range r.GPU.Targets {
		t := &r.GPU.Targets[i]
		if t.Fetches == 0 && !t.Given {
			continue
		}
		all++
		mark := "reachable"
		if t.Fetches == 0 {
			mark = "unreachable"
		} else {
			answered++
		}
		lines = append(lines, "  "+view.Printable(exporterOf(t.URL))+" "+mark)
	}
	p.line("")
	p.line(fmt.Sprintf("aiperfd | GPU Telemetry Summary: %d/%d telemetry sources reachable", answered, all))
	for _, line := range lines {
		p.line(line)
	}
	for i := range devices {
		p.deviceTable(&devices[i])
	}
}

// deviceTable prints the table of one GPU.
func (p *page) deviceTable(d *gpu.Device) {
	title := fmt.Sprintf("%s | GPU %d | %s", exporterOf(d.Source), d.Index, d.Name)
	if d.Instance != "" {
		title += " | instance " + d.Instance
	}
	t := view.Table{Title: view.Printable(title), Columns: []view.Column{{Title: "Metric", Number: true}}}
	for _, s := range consoleStats {
		weight := 1 + slices.Index(dispensable[:], s)
		t.Columns = append(t.Columns, view.Column{Title: s.String(), Weight: weight, Number: true})
	}
	cells := d.Cells()
	for i := range cells {
		row := []string{cells[i].Header + " (" + cells[i].Unit + ")"}
		for _, stat := range consoleStats {
			at := slices.IndexFunc(deviceStats(), func(s deviceStat) bool { return s.stat == stat })
			text := "N/A"
			if v, ok := cellStat(&cells[i], deviceStats()[at]); ok {
				text = deviceNumber(v)
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return
	}
	t.WrapColumn(0, p.width, 30)
	t.Narrow(view.Boxed, p.width)
	t.WrapColumn(0, p.width, 16)
	p.line("")
	p.text.WriteString(p.boxes.Table(&t))
}

// deviceNumber formats a value with two decimals or, if it is small, with four digits.
func deviceNumber(v float64) string {
	const small = 0.1
	if v != 0 && v > -small && v < small {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return view.Grouped(v)
}

// gpus prints what the GPUs did in the profiling phases, in lines of the headline.
func (p *page) gpus(r *Report) {
	if r.GPU == nil {
		return
	}
	var phases []*gpu.Phase
	for i := range r.GPU.Phases {
		if r.GPU.Phases[i].Kind == string(bench.Profiling) {
			phases = append(phases, &r.GPU.Phases[i])
		}
	}
	for _, one := range phases {
		name := ""
		if len(phases) > 1 {
			name = one.Name + ": "
		}
		for _, f := range one.Findings {
			s := style("")
			if f.Level == diagnose.Notice {
				s = yellow
			}
			p.entry(s, "Finding", name+f.Message, 0)
		}
		for i := range one.Vendors {
			if line := one.Vendors[i].Line(); line != "" {
				p.entry("", "GPU", name+line+perToken(r, one.Vendors[i].Vendor, len(phases)), 0)
			}
		}
	}
}

// path prints how the network behaved, in a line of the headline.
func (p *page) path(r *Report) {
	if r.Path == nil {
		return
	}
	if line := r.Path.Line(); line != "" {
		p.entry("", "Network", line, 0)
	}
}

// perToken is the energy per output token in a sentence; empty = it is not known, or of several phases.
func perToken(r *Report, vendor string, phases int) string {
	v, ok := r.Results.Value(vendor+"_energy_per_output_token", metric.Avg)
	if !ok || phases != 1 {
		return ""
	}
	return "; " + view.Figure(v) + " mJ per output token"
}
