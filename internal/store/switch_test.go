package store

import "testing"

// The switch survives that the store is closed, and can be set twice.
func TestSwitch(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []struct{ before, set bool }{{false, true}, {true, true}, {true, false}, {false, false}, {false, true}} {
		s, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		w := NewSwitch(s)
		if got, err := w.Paused(t.Context()); got != step.before || err != nil {
			t.Errorf("paused = %v, %v; want %v", got, err, step.before)
		}
		if err := w.SetPaused(t.Context(), step.set); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Paused(t.Context()); got != step.set || err != nil {
			t.Errorf("paused after SetPaused(%v) = %v, %v", step.set, got, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
