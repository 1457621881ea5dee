package engine

import (
	"testing"

	"aiperfd/internal/engine/plan"
)

func TestSameHost(t *testing.T) {
	names := []string{"box", "10.0.0.7", "fe80::1"}
	tests := map[string]bool{
		"localhost:8000": true, "LOCALHOST:80": true, "a.localhost:80": true, "127.0.0.1:80": true, "127.9.9.9:80": true, "[::1]:80": true,
		"0.0.0.0:80": true, "box:80": true, "Box:80": true, "10.0.0.7:443": true, "[::ffff:10.0.0.7]:443": true, "/run/vllm.sock": true, "@vllm": true,
		"localhost": true, "[::1]": true, "mem": false,
		"10.0.0.8:443": false, "example.com:443": false, "localhost.example.com:80": false, "boxes:80": false,
	}
	for place, want := range tests {
		got := sameHost([]plan.Target{{Address: "example.org:80"}, {Address: place}}, names)
		if (got == place) != want || (!want && got != "") {
			t.Errorf("sameHost(%s) = %q, want %v", place, got, want)
		}
	}
}

// A machine knows its own loopback address.
func TestMachine(t *testing.T) {
	if got := sameHost([]plan.Target{{Address: "[::1]:1"}}, machine()); got == "" {
		t.Error("the loopback address is not of this machine")
	}
	if len(machine()) == 0 {
		t.Error("this machine has neither a name nor an address")
	}
}
