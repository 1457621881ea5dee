package timeline

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestColumn checks that a column returns its values, bit by bit,
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
		var c, rest Column
		for _, x := range want[:cut] {
			c.Add(x)
		}
		rest.AddAll(want[cut:])
		c.Join(&rest)
		if got := c.AppendTo(nil); c.Len() != len(want) || !slices.Equal(got, want) {
			t.Fatalf("%d values came back, %d went in, or they differ", len(got), len(want))
		}
	})
}

// TestColumnPacks checks the size of values of each kind.
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
		var c Column
		const n = 100 * blockLen
		for i := range n {
			c.Add(test.value(i))
		}
		c.Add(test.value(n)) // the last full block is packed by the next value
		if got := float64(c.bytes-8*blockLen)/n - blockBytes/float64(blockLen); math.Abs(got-test.bytes) > 0.01 {
			t.Errorf("%s: %.3f bytes a value, want %v", name, got, test.bytes)
		}
	}
}

// TestColumnOnDisk checks that full blocks leave the memory, unless their values
// are all equal, which takes none.
func TestColumnOnDisk(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "values"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var disk Disk
	disk.Use(f)
	c := On(&disk)
	var want []float64
	for i := range 10*blockLen + 7 {
		want = append(want, float64(i*i))
	}
	c.AddAll(want)
	for _, b := range c.full {
		if b.data != nil {
			t.Fatal("a full block is in memory")
		}
	}
	if got := c.AppendTo(nil); !slices.Equal(got, want) || disk.Err() != nil {
		t.Errorf("values differ after %v", disk.Err())
	}
}
