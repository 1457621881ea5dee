//go:build amd64 || arm64

package loop

import "unsafe"

// prefetch asks the processor to fetch two cache lines, and does not wait for them.
// It reads nothing: any address will do.
//
//go:noescape
func prefetch(p unsafe.Pointer)
