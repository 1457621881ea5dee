//go:build !nobus

package broker

import (
	"testing"

	"aiperfd/internal/cluster/bus"
)

// BenchmarkRequest measures a request and its answer over TCP, and within the process.
func BenchmarkRequest(b *testing.B) {
	s, err := Listen(b.Context(), ServerOptions{Listen: "127.0.0.1:0", Authenticate: authenticate})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	controller, err := s.Connect(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer controller.Close()
	if _, err := controller.Subscribe(b.Context(), bus.Clock, func(m bus.Message) { m.Reply(m.Payload) }); err != nil {
		b.Fatal(err)
	}
	worker, err := Connect(b.Context(), Options{URL: s.URL(), ID: first, Token: token})
	if err != nil {
		b.Fatal(err)
	}
	defer worker.Close()
	for b.Loop() {
		if _, err := worker.Request(b.Context(), bus.Clock, []byte("probe")); err != nil {
			b.Fatal(err)
		}
	}
}
