//go:build !linux || !(amd64 || arm64)

package transport

import (
	"errors"
	"sync"

	"aiperfd/internal/engine/sockstamp"
)

// looped does not exist on this platform.
type looped struct{ stdlib }

func newLooped(*Options, *sockstamp.Lags, *sync.Pool) (*looped, error) {
	return nil, errors.ErrUnsupported
}
