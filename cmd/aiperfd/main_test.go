package main

import "testing"

func TestGrowthOf(t *testing.T) {
	for live, want := range map[uint64]int{
		0: 3100, 4 << 20: 700, 8 << 20: 300, 16 << 20: 100, 20 << 20: 60, 22 << 20: 50, 64 << 20: 50,
	} {
		if got := growthOf(live); got != want {
			t.Errorf("growthOf(%d MiB) = %d, want %d", live>>20, got, want)
		}
	}
}
