//go:build !linux

package pace

// Precise returns [Timers]: there is no finer clock that the runtime lets us
// wait on.
func Precise() Waiter { return Timers() }
