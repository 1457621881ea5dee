package mock

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

const (
	gpuTick      = 100 * time.Millisecond // step of the simulation
	gpuWindow    = 10                     // ticks over which load is averaged
	powerLag     = 500 * time.Millisecond
	heatLag      = 20 * time.Second
	weightsShare = 0.2 // of a card's memory: the model's weights
	poolShare    = 0.7 // of a card's memory: the key-value cache
	reservedMiB  = 512.0
	nvlinkRate   = 400_000.0 // MB/s at full load
)

// cards are the simulated cards of the server. They follow its load with the lags of real
// cards, and are computed when they are read. With an accelerator the load is the share of
// the last second in which it computed a step, weighted by the fill of the batch; without
// one it is the rate of tokens in the last second, relative to the highest rate so far.
//
// An exporter collects the values of its cards every so often, and shows them a little later, however often
// it is read. With a refresh the page is such an exporter's.
type cards struct {
	model   options.GPU
	sent    func() int64 // tokens sent so far; nil with an accelerator
	refresh int64        // ns between two collections of the exporter; 0 = it collects when it is read
	lag     int64        // ns after which a collection is shown

	mu      sync.Mutex
	states  []cardState // the collection that is shown, and those that will be
	next    int64       // when the exporter collects again
	at      int64       // the server's clock up to which the cards are computed
	window  [gpuWindow]float64
	oldest  int     // index of the oldest tick of the window
	work    float64 // of the current tick
	tokens  int64   // last result of sent
	best    float64 // most tokens in a window
	load    float64 // 0–1
	all     []card
	powerBy float64 // share of the difference to its target that power changes per tick, 0–1
	heatBy  float64
}

// card is the state of one card.
type card struct {
	factor      float64 // of its load, 0.95–1.05
	power       float64 // W
	heat        float64 // °C
	energy      float64 // J since the start
	traffic     float64 // MB over NVLink since the start
	powerCapped float64 // µs
	heatCapped  float64 // µs
}

// cardState is what an exporter has collected.
type cardState struct {
	at    int64
	all   []card
	load  float64
	cache float64 // use of the key-value cache when it was first shown, 0–1; negative = it was not yet
}

// newCards returns the cards of options. sent returns the tokens that the server has sent so
// far; it is nil with an accelerator, which reports its steps to spend.
func newCards(m options.GPU, o *options.Options, now int64, sent func() int64) *cards {
	base := o.Seed
	g := &cards{
		model: m, at: now, sent: sent, all: make([]card, o.GPUs),
		refresh: int64(o.GPURefresh.Round(gpuTick)), lag: int64(o.GPULag), next: now,
		powerBy: 1 - math.Exp(-gpuTick.Seconds()/powerLag.Seconds()),
		heatBy:  1 - math.Exp(-gpuTick.Seconds()/heatLag.Seconds()),
	}
	for i := range g.all {
		spread := float64(random.Mix(base, uint64(i)+1)>>11) / (1 << 53) // 0–1
		g.all[i] = card{factor: 0.95 + 0.1*spread, power: m.Idle, heat: m.Coldest}
	}
	g.collect()
	return g
}

// spend records a step of an accelerator that ends at to and takes took; fill is the fill
// of its batch, 0–1.
func (g *cards) spend(to int64, took time.Duration, fill float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.advance(to)
	g.work += took.Seconds() * (0.4 + 0.6*fill)
}

// look advances the cards to now and returns them with their load.
func (g *cards) look(now int64) (all []card, load float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sent != nil {
		g.follow(now)
	} else {
		g.advance(now)
	}
	all = slices.Clone(g.all)
	rest := time.Duration(now - g.at).Seconds() // of a tick, in which power is constant
	for i := range all {
		all[i].energy += all[i].power * rest
	}
	return all, g.load
}

// shown returns the cards that the exporter shows at now, with their load and the use of the key-value cache, of
// which cache is that of now.
func (g *cards) shown(now int64, cache float64) cardState {
	all, load := g.look(now)
	if g.refresh == 0 {
		return cardState{now, all, load, cache}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(now)
	if s := &g.states[0]; s.cache < 0 {
		s.cache = cache
	}
	return g.states[0]
}

// forget removes the collections that newer ones have replaced at now.
func (g *cards) forget(now int64) {
	for len(g.states) > 1 && g.states[1].at+g.lag <= now {
		g.states = g.states[1:]
	}
}

// collect keeps the state of the cards if the exporter collects now.
func (g *cards) collect() {
	if g.refresh == 0 || g.at < g.next {
		return
	}
	g.next += g.refresh
	g.forget(g.at)
	g.states = append(g.states, cardState{g.at, slices.Clone(g.all), g.load, -1})
}

// follow spreads the tokens that were sent since the last look over the ticks
// since then.
func (g *cards) follow(now int64) {
	ticks := (now - g.at) / int64(gpuTick)
	if ticks <= 0 {
		return
	}
	sent := g.sent()
	each := float64(sent-g.tokens) / float64(ticks)
	g.tokens = sent
	for range ticks {
		g.work = each
		g.advance(g.at + int64(gpuTick))
	}
}

// advance computes the ticks that are over at now.
func (g *cards) advance(now int64) {
	for g.at+int64(gpuTick) <= now {
		g.at += int64(gpuTick)
		g.window[g.oldest] = g.work
		g.oldest = (g.oldest + 1) % gpuWindow
		g.work = 0
		sum := 0.0
		for _, w := range g.window {
			sum += w
		}
		if g.sent != nil {
			if g.best = max(g.best, sum); g.best > 0 {
				sum /= g.best
			}
		}
		g.load = min(1, sum)
		for i := range g.all {
			g.tick(&g.all[i])
		}
		g.collect()
	}
}

// tick advances a card by one tick.
func (g *cards) tick(c *card) {
	m := &g.model
	load := min(1, g.load*c.factor)
	c.power += (m.Idle + load*(m.Limit-m.Idle) - c.power) * g.powerBy
	c.heat += (m.Coldest + load*(m.Hottest-m.Coldest) - c.heat) * g.heatBy
	c.energy += c.power * gpuTick.Seconds()
	c.traffic += load * nvlinkRate * gpuTick.Seconds()
	if c.power > 0.95*m.Limit {
		c.powerCapped += float64(gpuTick.Microseconds())
	}
	if c.heat > m.Hottest-5 {
		c.heatCapped += float64(gpuTick.Microseconds())
	}
}

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
	cache := c.cache() // before the cards are locked, since the accelerator locks them too
	state := g.shown(c.now(), cache)
	for i := range state.all {
		one := state.all[i]
		v := &gpuView{card: one, model: &g.model, load: min(1, state.load*one.factor), cache: state.cache}
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
