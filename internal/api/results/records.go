package results

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
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

// Bounds of a page of records. It costs the same wherever it is in the file, also while the
// run appends to it, and little memory however long its lines are.
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

// RecordQuery selects records of a run.
type RecordQuery struct {
	Run     string  // id
	Limit   int     // 1 to MaxLimit
	Outcome Outcome // empty = all
	Phase   string  // name or kind; empty = all
	Cursor  string  // of the page before; empty = the start
}

// ParseRecordQuery reads the parameters of a request. Its error has all problems, in one line.
func ParseRecordQuery(run string, v url.Values) (*RecordQuery, error) {
	q := &RecordQuery{Run: run, Limit: DefaultLimit, Outcome: Outcome(v.Get("outcome")), Phase: v.Get("phase"), Cursor: v.Get("cursor")}
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

// RecordPage is one part of the records.
type RecordPage struct {
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

// RecordBody is the body of GET /api/runs/{id}/records.
type RecordBody struct {
	// Items are lines of the record file, in their order.
	Items []map[string]any `json:"items"`
	Next  *string          `json:"next_cursor"` // null: this is the last page
} // @name records.Body

// readRecords reads a page of a file that has size bytes. grows means that the run goes on: the
// last page then has a cursor for what will be appended. The page is valid as long as the
// file is open. The error is [ErrCursor] for a cursor of something else.
func readRecords(ctx context.Context, file io.ReaderAt, size int64, q *RecordQuery, grows bool) (*RecordPage, error) {
	start, err := q.position(file, size)
	if err != nil {
		return nil, err
	}
	s := scanner{lines: bufio.NewReaderSize(io.NewSectionReader(file, start, size-start), buffer), at: start}
	page, end, total := &RecordPage{file: file}, false, int64(0)
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
func (q *RecordQuery) selects(l *line) bool {
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

// ErrCursor means that a cursor is not from a page of the same run with the same filters.
var ErrCursor = errors.New("the cursor is not from a page of these records")

const (
	checkBytes  = 12
	cursorBytes = 8 + checkBytes
	trailBytes  = 64 // before the position, that the check covers
)

// encode returns the cursor of the position after a line.
func (q *RecordQuery) encode(file io.ReaderAt, at int64) (string, error) {
	check, err := q.check(file, at)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint64(nil, uint64(at)), check...)), nil
}

// position returns the position that the cursor of a query stands for, 0 without one. It
// reads the bytes before the position only.
func (q *RecordQuery) position(file io.ReaderAt, size int64) (int64, error) {
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
func (q *RecordQuery) check(file io.ReaderAt, at int64) ([]byte, error) {
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

// The places of a line that scanner looks at, as the writer of the file spells them. A
// text cannot contain them, because its quotation marks are escaped.
const (
	afterMetadata = `},"metrics":{`
	failureMark   = `"failure":{"class":"`
)

// line is one line of the file.
type line struct {
	at, size int64  // without the newline
	head     []byte // an object with the member metadata; nil = there is none
	failed   bool
	whole    []byte // nil = it is longer than the buffer; valid until the next line
}

// scanner reads lines of any length in the memory of its reader.
type scanner struct {
	lines *bufio.Reader
	at    int64 // after the last line
}

// next returns the next line that ends in a newline. The error is io.EOF if there is none.
func (s *scanner) next() (line, error) {
	l := line{at: s.at}
	var seam []byte // the end of the part before, in which a mark may begin
	for first := true; ; first = false {
		part, err := s.lines.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !long {
			return line{}, err
		}
		l.size += int64(len(part))
		if first {
			if end := bytes.Index(part, []byte(afterMetadata)); end >= 0 {
				l.head = slices.Concat(part[:end+1], []byte("}"))
			}
			if !long {
				l.whole = part[:len(part)-1]
			}
		}
		if !l.failed {
			seam = append(seam, part[:min(len(part), len(failureMark))]...)
			l.failed = bytes.Contains(part, []byte(failureMark)) || bytes.Contains(seam, []byte(failureMark))
			seam = append(seam[:0], part[max(0, len(part)-len(failureMark)):]...)
		}
		if !long {
			s.at += l.size
			l.size--
			return l, nil
		}
	}
}

// item returns what a page has of the line: the line itself unless it is too long for a
// page or, after a crash of the machine, not JSON.
func (l *line) item() item {
	out := item{at: l.at, size: l.size}
	switch {
	case l.whole != nil && json.Valid(l.whole) && l.whole[0] == '{', l.whole == nil && l.head != nil && l.size <= maxPage:
	case l.head != nil && json.Valid(l.head):
		out.instead = fmt.Appendf(nil, `%s,"omitted_bytes":%d}`, l.head[:len(l.head)-1], l.size)
	default:
		out.instead = fmt.Appendf(nil, `{"omitted_bytes":%d}`, l.size)
	}
	return out
}
