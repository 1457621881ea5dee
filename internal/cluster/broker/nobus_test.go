//go:build nobus

package broker

import (
	"errors"
	"testing"
)

// A binary without the bus says so.
func TestNoBus(t *testing.T) {
	if _, err := Listen(t.Context(), ServerOptions{Listen: "127.0.0.1:0"}); !errors.Is(err, ErrNoBus) {
		t.Errorf("listen: %v, want %v", err, ErrNoBus)
	}
	if _, err := Connect(t.Context(), Options{URL: "nats://127.0.0.1:4222"}); !errors.Is(err, ErrNoBus) {
		t.Errorf("connect: %v, want %v", err, ErrNoBus)
	}
}
