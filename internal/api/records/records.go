// Package records reads pages of the record file of a run, which has one line for each
// request, also while the run appends to it. A page costs the same wherever it is in the
// file, and little memory however long its lines are.
package records

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"aiperfd/internal/results"
)

// Bounds of a page.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
	maxPage      = 8 << 20  // bytes of its lines
	maxScan      = 64 << 20 // bytes of the file that are searched for them
	buffer       = 256 << 10
)

// Outcome is how a request ended.
type Outcome string

// The outcomes.
const (
	Success   Outcome = "success"
	Failure   Outcome = "error"
	Cancelled Outcome = "cancelled"
)

// Query selects records of a run.
type Query struct {
	Run     string  // id
	Limit   int     // 1 to MaxLimit
	Outcome Outcome // empty = all
	Phase   string  // name or kind; empty = all
	Cursor  string  // of the page before; empty = the start
}

// ParseQuery reads the parameters of a request. Its error has all problems, in one line.
func ParseQuery(run string, v url.Values) (*Query, error) {
	q := &Query{Run: run, Limit: DefaultLimit, Outcome: Outcome(v.Get("outcome")), Phase: v.Get("phase"), Cursor: v.Get("cursor")}
	var faults []string
	if text := v.Get("limit"); text != "" {
		var err error
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > MaxLimit {
			faults = append(faults, fmt.Sprintf("limit is %q, want 1 to %d", text, MaxLimit))
		}
	}
	if !slices.Contains([]Outcome{"", Success, Failure, Cancelled}, q.Outcome) {
		faults = append(faults, fmt.Sprintf("outcome is %q, want success, error or cancelled", q.Outcome))
	}
	if faults != nil {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return q, nil
}

// Page is one part of the records.
type Page struct {
	Next  string // cursor of the next page; empty = this is the last
	file  io.ReaderAt
	close func() error // nil = the file is the caller's
	items []item
}

// item is one line of a page.
type item struct {
	at, size int64  // in the file, without the newline
	instead  []byte // is sent in its place, unless nil
}

// Body is the body of GET /api/runs/{id}/records.
type Body struct {
	// Items are lines of the record file, in their order.
	Items []map[string]any `json:"items"`
	Next  *string          `json:"next_cursor"` // null: this is the last page
}

// Read reads a page of a file that has size bytes. grows means that the run goes on: the
// last page then has a cursor for what will be appended. The page is valid as long as the
// file is open. The error is [ErrCursor] for a cursor of something else.
func Read(ctx context.Context, file io.ReaderAt, size int64, q *Query, grows bool) (*Page, error) {
	start, err := q.position(file, size)
	if err != nil {
		return nil, err
	}
	s := scanner{lines: bufio.NewReaderSize(io.NewSectionReader(file, start, size-start), buffer), at: start}
	page, end, total := &Page{file: file}, false, int64(0)
	for len(page.items) < q.Limit && s.at-start < maxScan {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, err := s.next()
		if errors.Is(err, io.EOF) { // what there is of another line is not complete
			end = true
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read records: %w", err)
		}
		if !q.selects(&l) {
			continue
		}
		one := l.item()
		if total += one.length() + 1; total > maxPage && len(page.items) > 0 {
			s.at = l.at // it begins the next page
			break
		}
		page.items = append(page.items, one)
	}
	if !end || grows {
		page.Next, err = q.encode(file, s.at)
	}
	return page, err
}

func (i *item) length() int64 {
	if i.instead != nil {
		return int64(len(i.instead))
	}
	return i.size
}

// selects reports whether a line belongs to the answer of a query.
func (q *Query) selects(l *line) bool {
	if q.Outcome == "" && q.Phase == "" {
		return true
	}
	var record results.Record
	if json.Unmarshal(l.head, &record) != nil {
		return false
	}
	m := &record.Metadata
	outcome := Success
	switch {
	case m.Cancelled:
		outcome = Cancelled
	case l.failed:
		outcome = Failure
	}
	return (q.Outcome == "" || q.Outcome == outcome) && (q.Phase == "" || q.Phase == m.PhaseName || q.Phase == string(m.Kind))
}
