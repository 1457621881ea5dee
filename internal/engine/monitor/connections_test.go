package monitor

import "testing"

func TestConnections(t *testing.T) {
	for files, want := range map[uint64]int{256: 192, 1024: 960, 10: 1, 1 << 63: 1<<31 - 1} {
		if got := Connections(files); got != want {
			t.Errorf("Connections(%d) = %d, want %d", files, got, want)
		}
	}
}

// The limit of open files is never lowered, and raised as far as it can be.
func TestRaiseConnections(t *testing.T) {
	before, ok := FileLimit()
	if !ok {
		t.Skip("the system has no limit of open files")
	}
	if got, ok := RaiseConnections(1); !ok || got != Connections(before) {
		t.Errorf("RaiseConnections(1) = %d, %v; want the %d of before", got, ok, Connections(before))
	}
	const never = 1 << 30 // more than the largest limit of Linux
	got, _ := RaiseConnections(never)
	if after, _ := FileLimit(); after < before || got != Connections(after) || got >= never {
		t.Errorf("RaiseConnections(%d) = %d with %d files, %d before", never, got, after, before)
	}
}
