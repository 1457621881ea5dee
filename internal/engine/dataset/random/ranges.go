package random

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Style is the tool whose random dataset is reproduced.
type Style string

// The styles, as documents write them.
const (
	VLLM   Style = "vllm"
	SGLang Style = "sglang"
)

// Ranges describes lengths in a range around a mean, and offsets into a vocabulary,
// in the order in which `vllm bench serve --dataset-name random` or
// `python -m sglang.bench_serving --dataset-name random-ids` draws them.
type Ranges struct {
	Style         Style
	Input, Output int     // means, ≥ 1; Output 0 = no output lengths
	InputRatio    float64 // vllm: 0 ≤ r < 1, sglang: 0 ≤ r ≤ 1
	OutputRatio   float64
	Special       int    // tokens that the server adds to each text
	Vocab         int    // offsets are below it; ≥ 1
	Prefix        int    // tokens that precede each text
	N             int    // number of requests
	Seed          uint64 // of the tool
}

// Draws are the arrays that a tool draws for its requests. They are drawn block by
// block while they are used; the memory for 10,000,000 requests is below 1 MB (vllm)
// or 12 MB (sglang). Safe for concurrent use.
type Draws struct {
	input, output, offset *Array
	special               int // sglang: subtracted from the input length drawn
}

// Draws checks the description and returns its arrays. It takes the time to draw all
// lengths, because the offsets follow them.
func (o Ranges) Draws() (*Draws, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	inLow, inHigh, outLow, outHigh := o.bounds()
	if least := o.Prefix + inLow; least < 1 {
		return nil, fmt.Errorf("input length %d with ratio %v: the shortest text would have %d tokens "+
			"(the tokenizer adds %d, prefixes have %d); increase the length or reduce the ratio",
			o.Input, o.InputRatio, least, o.Special, o.Prefix)
	}
	d := &Draws{}
	var g generator
	if o.Style == SGLang {
		g, d.special = NewMT19937(o.Seed), o.Special
	} else {
		pcg := NewPCG64(o.Seed)
		g = &pcg
	}
	d.input = newArray(g, inLow, inHigh, o.N)
	d.output = newArray(d.input.after(), outLow, outHigh, o.N)
	d.offset = newArray(d.output.after(), 0, o.Vocab-1, o.N)
	return d, nil
}

func (o Ranges) check() error {
	var errs []error
	if o.Style != VLLM && o.Style != SGLang {
		errs = append(errs, fmt.Errorf("style %q: must be %s or %s", o.Style, VLLM, SGLang))
	}
	for _, r := range []struct {
		name string
		v    float64
	}{{"input", o.InputRatio}, {"output", o.OutputRatio}} {
		if err := CheckRatio(o.Style, r.v); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.name, err))
		}
	}
	if o.Input < 1 || o.Input > MaxValue || o.Output < 0 || o.Output > MaxValue {
		errs = append(errs, fmt.Errorf("mean lengths %d and %d: must be from 1 to %g", o.Input, o.Output, MaxValue))
	}
	return errors.Join(errs...)
}

// CheckRatio reports a ratio that the style does not accept.
func CheckRatio(style Style, r float64) error {
	switch {
	case style == SGLang && !(r >= 0 && r <= 1):
		return fmt.Errorf("range ratio %v: must be from 0 to 1 (style sglang)", r)
	case style != SGLang && !(r >= 0 && r < 1):
		return fmt.Errorf("range ratio %v: must be at least 0 and below 1 (style vllm)", r)
	}
	return nil
}

// bounds returns the smallest and the largest lengths. The explicit conversions keep
// the compiler from fusing operations, so that all platforms round as the tools do.
func (o Ranges) bounds() (inLow, inHigh, outLow, outHigh int) {
	if o.Style == SGLang {
		low := func(mean int, r float64) int { return min(max(1, int(float64(float64(mean)*r))), mean) }
		return low(o.Input, o.InputRatio), o.Input, low(o.Output, o.OutputRatio), o.Output
	}
	low := func(mean int, r float64) int { return int(math.Floor(float64(float64(mean) * float64(1-r)))) }
	high := func(mean int, r float64) int { return int(math.Ceil(float64(float64(mean) * float64(1+r)))) }
	in := max(0, o.Input-o.Special)
	inLow, inHigh = low(in, o.InputRatio), high(in, o.InputRatio)
	if o.Output == 0 {
		return inLow, inHigh, 0, 0
	}
	return inLow, inHigh, max(1, low(o.Output, o.OutputRatio)), max(1, high(o.Output, o.OutputRatio))
}

// Input returns the tokens of the text of request i.
func (d *Draws) Input(i int) int { return d.shift(d.input.At(i)) }

// Output returns the output length of request i; 0 = none.
func (d *Draws) Output(i int) int { return d.output.At(i) }

// Offset returns the offset of request i into the vocabulary.
func (d *Draws) Offset(i int) int { return d.offset.At(i) }

// More returns lengths from the same ranges for what the tools do not have, such as
// later turns.
func (d *Draws) More(r *rand.Rand) (input, output int) {
	uniform := func(a *Array) int { return a.low + int(r.Uint64N(uint64(a.high-a.low+1))) }
	return d.shift(uniform(d.input)), uniform(d.output)
}

// shift subtracts the special tokens from a length, if the style does so after the
// draw.
func (d *Draws) shift(n int) int {
	if d.special == 0 {
		return n
	}
	return max(1, n-d.special)
}

// After returns the generator as it is after the offsets.
func (d *Draws) After() *Rest { return &Rest{d.offset.after()} }

// Rest is a generator behind the arrays of a tool. Only one goroutine may use it.
type Rest struct{ generator }

// NewRest returns a generator with a seed of its own.
func NewRest(seed uint64) *Rest {
	g := NewPCG64(seed)
	return &Rest{&g}
}

// Below returns the next count integers from 0 to n-1.
func (r *Rest) Below(n, count int) []int {
	out := make([]int, count)
	if n > 1 {
		drawn := make([]int32, count)
		r.draw(drawn, 0, n-1)
		for i, v := range drawn {
			out[i] = int(v)
		}
	}
	return out
}

// Clone returns a generator that continues independently.
func (r *Rest) Clone() *Rest { return &Rest{r.clone()} }
