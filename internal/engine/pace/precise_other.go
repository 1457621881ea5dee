//go:build !linux

package pace

// Precise returns [Timers]: the runtime offers no finer clock that we can
// wait on.
func Precise() Waiter { return Timers() }
