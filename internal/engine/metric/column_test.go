package metric

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// columnOf returns a column of values.
func columnOf(values []float64) *column {
	c := &column{}
	c.addAll(values)
	return c
}

// TestColumn checks that a column gives back what was put in, bit by bit,
// however it was put in.
func TestColumn(t *testing.T) {
	kinds := []string{"constant", "small", "large", "huge", "fractions", "negative"}
	rapid.Check(t, func(t *rapid.T) {
		var want []float64
		for range rapid.IntRange(0, 4).Draw(t, "stretches") {
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			n := rapid.IntRange(1, 2*blockLen).Draw(t, "n")
			base := rapid.Int64Range(0, 1<<50).Draw(t, "base")
			for i := range n {
				x := float64(base)
				switch k := int64(i) * 7919; kind {
				case "small":
					x += float64(k % math.MaxUint16)
				case "large":
					x += float64(k % math.MaxUint32)
				case "huge":
					x += float64(k) * 1e9
				case "fractions":
					x = float64(k) / 3
				case "negative":
					x = -float64(k)
				}
				want = append(want, x)
			}
		}
		cut := rapid.IntRange(0, len(want)).Draw(t, "cut")
		var c, rest column
		for _, x := range want[:cut] {
			c.add(x)
		}
		rest.addAll(want[cut:])
		c.join(&rest)
		if got := c.appendTo(nil); c.len() != len(want) || !slices.Equal(got, want) {
			t.Fatalf("%d values came back, %d went in, or they differ", len(got), len(want))
		}
	})
}

// TestColumnPacks checks what values of each kind cost.
func TestColumnPacks(t *testing.T) {
	for name, test := range map[string]struct {
		value func(i int) float64
		bytes float64 // a value
	}{
		"constant":  {func(int) float64 { return 0 }, 0},
		"tokens":    {func(i int) float64 { return float64(i % 500) }, 2},
		"times":     {func(i int) float64 { return float64(20e6 + i*1001) }, 4},
		"fractions": {func(i int) float64 { return float64(i) / 7 }, 8},
	} {
		var c column
		const n = 100 * blockLen
		for i := range n {
			c.add(test.value(i))
		}
		c.add(test.value(n)) // the last full block is packed by the next value
		if got := float64(c.bytes-8*blockLen)/n - blockBytes/float64(blockLen); math.Abs(got-test.bytes) > 0.01 {
			t.Errorf("%s: %.3f bytes a value, want %v", name, got, test.bytes)
		}
	}
}
