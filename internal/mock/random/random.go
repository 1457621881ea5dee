// Package random has distributions of durations and of token counts, in the syntax of
// flags and of request headers.
package random

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// distForms lists the forms that the parsers accept; it ends every parse error.
const distForms = "accepted: VALUE, const:V, uniform:LOW:HIGH, normal:MEAN:SD, " +
	"lognormal:MEAN:CV, exp:MEAN, gamma:MEAN:CV, bimodal:P:DIST:DIST"

// maxDistDepth is the maximum depth of nested bimodal distributions.
const maxDistDepth = 4

type distKind uint8

const (
	distUnset distKind = iota
	distConst
	distUniform
	distNormal
	distLognormal
	distExp
	distGamma
	distBimodal
)

// distSpec is one row of the table of kinds. Fields with a unit are values,
// those without are plain ratios such as a coefficient of variation.
type distSpec struct {
	name  string
	kind  distKind
	units []bool // one element per argument: true = has the unit
}

// distSpecs is the table of kinds, in the order of the documentation.
func distSpecs() []distSpec {
	return []distSpec{
		{"const", distConst, []bool{true}},
		{"uniform", distUniform, []bool{true, true}},
		{"normal", distNormal, []bool{true, true}},
		{"lognormal", distLognormal, []bool{true, false}},
		{"exp", distExp, []bool{true}},
		{"gamma", distGamma, []bool{true, false}},
	}
}

// distribution is a distribution of non-negative numbers. The zero value is unset.
// It is immutable, hence safe for concurrent use.
type distribution struct {
	kind distKind
	a, b float64
	mix  *[2]distribution // bimodal: [0] usual, [1] taken with probability a
	text string           // as written by the user
}

// String returns the text that the distribution is parsed from, "" if unset.
func (d distribution) String() string { return d.text }

// MarshalText implements encoding.TextMarshaler.
func (d distribution) MarshalText() ([]byte, error) { return []byte(d.text), nil }

// IsSet reports whether the distribution is not the zero value.
func (d *distribution) IsSet() bool { return d.kind != distUnset }

// sample draws one value, ≥ 0. The unset distribution draws 0.
func (d *distribution) sample(r *rand.Rand) float64 {
	switch d.kind {
	case distUnset:
		return 0
	case distConst:
		return d.a
	case distUniform:
		return d.a + (d.b-d.a)*r.Float64()
	case distNormal:
		return sampleNormal(r, d.a, d.b)
	case distLognormal:
		// E[X] = exp(mu + s²/2) and cv² = exp(s²) − 1, solved for mu and s.
		s2 := math.Log1p(d.b * d.b)
		return d.a * math.Exp(math.Sqrt(s2)*r.NormFloat64()-s2/2)
	case distExp:
		return d.a * r.ExpFloat64()
	case distGamma:
		return sampleGamma(r, d.a, d.b)
	case distBimodal:
		if r.Float64() < d.a {
			return d.mix[1].sample(r)
		}
		return d.mix[0].sample(r)
	}
	return 0
}

// sampleNormal truncates at 0.3 and 1.7 times the mean, so that a delay is never
// negative and its mean is unchanged (the truncation is symmetric).
func sampleNormal(r *rand.Rand, mean, sd float64) float64 {
	lo, hi := 0.3*mean, 1.7*mean
	for range 64 {
		if x := mean + sd*r.NormFloat64(); x >= lo && x <= hi {
			return x
		}
	}
	// A deviation much larger than the mean: the truncated shape is almost flat.
	return lo + (hi-lo)*r.Float64()
}

// sampleGamma draws from a gamma distribution given by mean and coefficient of
// variation, by the squeeze method of Marsaglia and Tsang (2000).
func sampleGamma(r *rand.Rand, mean, cv float64) float64 {
	if cv == 0 || mean == 0 {
		return mean
	}
	shape := 1 / (cv * cv)
	scale := mean / shape
	boost := 1.0
	if shape < 1 {
		boost = math.Pow(r.Float64(), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v * scale * boost
		}
	}
}

// parse reads a distribution whose values are read by unit.
func parse(s string, unit func(string) (float64, error)) (distribution, error) {
	fields := strings.Split(strings.TrimSpace(s), ":")
	d, rest, err := parseDistFields(fields, unit, maxDistDepth)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("unexpected %q at the end", strings.Join(rest, ":"))
	}
	if err != nil {
		return distribution{}, fmt.Errorf("parse distribution %q: %w; %s", s, err, distForms)
	}
	d.text = strings.TrimSpace(s)
	return d, nil
}

func parseDistFields(f []string, unit func(string) (float64, error), depth int) (distribution, []string, error) {
	if len(f) == 0 || f[0] == "" {
		return distribution{}, nil, errors.New("a value is missing")
	}
	if f[0] == "bimodal" {
		return parseBimodal(f[1:], unit, depth)
	}
	for _, spec := range distSpecs() {
		if spec.name != f[0] {
			continue
		}
		if len(f) < 1+len(spec.units) {
			return distribution{}, nil, fmt.Errorf("%s takes %d values", spec.name, len(spec.units))
		}
		return parseArgs(spec, f[1:], unit)
	}
	return parseArgs(distSpec{"const", distConst, []bool{true}}, f, unit)
}

func parseArgs(spec distSpec, f []string, unit func(string) (float64, error)) (distribution, []string, error) {
	d := distribution{kind: spec.kind}
	for i, hasUnit := range spec.units {
		parse := ParseRatio
		if hasUnit {
			parse = unit
		}
		v, err := parse(f[i])
		if err != nil {
			return distribution{}, nil, err
		}
		if i == 0 {
			d.a = v
		} else {
			d.b = v
		}
	}
	if spec.kind == distUniform && d.b < d.a {
		return distribution{}, nil, fmt.Errorf("uniform wants LOW ≤ HIGH, got %s:%s", f[0], f[1])
	}
	return d, f[len(spec.units):], nil
}

func parseBimodal(f []string, unit func(string) (float64, error), depth int) (distribution, []string, error) {
	if depth == 0 {
		return distribution{}, nil, errors.New("bimodal is nested too deeply")
	}
	if len(f) == 0 {
		return distribution{}, nil, errors.New("bimodal takes a probability and two distributions")
	}
	p, err := ParseRatio(f[0])
	if err != nil || p > 1 {
		return distribution{}, nil, fmt.Errorf("bimodal wants a probability between 0 and 1, got %q", f[0])
	}
	usual, rest, err := parseDistFields(f[1:], unit, depth-1)
	if err != nil {
		return distribution{}, nil, err
	}
	rare, rest, err := parseDistFields(rest, unit, depth-1)
	if err != nil {
		return distribution{}, nil, err
	}
	return distribution{kind: distBimodal, a: p, mix: &[2]distribution{usual, rare}}, rest, nil
}

// ParseRatio reads a finite number, at least 0.
func ParseRatio(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("%q is not a number ≥ 0", s)
	}
	return v, nil
}

// Delay is a distribution of durations. The zero value is unset and means the default of
// an option. It is immutable.
type Delay struct{ distribution }

// ConstDelay returns the distribution that always draws v. A negative v counts as 0.
func ConstDelay(v time.Duration) Delay {
	v = max(v, 0)
	return Delay{distribution{kind: distConst, a: float64(v), text: "const:" + v.String()}}
}

// ParseDelay parses "20ms", "const:20ms", "uniform:10ms:30ms", "normal:20ms:5ms"
// (mean and standard deviation, truncated at 0.3 and 1.7 times the mean),
// "lognormal:20ms:0.5" and "gamma:20ms:0.5" (mean and coefficient of variation),
// "exp:20ms" (mean) or "bimodal:0.01:const:20ms:const:2s" (the second with
// probability 0.01). Durations are those of time.ParseDuration, ≥ 0.
func ParseDelay(s string) (Delay, error) {
	d, err := parse(s, func(v string) (float64, error) {
		t, err := time.ParseDuration(v)
		if err != nil || t < 0 {
			return 0, fmt.Errorf("%q is not a duration ≥ 0 such as 20ms", v)
		}
		return float64(t), nil
	})
	return Delay{d}, err
}

// UnmarshalText implements encoding.TextUnmarshaler by ParseDelay.
func (d *Delay) UnmarshalText(b []byte) error {
	v, err := ParseDelay(string(b))
	if err == nil {
		*d = v
	}
	return err
}

// Draw draws one duration, at least 0.
func (d *Delay) Draw(r *rand.Rand) time.Duration {
	// A float beyond int64 converts to an unspecified value: cap at a year.
	return time.Duration(min(d.sample(r), float64(365*24*time.Hour)))
}

// DrawSum returns the sum of n draws.
func (d *Delay) DrawSum(r *rand.Rand, n int) time.Duration {
	if d.kind == distConst {
		return time.Duration(min(d.a*float64(n), float64(365*24*time.Hour)))
	}
	var sum time.Duration
	for range n {
		sum += d.Draw(r)
	}
	return sum
}

// Length is a distribution of token counts. The zero value is unset and means the default
// of an option. It is immutable.
type Length struct{ distribution }

// ConstLength returns the distribution that always draws n. Values below 1 are
// taken as 1.
func ConstLength(n int) Length {
	n = max(n, 1)
	return Length{distribution{kind: distConst, a: float64(n), text: "const:" + strconv.Itoa(n)}}
}

// ParseLength parses the forms of ParseDelay with plain numbers: "128",
// "lognormal:128:0.5", "uniform:1:4". Draws are rounded and at least 1.
func ParseLength(s string) (Length, error) {
	d, err := parse(s, ParseRatio)
	return Length{d}, err
}

// UnmarshalText implements encoding.TextUnmarshaler by ParseLength.
func (l *Length) UnmarshalText(b []byte) error {
	v, err := ParseLength(string(b))
	if err == nil {
		*l = v
	}
	return err
}

// maxDraw is the maximum drawn length, so that a heavy tail fits into an int everywhere.
const maxDraw = 1 << 30

// Draw draws one count, at least 1.
func (l *Length) Draw(r *rand.Rand) int {
	return max(1, int(math.Round(min(l.sample(r), maxDraw))))
}

// Mix spreads the bits of its arguments over the result (the finaliser of
// SplitMix64), so that related numbers give unrelated streams.
func Mix(a, b uint64) uint64 {
	z := a + b*0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// Hash extends the hash of a prompt.
func Hash(h uint32, text []byte) uint32 {
	return crc32.Update(h, crc32.MakeTable(crc32.Castagnoli), text)
}

// Checksum returns a hash of a text.
func Checksum(text string) uint32 {
	return crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
}
