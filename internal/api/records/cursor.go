package records

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrCursor means that a cursor is not from a page of the same run with the same filters.
var ErrCursor = errors.New("the cursor is not from a page of these records")

const (
	checkBytes  = 12
	cursorBytes = 8 + checkBytes
	trailBytes  = 64 // before the position, that the check covers
)

// encode returns the cursor of the position after a line.
func (q *Query) encode(file io.ReaderAt, at int64) (string, error) {
	check, err := q.check(file, at)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint64(nil, uint64(at)), check...)), nil
}

// position returns the position that the cursor of a query stands for, 0 without one. It
// reads the bytes before the position only.
func (q *Query) position(file io.ReaderAt, size int64) (int64, error) {
	if q.Cursor == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	if err != nil || len(raw) != cursorBytes {
		return 0, ErrCursor
	}
	at := int64(binary.BigEndian.Uint64(raw))
	if at < 0 || at > size {
		return 0, ErrCursor
	}
	check, err := q.check(file, at)
	if err != nil {
		return 0, err
	}
	if string(check) != string(raw[8:]) {
		return 0, ErrCursor
	}
	return at, nil
}

// check identifies a position by the run, the filters and the bytes before it, of which
// the last one must end a line.
func (q *Query) check(file io.ReaderAt, at int64) ([]byte, error) {
	trail := make([]byte, min(at, trailBytes))
	if n, err := file.ReadAt(trail, at-int64(len(trail))); n < len(trail) {
		return nil, fmt.Errorf("read records: %w", err)
	}
	if at > 0 && trail[len(trail)-1] != '\n' {
		return nil, ErrCursor
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d %q", q.Run, q.Outcome, q.Phase, at, trail))
	return sum[:checkBytes], nil
}
