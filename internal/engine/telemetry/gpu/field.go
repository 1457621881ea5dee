// Package gpu knows what the pages of exporters of accelerators mean: DCGM's for cards of NVIDIA, and the
// device metrics exporter for those of AMD. It finds the devices of a page, reduces their metrics to exact
// windows, and says how much energy they used, with a bound on the error. It is pure.
package gpu

import (
	"strings"

	"aiperfd/internal/engine/telemetry/window"
)

// Form is how a canonical metric is measured.
type Form uint8

// The forms.
const (
	Level Form = iota // a gauge
	Total             // a counter
	Bits              // a gauge whose bits are reasons
)

// Field is a canonical metric of a device.
type Field struct {
	Name, Unit, About string
	Form              Form
	// Whole means that each instance of a card repeats the value of the card.
	Whole   bool
	Sources []Source // alternatives; the first one that a device has counts
}

// Source is a family of an exporter that gives a canonical metric.
type Source struct {
	Family string
	Scale  float64 // canonical value = value / Scale
	Label  string  // a label that must contain Value, such as the type of a clock; empty = none
	Value  string
	// Filled means that a value of zero says that the card does not have it.
	Filled bool
}

const mib = 1.0 / (1 << 20)

func plain(family string) Source { return Source{Family: family, Scale: 1} }

func scaled(family string, scale float64) Source { return Source{Family: family, Scale: scale} }

// dcgm returns the families of DCGM with their names without a prefix.
func dcgm(names ...string) []Source {
	out := make([]Source, len(names))
	for i, name := range names {
		out[i] = plain(prefix(name))
	}
	return out
}

// prefix completes a name of DCGM. Those of counters in software have one of their own.
func prefix(name string) string {
	if strings.HasPrefix(name, "PROF_") {
		return "DCGM_FI_" + name
	}
	return "DCGM_FI_DEV_" + name
}

// Fields returns the canonical metrics in the order in which they are shown. DCGM 4.6 has renamed some of its
// fields; an exporter publishes those that its configuration names, so both are known. Memory of AMD's exporter
// is in MB of 2^20 bytes.
func Fields() []Field {
	return []Field{
		{"power", "W", "Power that the card draws.", Level, true, append(dcgm("POWER_USAGE", "BOARD_POWER_WATTS"),
			Source{Family: "gpu_power_usage", Scale: 1, Filled: true}, Source{Family: "gpu_package_power", Scale: 1, Filled: true},
			Source{Family: "gpu_average_package_power", Scale: 1, Filled: true})},
		{"energy", "J", "Energy that the card has used, by its counter.", Total, true, []Source{
			scaled(prefix("TOTAL_ENERGY_CONSUMPTION"), 1e3), plain(prefix("GPU_ENERGY_JOULES_TOTAL")), scaled("gpu_energy_consumed", 1e6),
		}},
		{"power_limit", "W", "Power that the card may draw.", Level, true,
			append(dcgm("POWER_MGMT_LIMIT", "POWER_MGMT_LIMIT_WATTS"), plain("gpu_power_cap"))}, // which [SysfsPage] has
		{"util", "%", "Share of the time during which a kernel ran.", Level, false, append(dcgm("GPU_UTIL"), plain("gpu_gfx_activity"))},
		{"sm_active", "ratio", "Share of the cycles in which a multiprocessor had work.", Level, false, dcgm("PROF_SM_ACTIVE")},
		{"tensor_active", "ratio", "Share of the cycles in which the tensor pipe was active.", Level, false,
			dcgm("PROF_PIPE_TENSOR_ACTIVE", "PROF_TENSOR_UTIL_RATIO")},
		{"dram_active", "ratio", "Share of the cycles in which the memory interface was active.", Level, false,
			dcgm("PROF_DRAM_ACTIVE", "PROF_DRAM_UTIL_RATIO")},
		{"mem_util", "%", "Share of the time during which memory was read or written.", Level, false,
			append(dcgm("MEM_COPY_UTIL"), plain("gpu_umc_activity"))},
		{"mem_used", "B", "Memory in use.", Level, false, []Source{scaled(prefix("FB_USED"), mib), scaled("gpu_used_vram", mib)}},
		{"mem_total", "B", "Memory of the device.", Level, false, []Source{scaled(prefix("FB_TOTAL"), mib), scaled("gpu_total_vram", mib)}},
		{"encoder_util", "%", "Use of the video encoder.", Level, false, dcgm("ENC_UTIL")},
		{"decoder_util", "%", "Use of the video decoder.", Level, false, dcgm("DEC_UTIL")},
		{"sm_clock", "MHz", "Clock of the multiprocessors.", Level, true, append(dcgm("SM_CLOCK"),
			scaled(prefix("SM_CLOCK_HERTZ"), 1e6), Source{Family: "gpu_clock", Scale: 1, Label: "clock_type", Value: "SYSTEM"})},
		{"mem_clock", "MHz", "Clock of the memory.", Level, true, append(dcgm("MEM_CLOCK"),
			scaled(prefix("MEM_CLOCK_HERTZ"), 1e6), Source{Family: "gpu_clock", Scale: 1, Label: "clock_type", Value: "MEMORY"})},
		{"temp", "C", "Temperature of the chip.", Level, true, append(dcgm("GPU_TEMP", "GPU_TEMP_CELSIUS"),
			plain("gpu_junction_temperature"), plain("gpu_edge_temperature"))},
		{"mem_temp", "C", "Temperature of the memory.", Level, true,
			append(dcgm("MEMORY_TEMP", "MEMORY_TEMP_CELSIUS"), plain("gpu_memory_temperature"))},
		{"throttle_power", "s", "Time during which the limit of power held the clocks down.", Total, true, dcgm("POWER_VIOLATION")},
		{"throttle_thermal", "s", "Time during which heat held the clocks down.", Total, true, dcgm("THERMAL_VIOLATION")},
		{"throttle_reasons", "bits", "What held the clocks down.", Bits, true, dcgm("CLOCKS_EVENT_REASONS", "CLOCK_THROTTLE_REASONS")},
		{"pcie_tx", "B/s", "Data sent over PCIe.", Level, false, dcgm("PROF_PCIE_TX_BYTES")},
		{"pcie_rx", "B/s", "Data received over PCIe.", Level, false, dcgm("PROF_PCIE_RX_BYTES")},
		{"nvlink_tx", "B/s", "Data sent over NVLink.", Level, false, dcgm("PROF_NVLINK_TX_BYTES")},
		{"nvlink_rx", "B/s", "Data received over NVLink.", Level, false, dcgm("PROF_NVLINK_RX_BYTES")},
		{"xid", "code", "The last error that the driver reported; 0 = none.", Level, true, dcgm("XID_ERRORS", "XID_ERROR")},
		{"ecc", "errors", "Memory errors that could not be corrected.", Total, true,
			append(dcgm("ECC_DBE_VOL_TOTAL"), plain("gpu_ecc_uncorrect_total"))},
	}
}

// extra reports whether a field is one of the user's.
func (f *Field) extra() bool { return strings.HasPrefix(f.Name, "nvidia_") }

// violationScale returns what divides a time of throttling to give seconds. The description says it; without a
// word of it, DCGM's unit counts. A share of more than the whole window shows that the description is wrong:
// then they are nanoseconds.
func violationScale(f *window.Family, grown float64, w window.Window) float64 {
	const micro, nano = 1e6, 1e9
	help := strings.ToLower(f.Help)
	scale := micro
	if strings.Contains(help, "in ns") || strings.Contains(help, "nanosecond") {
		scale = nano
	}
	const slack = 1.1
	if scale == micro && w.To > w.From && grown/micro > slack*w.Seconds() {
		scale = nano
	}
	return scale
}
