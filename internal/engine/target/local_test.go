package target

import (
	"testing"

	"aiperfd/internal/engine/plan"
)

func TestLocal(t *testing.T) {
	names := []string{"box", "10.0.0.7", "fe80::1"}
	tests := map[string]bool{
		"localhost:8000": true, "LOCALHOST:80": true, "a.localhost:80": true, "127.0.0.1:80": true, "127.9.9.9:80": true, "[::1]:80": true,
		"0.0.0.0:80": true, "box:80": true, "Box:80": true, "10.0.0.7:443": true, "[::ffff:10.0.0.7]:443": true, "/run/vllm.sock": true, "@vllm": true,
		"localhost": true, "[::1]": true, "mem": false,
		"10.0.0.8:443": false, "example.com:443": false, "localhost.example.com:80": false, "boxes:80": false,
	}
	for address, want := range tests {
		got := local([]plan.Target{{Address: "example.org:80"}, {Address: address}}, names)
		if (got == address) != want || (!want && got != "") {
			t.Errorf("local(%s) = %q, want %v", address, got, want)
		}
	}
}

// The loopback address is an address of the machine.
func TestMachine(t *testing.T) {
	if got := Local([]plan.Target{{Address: "[::1]:1"}}); got == "" {
		t.Error("the loopback address is not of this machine")
	}
	if len(machine()) == 0 {
		t.Error("this machine has neither a name nor an address")
	}
}
