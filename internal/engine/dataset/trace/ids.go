package trace

import (
	"context"
	"errors"
	"fmt"
	"io"

	"aiperfd/internal/engine/dataset/file"
)

// The bounds of an [idCounts]: 32 MiB for ids below 2^27, 20 MiB for up to half a
// million ids above.
const (
	denseIDs  = 1 << 27
	pageIDs   = 1 << 17
	sparseIDs = 1 << 19
)

// idCounts counts whether ids occur once or more often.
type idCounts struct {
	most   int64          // largest id
	pages  [][]uint64     // of ids below denseIDs: two bits for each, 0, 1 or 3
	sparse map[int64]bool // of the others: whether an id occurs more than once
}

// add counts one occurrence of an id, which must not be negative.
func (c *idCounts) add(id int64) error {
	c.most = max(c.most, id)
	if id >= denseIDs {
		if c.sparse == nil {
			c.sparse = map[int64]bool{}
		}
		_, known := c.sparse[id]
		if !known && len(c.sparse) == sparseIDs {
			return fmt.Errorf("there are more than %d different hash ids from %d on; multipliers of prefixes and prompts need smaller ones", sparseIDs, denseIDs)
		}
		c.sparse[id] = known
		return nil
	}
	page := int(id / pageIDs)
	for len(c.pages) <= page {
		c.pages = append(c.pages, nil)
	}
	if c.pages[page] == nil {
		c.pages[page] = make([]uint64, pageIDs/32)
	}
	word, bit := &c.pages[page][id%pageIDs/32], uint(id%32)*2
	*word |= (*word>>bit&1<<1 | 1) << bit
	return nil
}

// repeated reports whether an id occurs more than once.
func (c *idCounts) repeated(id int64) bool {
	if id >= denseIDs {
		return c.sparse[id]
	}
	page := int(id / pageIDs)
	if page >= len(c.pages) || c.pages[page] == nil {
		return false
	}
	return c.pages[page][id%pageIDs/32]>>(uint(id%32)*2)&2 != 0
}

// countIDs counts the hash ids of all records of a trace. Records with problems are left
// out: reading them for the run reports them.
func countIDs(ctx context.Context, f *format, in file.File) (counts *idCounts, err error) {
	r, err := file.Open(ctx, in)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	counts = &idCounts{}
	decode := f.decoder()
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return counts, nil
		}
		if _, broken := errors.AsType[*file.RecordError](err); broken {
			continue
		}
		if err != nil {
			return nil, err
		}
		request, _ := decode(record.Data)
		for _, id := range request.IDs {
			if id < 0 {
				return nil, fmt.Errorf("%v: hash_ids: %d is negative; multipliers of prefixes and prompts need ids from 0 on", record.Place, id)
			}
			if err := counts.add(id); err != nil {
				return nil, fmt.Errorf("%v: %w", record.Place, err)
			}
		}
	}
}
