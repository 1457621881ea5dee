package file

import (
	"fmt"
	"io"
)

// table is a Parquet or Arrow file.
type table struct {
	name string
	rows interface {
		Next() ([]byte, error)
		io.Closer
	}
	row         int
	limit, read int64 // bytes of all rows; limit 0 = none
}

func (t *table) about() (string, Unit) { return t.name, Rows }

func (t *table) next() ([]byte, int, error) {
	t.row++
	data, err := t.rows.Next()
	if t.read += int64(len(data)); t.limit > 0 && t.read > t.limit {
		return nil, t.row, fmt.Errorf("the unpacked file is larger than %d bytes", t.limit)
	}
	return data, t.row, err
}

// Close implements io.Closer.
func (t *table) Close() error { return t.rows.Close() }
