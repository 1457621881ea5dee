package mock

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// driverVersion is the value of the label of that name, not a real version.
const driverVersion = "0.0.0-mock"

// gpuMetric is one row of the exporter's table. Names, units and types are those
// of NVIDIA's DCGM gpuExporter (default-counters.csv).
type gpuMetric struct {
	name  string // without DCGM_FI_
	help  string
	kind  prometheus.ValueType
	value func(v *gpuView) float64
}

// gpuView is the state of a card at an instant, from which its metrics are computed.
type gpuView struct {
	card
	model *options.GPU
	load  float64 // of this card, 0–1
	cache float64 // use of the key-value cache, 0–1
}

func (v *gpuView) clock() float64 {
	return float64(int(v.model.Clock + v.load*(v.model.Boost-v.model.Clock)))
}

func (v *gpuView) memoryUsed() float64 {
	return float64(int(v.model.Memory * 1024 * (weightsShare + poolShare*v.cache)))
}

func gpuMetrics() []gpuMetric {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	constant := func(c float64) func(*gpuView) float64 { return func(*gpuView) float64 { return c } }
	share := func(of float64) func(*gpuView) float64 { return func(v *gpuView) float64 { return of * v.load } }
	return []gpuMetric{
		{"DEV_SM_CLOCK", "SM clock frequency (in MHz).", gauge, (*gpuView).clock},
		{"DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", gauge, func(v *gpuView) float64 { return v.model.MemoryClock }},
		{
			"DEV_MEMORY_TEMP", "Memory temperature (in C).", gauge,
			func(v *gpuView) float64 { return float64(int(v.heat + 3 + 5*v.load)) },
		},
		{"DEV_GPU_TEMP", "GPU temperature (in C).", gauge, func(v *gpuView) float64 { return float64(int(v.heat)) }},
		{"DEV_POWER_USAGE", "Power draw (in W).", gauge, func(v *gpuView) float64 { return v.power }},
		{"DEV_POWER_MGMT_LIMIT", "Power limit (in W).", gauge, func(v *gpuView) float64 { return v.model.Limit }},
		{
			"DEV_TOTAL_ENERGY_CONSUMPTION", "Total energy consumption since boot (in mJ).", counter,
			func(v *gpuView) float64 { return v.energy * 1000 },
		},
		{"DEV_PCIE_REPLAY_COUNTER", "Total number of PCIe retries.", counter, constant(0)},
		{
			"DEV_GPU_UTIL", "GPU utilization (in %).", gauge,
			func(v *gpuView) float64 { return float64(int(min(100, 5+95*v.load))) },
		},
		{
			"DEV_MEM_COPY_UTIL", "Memory utilization (in %).", gauge,
			func(v *gpuView) float64 { return float64(int(50 * v.load)) },
		},
		{"DEV_ENC_UTIL", "Encoder utilization (in %).", gauge, constant(0)},
		{"DEV_DEC_UTIL", "Decoder utilization (in %).", gauge, constant(0)},
		{"DEV_XID_ERRORS", "Value of the last XID error encountered.", gauge, constant(0)},
		{
			"DEV_POWER_VIOLATION", "Throttling duration due to power constraints (in us).", counter,
			func(v *gpuView) float64 { return v.powerCapped },
		},
		{
			"DEV_THERMAL_VIOLATION", "Throttling duration due to thermal constraints (in us).", counter,
			func(v *gpuView) float64 { return v.heatCapped },
		},
		{
			"DEV_FB_FREE", "Framebuffer memory free (in MiB).", gauge,
			func(v *gpuView) float64 { return v.model.Memory*1024 - reservedMiB - v.memoryUsed() },
		},
		{"DEV_FB_USED", "Framebuffer memory used (in MiB).", gauge, (*gpuView).memoryUsed},
		{"DEV_FB_RESERVED", "Framebuffer memory reserved (in MiB).", gauge, constant(reservedMiB)},
		{"DEV_FB_TOTAL", "Framebuffer memory (in MiB).", gauge, func(v *gpuView) float64 { return v.model.Memory * 1024 }},
		{
			"DEV_NVLINK_BANDWIDTH_TOTAL", "Total number of NVLink bandwidth counters for all lanes.", counter,
			func(v *gpuView) float64 { return float64(int(v.traffic)) },
		},
		{"PROF_GR_ENGINE_ACTIVE", "Ratio of time the graphics engine is active.", gauge, share(1)},
		{"PROF_PIPE_TENSOR_ACTIVE", "Ratio of cycles the tensor (HMMA) pipe is active.", gauge, share(0.6)},
		{
			"PROF_DRAM_ACTIVE", "Ratio of cycles the device memory interface is active sending or receiving data.",
			gauge, share(0.7),
		},
	}
}

// gpuExporter collects the metrics of cards. It is immutable.
type gpuExporter struct {
	cards *cards
	seed  uint64
	now   func() int64
	cache func() float64 // use of the key-value cache, 0–1
	rows  []gpuMetric
	descs []*prometheus.Desc
}

var _ prometheus.Collector = (*gpuExporter)(nil)

// newGPUHandler returns a handler for the metrics of cards. now reads the server's clock, and
// cache returns the use of the key-value cache, 0 to 1.
func newGPUHandler(g *cards, seed uint64, now func() int64, cache func() float64) http.Handler {
	c := &gpuExporter{cards: g, seed: seed, now: now, cache: cache, rows: gpuMetrics()}
	labels := []string{"gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname", "DCGM_FI_DRIVER_VERSION"}
	for _, row := range c.rows {
		c.descs = append(c.descs, prometheus.NewDesc("DCGM_FI_"+row.name, row.help, labels, nil))
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

// Describe implements prometheus.Collector.
func (c *gpuExporter) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *gpuExporter) Collect(to chan<- prometheus.Metric) {
	g := c.cards
	cache := c.cache()
	all, load := g.look(c.now())
	for i := range all {
		v := &gpuView{card: all[i], model: &g.model, load: min(1, load*all[i].factor), cache: cache}
		index := strconv.Itoa(i)
		id := random.Mix(c.seed, uint64(i)+1000)
		labels := []string{
			index, fmt.Sprintf("GPU-%08x-%04x-%04x-%04x-%012x",
				uint32(id), uint16(id>>8), uint16(id>>16), uint16(id>>24), id>>16),
			fmt.Sprintf("00000000:%02X:00.0", i+1), "nvidia" + index, g.model.Title, "mock", driverVersion,
		}
		for r := range c.rows {
			to <- prometheus.MustNewConstMetric(c.descs[r], c.rows[r].kind, c.rows[r].value(v), labels...)
		}
	}
}
