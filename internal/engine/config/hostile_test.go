package config_test

import (
	"runtime/metrics"
	"testing"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/tree"
	"aiperfd/internal/engine/plan"
)

// mutator returns a mutator of the starting documents.
func mutator(t testing.TB, seed uint64, size int) *tree.Mutator {
	t.Helper()
	var sources [][]byte
	for _, s := range config.Starters() {
		sources = append(sources, []byte(s.Text))
	}
	m, err := tree.NewMutator(seed, size, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// allocated returns the bytes that this process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// load reads a document as the daemon does. It fails the test if that allocates more than
// a document of its size can need.
func load(t testing.TB, text []byte, format config.Format) {
	t.Helper()
	before := allocated()
	_, _, err := config.Load(text, config.LoadOptions{Format: format, Untrusted: true, Choices: plan.Choices()})
	const most = 600 << 20 // in all, of which most is garbage at once; a document of one value takes 1 MiB
	if made := allocated() - before; made > most {
		t.Errorf("%d MiB were allocated for %d bytes beginning with %.200q: %v", made>>20, len(text), text, err)
	}
}

// No document takes much memory, and none takes for ever: the test would not end.
func TestMutatedDocuments(t *testing.T) {
	small, large := mutator(t, 1, 4<<10), mutator(t, 2, 1<<20)
	for i := range 2000 {
		m := small
		if i%200 == 0 { // parsing a mebibyte takes a tenth of a second
			m = large
		}
		text, format := m.Document()
		load(t, text, format)
	}
}

// FuzzMutated lets the fuzzer choose the documents by their seed.
func FuzzMutated(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		m := mutator(t, seed, 1<<18)
		for range 5 {
			text, format := m.Document()
			load(t, text, format)
		}
	})
}
