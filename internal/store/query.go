package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"aiperfd/internal/run"
)

// The bounds of a page.
const (
	defaultLimit = 50
	maxLimit     = 500
)

// absent is the sort key of a run without the value; it sorts last.
const absent = math.MaxInt64

// orderColumn sorts runs as they were submitted: ids grow even if the system clock is
// set back, created_at does not.
const orderColumn = "id"

// query is a valid run.Query.
type query struct {
	run.Query
	column  string // sort column
	text    bool   // the sort column holds text
	summary bool   // the sort column is a number of the summary, which the runs must have
	bound   string // names everything of the query but page and cursor
	after   *cursor
}

// cursor is the position of the last run of the previous page.
type cursor struct {
	Bound string `json:"q"` // of the query that it belongs to
	Num   int64  `json:"n"` // sort key, if it is a number
	Text  string `json:"t"` // sort key, if it is text
	ID    string `json:"i"`
}

// check validates a query. Its errors are mistakes of the caller.
func check(q run.Query) (*query, error) {
	if q.Limit < 0 || q.Limit > maxLimit {
		return nil, fmt.Errorf("limit %d is not between 1 and %d", q.Limit, maxLimit)
	}
	out := &query{Query: q}
	out.Limit = cmp.Or(q.Limit, defaultLimit)
	switch q.Sort {
	case run.SortDefault:
		out.column, out.Descending = orderColumn, true
	case run.SortCreated:
		out.column = orderColumn
	case run.SortStarted, run.SortEnded, run.SortDuration:
		out.column = string(q.Sort)
	case run.SortName:
		out.column, out.text = string(q.Sort), true
	default:
		if slices.Contains(run.SummarySorts(), q.Sort) {
			out.column, out.summary = string(q.Sort), true
			break
		}
		return nil, fmt.Errorf("runs cannot be sorted by %q", q.Sort)
	}
	out.bound = bind(out.Query)
	return out, out.readCursor()
}

// bind returns a digest of what all pages of a query have in common.
func bind(q run.Query) string {
	q.Limit, q.Cursor = 0, ""
	q.Sort = cmp.Or(q.Sort, run.SortCreated)
	q.CreatedAfter, q.CreatedBefore, q.ExpiredBy = q.CreatedAfter.UTC(), q.CreatedBefore.UTC(), q.ExpiredBy.UTC()
	text, err := json.Marshal(q)
	if err != nil {
		text = fmt.Append(nil, q) // a time that JSON cannot represent
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// readCursor decodes the cursor of the query, if there is one.
func (q *query) readCursor() error {
	if q.Cursor == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err != nil {
		return run.ErrBadCursor
	}
	var c cursor
	if json.Unmarshal(text, &c) != nil || c.Bound != q.bound || c.ID == "" {
		return run.ErrBadCursor
	}
	q.after = &c
	return nil
}

// next returns the cursor after a run.
func (q *query) next(r *run.Run) (string, error) {
	k := keysOf(r)
	c := cursor{Bound: q.bound, ID: r.ID, Num: q.number(r, k)}
	if q.text {
		c.Text = k.name
	}
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(text), nil
}

// number returns the sort key of a run, 0 if it is text.
func (q *query) number(r *run.Run, k keys) int64 {
	if q.summary {
		return thousandths(r.SortNumber(q.Sort))
	}
	switch q.column {
	case "started_at":
		return k.started
	case "ended_at":
		return k.ended
	case "duration":
		return k.duration
	}
	return 0
}

// thousandths returns a number of the summary as the index has it.
func thousandths(v *float64) int64 {
	if v == nil {
		return absent
	}
	return int64(math.Round(1000 * *v))
}

// keys are the values by which runs are sorted and selected.
type keys struct {
	created, started, ended, duration int64
	expires                           int64
	name, notes                       string
}

func keysOf(r *run.Run) keys {
	k := keys{
		created: unixNano(&r.CreatedAt), started: unixNano(r.StartedAt), ended: unixNano(r.EndedAt), duration: absent,
		expires: unixNano(r.ExpiresAt()), name: strings.ToLower(r.Name), notes: strings.ToLower(r.Notes),
	}
	if r.StartedAt != nil && r.EndedAt != nil {
		k.duration = int64(r.EndedAt.Sub(*r.StartedAt))
	}
	return k
}

// unixNano returns a time as a sort key. Times that do not fit come first or
// last.
func unixNano(t *time.Time) int64 {
	switch {
	case t == nil:
		return absent
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// matches reports whether the query selects a run.
func (q *query) matches(r *run.Run) bool {
	k := keysOf(r)
	text := strings.ToLower(q.Text)
	switch {
	case len(q.States) > 0 && !slices.Contains(q.States, r.State),
		q.Kind != "" && q.Kind != r.Kind(),
		q.Parent != "" && q.Parent != r.ParentID(),
		q.TopLevel && r.ParentID() != "",
		q.Idempotency != nil && (r.Idempotency == nil || r.Idempotency.Caller != q.Idempotency.Caller || r.Idempotency.Key != q.Idempotency.Key),
		q.Unpinned && r.Pinned,
		!q.ExpiredBy.IsZero() && k.expires > unixNano(&q.ExpiredBy),
		q.Model != "" && !slices.Contains(r.Models, q.Model),
		q.Target != "" && !slices.Contains(r.Targets, q.Target),
		q.summary && r.SortNumber(q.Sort) == nil,
		text != "" && !strings.Contains(k.name, text) && !strings.Contains(k.notes, text),
		!q.CreatedAfter.IsZero() && k.created <= unixNano(&q.CreatedAfter),
		!q.CreatedBefore.IsZero() && k.created >= unixNano(&q.CreatedBefore):
		return false
	}
	for _, l := range q.Labels {
		value, found := r.Labels[l.Name]
		if (found && (l.AnyValue || value == l.Value)) == l.Not {
			return false
		}
	}
	return true
}

// compare compares two runs in the order of the query.
func (q *query) compare(a, b *run.Run) int {
	x, y := keysOf(a), keysOf(b)
	c := cmp.Compare(q.number(a, x), q.number(b, y))
	if q.text {
		c = cmp.Compare(x.name, y.name)
	}
	c = cmp.Or(c, cmp.Compare(a.ID, b.ID))
	if q.Descending {
		return -c
	}
	return c
}

// beyond reports whether a run comes after the query's cursor.
func (q *query) beyond(r *run.Run) bool {
	k := keysOf(r)
	var c int
	if q.text {
		c = cmp.Compare(k.name, q.after.Text)
	} else {
		c = cmp.Compare(q.number(r, k), q.after.Num)
	}
	c = cmp.Or(c, cmp.Compare(r.ID, q.after.ID))
	if q.Descending {
		return c < 0
	}
	return c > 0
}

// where returns the condition that selects the runs of all pages; page says that it is for
// a page and not for their number.
func (q *query) where(page bool) (string, []any) {
	cond := []string{"1"}
	var args []any
	add := func(c string, a ...any) {
		cond = append(cond, c)
		args = append(args, a...)
	}
	q.whereStates(add)
	for _, l := range q.Labels {
		c, a := "EXISTS (SELECT 1 FROM labels WHERE run_id = runs.id AND name = ?", []any{l.Name}
		if !l.AnyValue {
			c, a = c+" AND value = ?", append(a, l.Value)
		}
		if l.Not {
			c = "NOT " + c
		}
		add(c+")", a...)
	}
	if q.Kind != "" {
		add("kind = ?", string(q.Kind))
	}
	if q.Parent != "" {
		add("parent_id = ?", q.Parent)
	}
	if id := q.Idempotency; id != nil {
		add("id IN (SELECT run_id FROM idempotency_keys WHERE caller = ? AND key = ?)", id.Caller, id.Key)
	}
	if q.TopLevel {
		add(q.topLevel(page))
	}
	if q.Unpinned {
		add("pinned = 0")
	}
	if !q.ExpiredBy.IsZero() {
		add("expires_at <= ?", unixNano(&q.ExpiredBy))
	}
	if q.Model != "" {
		add("EXISTS (SELECT 1 FROM models WHERE run_id = runs.id AND model = ?)", q.Model)
	}
	if q.Target != "" {
		add("EXISTS (SELECT 1 FROM targets WHERE run_id = runs.id AND target = ?)", q.Target)
	}
	q.whereNumbersAndTexts(add)
	if !q.CreatedAfter.IsZero() {
		add("created_at > ?", unixNano(&q.CreatedAfter))
	}
	if !q.CreatedBefore.IsZero() {
		add("created_at < ?", unixNano(&q.CreatedBefore))
	}
	return strings.Join(cond, " AND "), args
}

// whereStates adds the condition about states. The sign lets SQLite walk in the order of a number,
// whose index has the states, too.
func (q *query) whereStates(add func(c string, a ...any)) {
	if len(q.States) == 0 {
		return
	}
	column := "state"
	if q.summary {
		column = "+state"
	}
	var states []any
	for _, s := range q.States {
		states = append(states, string(s))
	}
	add(column+" IN (?"+strings.Repeat(",?", len(states)-1)+")", states...)
}

// whereNumbersAndTexts adds the conditions about numbers of the summary and about texts.
func (q *query) whereNumbersAndTexts(add func(c string, a ...any)) {
	if q.summary {
		add(q.column + " IS NOT NULL")
	}
	if text := strings.ToLower(q.Text); text != "" {
		add("(instr(name, ?) > 0 OR instr(notes, ?) > 0)", text, text)
	}
}

// topLevel is the condition that a run has no parent. Nearly all runs can have none: the sign
// keeps SQLite from reading and sorting all of them where it can walk in the order of the
// page, or by the states.
func (q *query) topLevel(page bool) string {
	if page || q.summary || len(q.States) > 0 {
		return "+parent_id = ''"
	}
	return "parent_id = ''"
}

// page returns the statement that selects the runs of one page and one more. The inner one finds
// and sorts them by indexes; the rows, which are large, are read for these only.
func (q *query) page() (string, []any) {
	cond, args := q.where(true)
	direction, beyond := "ASC", ">"
	if q.Descending {
		direction, beyond = "DESC", "<"
	}
	if q.after != nil {
		cond += fmt.Sprintf(" AND (%s, id) %s (?, ?)", q.column, beyond)
		switch {
		case q.column == orderColumn:
			args = append(args, q.after.ID, q.after.ID)
		case q.text:
			args = append(args, q.after.Text, q.after.ID)
		default:
			args = append(args, q.after.Num, q.after.ID)
		}
	}
	order := fmt.Sprintf("ORDER BY %s %s, id %[2]s", q.column, direction)
	return fmt.Sprintf("SELECT "+rowColumns+" FROM runs WHERE id IN (SELECT id FROM runs WHERE %s %s LIMIT %d) %[2]s",
		cond, order, q.Limit+1), args
}

// cut returns a page of at most Limit of the runs that follow the cursor.
func (q *query) cut(runs []run.Run, total int) (run.Page, error) {
	p := run.Page{Runs: runs, Total: total}
	if len(runs) <= q.Limit {
		return p, nil
	}
	p.Runs = runs[:q.Limit]
	var err error
	p.Next, err = q.next(&p.Runs[q.Limit-1])
	return p, err
}

var errNoID = errors.New("run has no usable id")
