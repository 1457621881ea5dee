//go:build !linux

package monitor

// preciseTicker returns the only ticker that there is here.
func preciseTicker() Ticker { return NewTimer() }
