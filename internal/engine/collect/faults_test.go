package collect

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/load"
	"aiperfd/internal/engine/load/spec"
	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/transport"
)

// fragile is an observer that panics at successes.
type fragile struct{ seen []string }

func (f *fragile) Observe(rec *bench.Record) {
	if rec.Answer.Failure == nil {
		var none []int
		_ = none[len(rec.Answer.Chunks)-2]
	}
	f.seen = append(f.seen, rec.Answer.Failure.String())
}

// statuses writes the statuses of records, and panics at 200.
func statuses(to io.Writer) (encoder[*bench.Record], error) {
	flush := func() error { return nil }
	return encoder[*bench.Record]{func(rec *bench.Record) error {
		if rec.Status == 200 {
			panic("cannot record")
		}
		_, err := fmt.Fprintln(to, rec.Status)
		return err
	}, flush, flush}, nil
}

// TestPanics: a panic while a response is processed makes an error of its request, and is
// logged once, without secrets.
func TestPanics(t *testing.T) {
	const secret = "key-4f81c09ab2"
	var log bytes.Buffer
	faults := &Faults{Log: zerolog.New(&log), Secrets: redact.NewSet(secret)}
	p := &plan.Plan{}
	p.Kind.Decode = func(r *bench.Response, _ bool) bench.Answer {
		if r.Status == 201 {
			panic("cannot decode " + secret)
		}
		return bench.Answer{Chunks: []bench.Chunk{{At: time.Second}}}
	}
	path := filepath.Join(t.TempDir(), "records")
	files := &Files{}
	files.records.faults = faults
	if err := files.records.open(path, statuses); err != nil {
		t.Fatal(err)
	}
	set, err := measure.NewSet(measure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	observer := new(fragile)
	r := NewRecorder(RecorderOptions{
		Run:   &Run{Plan: p, Clock: bench.NewClock(), Secrets: faults.Secrets, Tokens: &Tokens{}, Files: files, Faults: faults},
		Phase: &spec.Phase{Kind: bench.Warmup}, Set: set, Observers: []Observer{{Observe: observer.Observe}},
	})
	r.load = twoReturned{}
	recorded := make(chan *bench.Record)
	r.decoded.record = func(rec *bench.Record) { recorded <- rec }
	r.startFinishers()
	for _, status := range []int{201, 200, 202} {
		r.Finished(load.Finished{
			Record:   &bench.Record{Status: status, RequestID: "r", InputTokens: new(bench.Tokens)},
			Exchange: transport.Exchange{Response: &bench.Response{Status: status}},
		})
		rec := <-recorded
		r.measure(rec)
		files.records.write(rec)
	}
	close(r.finish)
	r.finishers.Wait()
	if err := files.records.close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"client_error (HTTP 201): aiperfd crashed when it tried to decode the response, which is an error of aiperfd: cannot decode <redacted>",
		"client_error (HTTP 200): aiperfd crashed when it tried to measure the response, which is an error of aiperfd: runtime error: index out of range [-1]",
		"client_error (HTTP 202): aiperfd crashed when it tried to measure the response, which is an error of aiperfd: runtime error: index out of range [-1]",
	}
	if got := strings.Join(observer.seen, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("observed:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	if errors, n := r.counts.errors.Load(), faults.Count(); errors != 3 || n != 4 {
		t.Errorf("%d errors and %d panics, want 3 and 4", errors, n)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "201\n202\n" {
		t.Errorf("record file %q: %v; want the lines that could be encoded", data, err)
	}
	text := log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "goroutine") || strings.Contains(text, secret) {
		t.Errorf("log: %s; want one line with the stack and without the secret", text)
	}
}
