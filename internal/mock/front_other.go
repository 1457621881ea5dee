//go:build !linux

package mock

import (
	"context"
	"net"
	"time"
)

// front does not exist on this platform: net/http serves everything.
type front struct{}

func newFront(net.Listener, *Server, *handover, time.Duration) (*front, error) { return nil, nil }

// Serve is not called: there is no front.
func (*front) Serve() error { return nil }

// Shutdown is not called: there is no front.
func (*front) Shutdown(context.Context) error { return nil }

// Close is not called: there is no front.
func (*front) Close() error { return nil }
