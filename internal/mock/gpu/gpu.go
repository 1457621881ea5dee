// Package gpu simulates the GPUs of a server: load, power, temperature and memory, with
// the metrics of NVIDIA's DCGM exporter.
package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"aiperfd/internal/mock/random"
)

// Default is the default card.
const Default = "h100-sxm"

// MaxCards is the maximum number of cards.
const MaxCards = 64

// model is a model of a card; the figures are rounded from its data sheet.
type model struct {
	name, title      string
	memory           float64 // GiB
	limit, idle      float64 // W
	clock, boost     float64 // MHz, of the processors
	memoryClock      float64 // MHz
	coldest, hottest float64 // °C
}

func models() []model {
	return []model{
		{"h100-sxm", "NVIDIA H100 80GB HBM3", 80, 700, 70, 1350, 1980, 1593, 40, 88},
		{"h100-pcie", "NVIDIA H100 PCIe", 80, 350, 40, 1095, 1830, 1593, 35, 82},
		{"h200", "NVIDIA H200", 141, 700, 70, 1350, 1980, 1593, 40, 88},
		{"b200", "NVIDIA B200", 192, 1200, 100, 1500, 2200, 2000, 40, 90},
		{"a100-sxm", "NVIDIA A100-SXM4-80GB", 80, 400, 50, 1095, 1410, 1593, 40, 85},
		{"l4", "NVIDIA L4", 24, 72, 16, 795, 2040, 6251, 35, 85},
		{"rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", 48, 300, 30, 915, 2505, 9001, 35, 83},
	}
}

// Names returns the names of cards for Options.GPU.
func Names() []string {
	var names []string
	for _, m := range models() {
		names = append(names, m.name)
	}
	return names
}

// Find returns the model with a name of [Names].
func Find(name string) (model, error) {
	models := models()
	if i := slices.IndexFunc(models, func(m model) bool { return m.name == name }); i >= 0 {
		return models[i], nil
	}
	return model{}, fmt.Errorf("gpu is %q, want one of %s", name, strings.Join(Names(), ", "))
}

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

// Cards are the simulated cards of the server. They follow its load with the lags of real
// cards, and are computed when they are read. With an accelerator the load is the share of
// the last second in which it computed a step, weighted by the fill of the batch; without
// one it is the rate of tokens in the last second, relative to the highest rate so far.
type Cards struct {
	model model
	sent  func() int64 // tokens sent so far; nil with an accelerator

	mu      sync.Mutex
	at      int64 // the server's clock up to which the cards are computed
	window  [gpuWindow]float64
	oldest  int     // index of the oldest tick of the window
	work    float64 // of the current tick
	tokens  int64   // last result of sent
	best    float64 // most tokens in a window
	load    float64 // 0–1
	cards   []card
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

// NewCards returns n cards of a model. sent returns the tokens that the server has sent so
// far; it is nil with an accelerator, which reports its steps to Spend.
func NewCards(m model, n int, base uint64, now int64, sent func() int64) *Cards {
	g := &Cards{
		model: m, at: now, sent: sent, cards: make([]card, n),
		powerBy: 1 - math.Exp(-gpuTick.Seconds()/powerLag.Seconds()),
		heatBy:  1 - math.Exp(-gpuTick.Seconds()/heatLag.Seconds()),
	}
	for i := range g.cards {
		spread := float64(random.Mix(base, uint64(i)+1)>>11) / (1 << 53) // 0–1
		g.cards[i] = card{factor: 0.95 + 0.1*spread, power: m.idle, heat: m.coldest}
	}
	return g
}

// Spend records a step of an accelerator that ends at to and takes took; fill is the fill
// of its batch, 0–1.
func (g *Cards) Spend(to int64, took time.Duration, fill float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.advance(to)
	g.work += took.Seconds() * (0.4 + 0.6*fill)
}

// look advances the cards to now and returns them with their load.
func (g *Cards) look(now int64) (cards []card, load float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sent != nil {
		g.follow(now)
	} else {
		g.advance(now)
	}
	cards = slices.Clone(g.cards)
	rest := time.Duration(now - g.at).Seconds() // of a tick, in which power is constant
	for i := range cards {
		cards[i].energy += cards[i].power * rest
	}
	return cards, g.load
}

// follow spreads the tokens that were sent since the last look over the ticks
// since then.
func (g *Cards) follow(now int64) {
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
func (g *Cards) advance(now int64) {
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
		for i := range g.cards {
			g.tick(&g.cards[i])
		}
	}
}

// tick advances a card by one tick.
func (g *Cards) tick(c *card) {
	m := &g.model
	load := min(1, g.load*c.factor)
	c.power += (m.idle + load*(m.limit-m.idle) - c.power) * g.powerBy
	c.heat += (m.coldest + load*(m.hottest-m.coldest) - c.heat) * g.heatBy
	c.energy += c.power * gpuTick.Seconds()
	c.traffic += load * nvlinkRate * gpuTick.Seconds()
	if c.power > 0.95*m.limit {
		c.powerCapped += float64(gpuTick.Microseconds())
	}
	if c.heat > m.hottest-5 {
		c.heatCapped += float64(gpuTick.Microseconds())
	}
}
