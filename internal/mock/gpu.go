package mock

import (
	"math"
	"slices"
	"sync"
	"time"

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
type cards struct {
	model options.GPU
	sent  func() int64 // tokens sent so far; nil with an accelerator

	mu      sync.Mutex
	at      int64 // the server's clock up to which the cards are computed
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

// newCards returns n cards of a model. sent returns the tokens that the server has sent so
// far; it is nil with an accelerator, which reports its steps to spend.
func newCards(m options.GPU, n int, base uint64, now int64, sent func() int64) *cards {
	g := &cards{
		model: m, at: now, sent: sent, all: make([]card, n),
		powerBy: 1 - math.Exp(-gpuTick.Seconds()/powerLag.Seconds()),
		heatBy:  1 - math.Exp(-gpuTick.Seconds()/heatLag.Seconds()),
	}
	for i := range g.all {
		spread := float64(random.Mix(base, uint64(i)+1)>>11) / (1 << 53) // 0–1
		g.all[i] = card{factor: 0.95 + 0.1*spread, power: m.Idle, heat: m.Coldest}
	}
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
