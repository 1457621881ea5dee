package catalogue

import (
	"math"
	"strings"
)

// Power is what the accelerators of one vendor used in a phase, with the metrics of the phase. NaN = unknown.
type Power struct {
	Energy  float64 // J
	Net     float64 // J, without what the cards use idle
	Average float64 // W, energy by time
	Mean    float64 // W, of the readings
	Peak    float64 // W, of all cards at the same time
	Limit   float64 // W, of all cards
	Cards   float64
	Users   float64 // requests that a closed loop keeps in flight
	Value   func(tag string) float64
}

// powerRows are of the accelerators, for cards of NVIDIA; see [ofAMD].
func powerRows() []Row {
	const up = LargerIsBetter
	var (
		perWatt     = plain("requests/sec/W")
		tpsPerWatt  = plain("tokens/sec/W")
		goodPerWatt = plain("good-req/s/W")
		inWatts     = plain("W")
		inJoules    = plain("J")
		inMJ        = plain("mJ/token")
		delay       = plain("J*s")
		tokenRate   = plain("tokens/sec/gpu")
	)
	const milli, ms = 1000, 1000
	return []Row{
		power("energy_delay_product", 0, delay, func(p *Power) float64 {
			return p.Energy / p.Value("request_count") * p.Value("request_latency") / ms
		}),
		power("performance_per_watt", up, perWatt, func(p *Power) float64 { return p.Value("request_throughput") / p.Average }),
		power("output_tps_per_watt", up|ProducesTokensOnly, tpsPerWatt,
			func(p *Power) float64 { return p.Value("output_token_throughput") / p.Average }),
		power("goodput_per_watt", up|GoodputOnly, goodPerWatt, func(p *Power) float64 { return p.Value("goodput") / p.Average }),
		power("average_gpu_power", 0, inWatts, func(p *Power) float64 { return p.Average }),
		power("total_gpu_energy", 0, inJoules, func(p *Power) float64 { return p.Energy }),
		power("total_gpu_power", 0, inWatts, func(p *Power) float64 { return p.Mean }),
		power("energy_per_total_token", 0, inMJ, func(p *Power) float64 {
			in := p.Value("total_isl")
			if math.IsNaN(in) {
				in = 0
			}
			return milli * p.Energy / (in + p.Value("total_osl"))
		}),
		power("energy_per_output_token", ProducesTokensOnly, inMJ, func(p *Power) float64 { return milli * p.Energy / p.Value("total_osl") }),
		power("energy_per_request", 0, plain("joules/request"), func(p *Power) float64 { return p.Energy / p.Value("request_count") }),
		power("output_tokens_per_joule", up|ProducesTokensOnly, plain("tokens/J"), func(p *Power) float64 { return p.Value("total_osl") / p.Energy }),
		power("energy_per_user", 0, plain("joules/user"), func(p *Power) float64 { return p.Energy / p.Users }),
		power("net_energy_per_output_token", ProducesTokensOnly, inMJ,
			func(p *Power) float64 { return milli * p.Net / p.Value("total_osl") }),
		power("peak_power", 0, inWatts, func(p *Power) float64 { return p.Peak }),
		power("power_limit_share", 0, inRatio, func(p *Power) float64 { return p.Mean / p.Limit }),
		power("tokens_per_second_per_gpu", up|ProducesTokensOnly, tokenRate,
			func(p *Power) float64 { return p.Value("output_token_throughput") / p.Cards }),
	}
}

// nvidiaPrefix begins the tags of the metrics of NVIDIA's cards.
const nvidiaPrefix, amdPrefix = "nvidia_", "amd_"

// power is a function of what the accelerators used.
func power(name string, f Flags, u unit, of func(*Power) float64) Row {
	r := newRow(nvidiaPrefix+name, Derived, f, u)
	r.Power = func(p *Power) float64 {
		if v := of(p); !math.IsInf(v, 0) { // divided by nothing
			return v
		}
		return math.NaN()
	}
	return r
}

// ofAMD returns the twin of r for cards of AMD.
func ofAMD(r Row) Row {
	const further = 100
	r.Tag = amdPrefix + strings.TrimPrefix(r.Tag, nvidiaPrefix)
	if r.Order > 0 {
		r.Order += further
	}
	if r.Group == GroupPowerNVIDIA {
		r.Group = GroupPowerAMD
	}
	return r
}

// PowerOf returns the rows of a vendor, in order.
func PowerOf(vendor string) []*Row {
	var out []*Row
	for i := range all {
		if r := &all[i]; r.Power != nil && strings.HasPrefix(r.Tag, vendor+"_") {
			out = append(out, r)
		}
	}
	return out
}
