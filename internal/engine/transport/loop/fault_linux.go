//go:build amd64 || arm64

package loop

import (
	"fmt"
	"runtime/debug"

	"aiperfd/internal/engine/bench"
)

// Fault is the error of a connection that was closed because what handled it panicked.
type Fault struct{ bench.Panic }

func (f *Fault) Error() string { return fmt.Sprintf("aiperfd crashed: %v", f.Value) }

func newFault(value any) *Fault {
	return &Fault{bench.Panic{Value: value, Stack: debug.Stack()}}
}

// recoverPanic makes a panic the end of the connection, so that the other connections of
// the loop go on. It is deferred with the lock held.
func (c *Conn) recoverPanic() {
	value := recover()
	if value == nil {
		return
	}
	fault := newFault(value)
	defer func() { _ = recover() }() // the handler cannot even be told
	c.Shut()
	c.handler.Ended(fault)
}

// faultOf makes a panic the error of a function. It is deferred.
func faultOf(err *error) {
	if value := recover(); value != nil {
		*err = newFault(value)
	}
}
