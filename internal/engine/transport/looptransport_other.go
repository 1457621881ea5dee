//go:build !linux || !(amd64 || arm64)

package transport

import (
	"errors"
	"sync"

	"aiperfd/internal/engine/sockstamp"
)

// loopTransport does not exist on this platform.
type loopTransport struct{ stdlib }

func newLoopTransport(*Options, *sockstamp.Lags, *sources, *sync.Pool) (*loopTransport, error) {
	return nil, errors.ErrUnsupported
}

func (*loopTransport) readPaths() {}
