package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"aiperfd/internal/engine/durable"
)

// Entry is a line of the audit log: who did what.
type Entry struct {
	Time      time.Time `json:"time"`
	Caller    string    `json:"caller"` // name of the token; empty = unknown
	Remote    string    `json:"remote_address,omitempty"`
	RequestID string    `json:"request_id,omitempty"`
	Action    string    `json:"action"`
	RunID     string    `json:"run_id,omitempty"`
	Result    string    `json:"result"` // ok, or the name of a problem
}

// The size of an audit log.
const (
	maxAuditBytes = 10 << 20 // of a file
	olderAudits   = 4        // files that are kept besides the current one: .1 is the newest
)

// auditLog appends lines to a file. The file is opened for each line: lines are rare, and
// so the log survives that somebody moves the file.
type auditLog struct {
	path string
	mu   sync.Mutex // serialises lines and rotations; held during writes to the disk
}

// write appends a line.
func (a *auditLog) write(e Entry) (err error) {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode line: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	file, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, durable.Private)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	info, statErr := file.Stat()
	if err = errors.Join(err, statErr, file.Close()); err != nil {
		return err
	}
	if info.Size() < maxAuditBytes {
		return nil
	}
	return a.rotate()
}

// rotate moves the file away, and removes the oldest one.
func (a *auditLog) rotate() error {
	older := func(n int) string { return a.path + "." + strconv.Itoa(n) }
	for n := olderAudits - 1; n > 0; n-- {
		if err := os.Rename(older(n), older(n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(a.path, older(1))
}
