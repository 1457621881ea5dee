package mock

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"aiperfd/internal/mock/api"
)

// truths has the records of requests: the last ones in memory, and all in a file if there is
// one. It is safe for concurrent use.
type truths struct {
	limit int
	file  *truthFile // nil = none

	mu    sync.Mutex
	items []api.Truth
	next  int // index of the oldest record once there are limit
}

// open sets the number of records in memory and opens the file of a path; "" = none.
func (r *truths) open(limit int, path string) error {
	r.limit = limit
	if path == "" {
		return nil
	}
	r.file = new(truthFile)
	return r.file.open(path)
}

// add adds a record, in memory in place of the oldest if there are too many.
func (r *truths) add(t *api.Truth) {
	r.mu.Lock()
	if len(r.items) < r.limit {
		r.items = append(r.items, *t)
	} else {
		r.items[r.next] = *t
		r.next = (r.next + 1) % r.limit
	}
	r.mu.Unlock()
	if r.file != nil {
		r.file.write(t)
	}
}

// last returns a copy of the newest n records, oldest first.
func (r *truths) last(n int) []api.Truth {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = min(n, len(r.items))
	out := make([]api.Truth, 0, n)
	for i := len(r.items) - n; i < len(r.items); i++ {
		out = append(out, r.items[(r.next+i)%len(r.items)])
	}
	return out
}

// close ends the writer of the file. It must be called once.
func (r *truths) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.close()
}

// flushEvery is the maximum delay before a record is written.
const flushEvery = time.Second

const (
	fileMode = 0o644
	// batchSize is how many bytes wake the writer before the second is over, and
	// maxBacklog how many may wait for the disk before requests wait for it too.
	batchSize  = 256 << 10
	maxBacklog = 8 << 20
)

// truthFile appends lines to a file. One goroutine owns the file; write is safe for concurrent
// use and blocks while the backlog is full.
type truthFile struct {
	mu     sync.Mutex
	room   sync.Cond // the backlog was taken, or the file is closed
	lines  []byte    // not written yet
	closed bool

	full chan struct{} // buffered 1; lines has a batch
	stop chan struct{} // closed by close: write the queued lines and end
	done chan error    // buffered 1; the result of the writer
}

// open creates path, or truncates it, and starts the writer.
func (t *truthFile) open(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
	if err != nil {
		return fmt.Errorf("open truth file: %w", err)
	}
	t.full, t.stop, t.done = make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	t.room.L = &t.mu
	go func() { t.done <- t.run(f) }()
	return nil
}

// write queues the line of a record. It drops the line if the file is closed.
func (t *truthFile) write(truth *api.Truth) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.lines) >= maxBacklog && !t.closed {
		t.room.Wait()
	}
	if t.closed {
		return
	}
	t.lines = appendTruth(t.lines, truth)
	if len(t.lines) >= batchSize {
		select {
		case t.full <- struct{}{}:
		default: // the writer will wake up already
		}
	}
}

// take returns the queued lines and replaces them by the empty buffer spare.
func (t *truthFile) take(spare []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	t.lines = spare[:0]
	t.room.Broadcast()
	return lines
}

// run writes lines until stop is closed. After an error it continues to take lines, so
// that no request blocks, and reports the first error at the end.
func (t *truthFile) run(f *os.File) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var buf []byte
	var failed error
	for stop := false; !stop; {
		select {
		case <-t.full:
		case <-tick.C:
		case <-t.stop:
			stop = true
		}
		if buf = t.take(buf); failed == nil {
			_, failed = f.Write(buf)
		}
	}
	return errors.Join(failed, f.Close())
}

// close writes the queued lines and waits for the writer. It must be called once.
func (t *truthFile) close() error {
	t.mu.Lock()
	t.closed = true
	t.room.Broadcast()
	t.mu.Unlock()
	close(t.stop)
	if err := <-t.done; err != nil {
		return fmt.Errorf("write truth file: %w", err)
	}
	return nil
}

// appendTruth appends t as one line of JSON, as package json would. It does not use that
// package because it is part of the cost of every request.
func appendTruth(dst []byte, t *api.Truth) []byte {
	l := truthLine{dst}
	l.integer(`{"seq":`, t.Seq)
	l.text(`,"path":`, t.Path)
	l.text(`,"request_id":`, t.RequestID)
	l.text(`,"correlation_id":`, t.CorrelationID)
	l.text(`,"model":`, t.Model)
	l.b = append(l.b, `,"stream":`...)
	l.b = strconv.AppendBool(l.b, t.Stream)
	l.integer(`,"status":`, int64(t.Status))
	l.integer(`,"n":`, int64(t.N))
	l.integer(`,"max_tokens":`, int64(t.MaxTokens))
	l.integer(`,"prompt_tokens":`, int64(t.PromptTokens))
	l.integer(`,"output_tokens":`, int64(t.OutputTokens))
	l.integer(`,"reasoning_tokens":`, int64(t.ReasoningTokens))
	l.text(`,"finish_reason":`, t.FinishReason)
	l.integer(`,"accept_ns":`, t.AcceptNs)
	l.integer(`,"body_read_ns":`, t.BodyReadNs)
	l.integer(`,"headers_ns":`, t.HeadersNs)
	l.integer(`,"first_write_ns":`, t.FirstWriteNs)
	l.integer(`,"first_write_end_ns":`, t.FirstWriteEndNs)
	l.integer(`,"last_write_ns":`, t.LastWriteNs)
	l.integer(`,"last_write_end_ns":`, t.LastWriteEndNs)
	l.integer(`,"end_ns":`, t.EndNs)
	for i, ns := range t.ChunkNs {
		if i == 0 {
			l.integer(`,"chunk_ns":[`, ns)
		} else {
			l.integer(`,`, ns)
		}
	}
	if len(t.ChunkNs) > 0 {
		l.b = append(l.b, ']')
	}
	for i, n := range t.ChunkTokens {
		if i == 0 {
			l.integer(`,"chunk_tokens":[`, int64(n))
		} else {
			l.integer(`,`, int64(n))
		}
	}
	if len(t.ChunkTokens) > 0 {
		l.b = append(l.b, ']')
	}
	l.millis(`,"ttft_ms":`, t.TTFTMs)
	l.millis(`,"itl_ms":`, t.ITLMs)
	l.millis(`,"latency_ms":`, &t.LatencyMs)
	if b := t.Batch; b != nil {
		l.integer(`,"batch":{"queued_ns":`, b.QueuedNs)
		l.integer(`,"admitted_ns":`, b.AdmittedNs)
		l.millis(`,"queue_ms":`, &b.QueueMs)
		l.integer(`,"cached_tokens":`, int64(b.CachedTokens))
		l.integer(`,"preemptions":`, int64(b.Preemptions))
		l.millis(`,"mean_batch":`, &b.MeanBatch)
		l.b = append(l.b, '}')
	}
	l.text(`,"outcome":`, t.Outcome)
	return append(l.b, "}\n"...)
}

// truthLine is a line that is being built. Names include their punctuation.
type truthLine struct{ b []byte }

func (l *truthLine) integer(name string, v int64) {
	l.b = append(l.b, name...)
	l.b = strconv.AppendInt(l.b, v, 10)
}

func (l *truthLine) millis(name string, v *float64) {
	l.b = append(l.b, name...)
	if v == nil {
		l.b = append(l.b, "null"...)
		return
	}
	// Stamps are whole nanoseconds: no value is so small or so large that package
	// json would write it with an exponent.
	l.b = strconv.AppendFloat(l.b, *v, 'f', -1, 64)
}

func (l *truthLine) text(name, v string) {
	l.b = append(l.b, name...)
	for i := range len(v) {
		if c := v[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			l.b = appendAsJSON(l.b, v)
			return
		}
	}
	l.b = append(l.b, '"')
	l.b = append(l.b, v...)
	l.b = append(l.b, '"')
}

// appendAsJSON appends a string that needs escapes, with those of package json.
func appendAsJSON(dst []byte, v string) []byte {
	quoted, err := json.Marshal(v)
	if err != nil {
		return append(dst, `""`...) // marshalling a string cannot fail
	}
	return append(dst, quoted...)
}
