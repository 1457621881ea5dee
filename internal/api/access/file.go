package access

import (
	"bytes"
	"sync"
)

// watched are files that are read again when they have changed.
type watched struct {
	read  func() ([]byte, error) // everything in them
	apply func([]byte) error     // uses it, or returns why it cannot be used

	mu    sync.Mutex // serialises checks
	last  []byte     // what was applied or refused last
	fault string     // the error of the last read; empty = none
}

// check reads the files. If they have changed since the last check, or again is set,
// it applies them: changed is true, and err says whether that was possible. What was
// applied before stays in force if it was not.
func (w *watched) check(again bool) (changed bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := w.read()
	if err != nil {
		changed = again || w.fault != err.Error()
		w.fault = err.Error()
		return changed, err
	}
	if !again && w.fault == "" && w.last != nil && bytes.Equal(data, w.last) {
		return false, nil
	}
	w.last, w.fault = data, ""
	return true, w.apply(data)
}
