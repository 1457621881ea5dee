//go:build !linux

package front

import (
	"context"
	"net"
)

// Front does not exist on this platform: net/http serves everything.
type Front struct{}

// New returns nil.
func New(net.Listener, Handler, *Handover, Options) (*Front, error) { return nil, nil }

// Serve is not called: there is no front.
func (*Front) Serve() error { return nil }

// Shutdown is not called: there is no front.
func (*Front) Shutdown(context.Context) error { return nil }

// Close is not called: there is no front.
func (*Front) Close() error { return nil }
