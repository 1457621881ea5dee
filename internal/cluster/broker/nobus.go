//go:build nobus

package broker

import (
	"context"

	"aiperfd/internal/cluster/bus"
)

// Server does not exist in this binary.
type Server struct{}

// Listen returns ErrNoBus.
func Listen(context.Context, ServerOptions) (*Server, error) { return nil, ErrNoBus }

// Connect returns ErrNoBus.
func Connect(context.Context, Options) (bus.Bus, error) { return nil, ErrNoBus }

// URL is never called: there is no server.
func (*Server) URL() string { return "" }

// Connect is never called: there is no server.
func (*Server) Connect(context.Context) (bus.Bus, error) { return nil, ErrNoBus }

// Close is never called: there is no server.
func (*Server) Close() {}
