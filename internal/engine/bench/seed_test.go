package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
)

func TestSeedChild(t *testing.T) {
	// Independent derivation: the hexadecimal digest of the documented text.
	for _, s := range []Seed{0, 42, 1<<64 - 1} {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s", uint64(s), "dataset.prompt.length"))
		want := hex.EncodeToString(sum[:8])
		if got := fmt.Sprintf("%016x", uint64(s.Child("dataset.prompt.length"))); got != want {
			t.Errorf("Seed(%d).Child = %s, want %s", s, got, want)
		}
	}
	// SHA-256("42:x") begins with these bytes (coreutils sha256sum).
	if got, want := uint64(Seed(42).Child("x")), uint64(0xc425cf7f0966afc2); got != want {
		t.Errorf("Seed(42).Child(x) = %#x, want %#x", got, want)
	}
}

func TestSeedStreams(t *testing.T) {
	first := func(s Seed, stream string) uint64 { return s.Rand(stream).Uint64() }
	if a, b := first(1, "a"), first(1, "a"); a != b {
		t.Errorf("the same stream gave %d, then %d", a, b)
	}
	seen := map[uint64]string{}
	record := func(name string, v uint64) {
		if old, ok := seen[v]; ok {
			t.Errorf("%s and %s begin with the same number %d", old, name, v)
		}
		seen[v] = name
	}
	for _, s := range []Seed{0, 1, 2} {
		for _, stream := range []string{"a", "b", ""} {
			record(fmt.Sprintf("%d:%s", s, stream), first(s, stream))
			for i := range 50 {
				record(fmt.Sprintf("%d:%s[%d]", s, stream, i), s.Index(stream, i).Uint64())
			}
		}
	}
}

// The first numbers of SplitMix64 with seed 1234567, which the authors' program prints.
func TestStreamNumbers(t *testing.T) {
	want := []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821}
	for n, want := range want {
		if got := Stream(1234567).number(uint64(n)); got != want {
			t.Errorf("number %d = %d, want %d", n, got, want)
		}
	}
}

// The generator must give the same numbers everywhere and for ever: recorded
// seeds are worthless otherwise.
func TestSeedGolden(t *testing.T) {
	r := Seed(42).Rand(StreamPromptLength)
	got := fmt.Sprint(r.Uint64(), r.Uint64(), Seed(42).Index(StreamPromptLength, 7).Uint64())
	if want := "16711316371151187054 11194942300299868296 13389259791567134969"; got != want {
		t.Errorf("first numbers = %s, want %s", got, want)
	}
}
