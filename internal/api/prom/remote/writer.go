package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/klauspost/compress/s2"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

const (
	// Period is how often a [Writer] gathers and sends.
	Period = 5 * time.Second

	writePath  = "/api/v1/write"
	pushPath   = "/metrics/job/" + Job
	timeout    = 5 * time.Second // of one request
	closing    = 3 * time.Second // at the end of the process
	mostWaits  = 60              // payloads that wait for a receiver that fails: those of five minutes
	maxMessage = 200             // bytes of the message of a receiver that are shown
)

// Job is the job of all series, and the group at a Pushgateway.
const Job = "aiperfd"

// Gather returns the current families.
type Gather func(ctx context.Context) ([]*dto.MetricFamily, error)

// Written is what became of the payloads.
type Written struct {
	Payloads int // that the receiver accepted
	Dropped  int // that it did not get, or refused
	Err      error
}

// Writer sends families by Remote-Write 1.0 (https://prometheus.io/docs/specs/prw/remote_write_spec/) every five
// seconds from StartWriter to Close. A series that is not gathered any more gets a stale marker.
type Writer struct {
	target *url.URL
	gather Gather
	http   *http.Client
	stop   context.CancelFunc
	done   chan struct{} // closed when the loop has ended

	waiting [][]byte          // payloads, the oldest first; of the loop, then of Close
	open    map[string]sample // series without a stale marker; of the loop, then of Close
	written Written           // of the loop, then of Close
}

// StartWriter begins to send to a URL until ctx ends; without a path, that of Prometheus' receiver is used.
func StartWriter(ctx context.Context, to *url.URL, gather Gather) *Writer {
	ctx, stop := context.WithCancel(ctx)
	w := &Writer{
		target: withPath(to, writePath), gather: gather, http: newClient(), stop: stop, done: make(chan struct{}),
		open: make(map[string]sample),
	}
	go w.loop(ctx)
	return w
}

// withPath returns a URL with a path, unless it has one.
func withPath(u *url.URL, path string) *url.URL {
	at := *u
	if at.Path == "" || at.Path == "/" {
		at.Path = path
	}
	return &at
}

func newClient() *http.Client {
	return &http.Client{
		Timeout: timeout, Transport: &http.Transport{MaxIdleConnsPerHost: 1},
		// A redirect could take the password along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// loop sends until ctx ends.
func (w *Writer) loop(ctx context.Context) {
	defer close(w.done)
	tick := time.NewTicker(Period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			w.take(context.WithoutCancel(ctx), now) // a payload without what was not read in time would be wrong
			w.send(ctx)
		}
	}
}

// take adds a payload of the current families.
func (w *Writer) take(ctx context.Context, now time.Time) {
	families, err := w.gather(ctx)
	if err != nil {
		w.written.Err = fmt.Errorf("gather metrics: %w", err)
		return
	}
	current := samples(families, Job)
	gone := w.open
	w.open = make(map[string]sample, len(current))
	for _, s := range current {
		key := s.key()
		w.open[key] = s
		delete(gone, key)
	}
	w.enqueue(append(current, ended(gone)...), now)
}

// ended returns the stale markers of series.
func ended(series map[string]sample) (out []sample) {
	for _, s := range series {
		out = append(out, sample{s.labels, stale()})
	}
	return out
}

func (w *Writer) enqueue(of []sample, at time.Time) {
	if len(of) == 0 {
		return
	}
	if len(w.waiting) == mostWaits {
		w.waiting = w.waiting[1:]
		w.written.Dropped++
	}
	w.waiting = append(w.waiting, s2.EncodeSnappy(nil, writeRequest(of, at)))
}

// send sends what waits, in order, until the receiver fails in a way that may pass.
func (w *Writer) send(ctx context.Context) {
	for len(w.waiting) > 0 {
		header := http.Header{
			"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"snappy"},
			"X-Prometheus-Remote-Write-Version": {"0.1.0"},
		}
		again, err := post(ctx, w.http, http.MethodPost, w.target, header, w.waiting[0])
		if again {
			w.written.Err = err
			return
		}
		w.waiting = w.waiting[1:]
		if err != nil {
			w.written.Dropped++
			w.written.Err = err
			continue
		}
		w.written.Payloads++
	}
}

// Close sends the final values, and the stale markers of all series, one period later on the clock of the receiver:
// for so long the final values can be seen, as those of a target that is scraped no more. It takes at most three
// seconds, or until ctx ends.
func (w *Writer) Close(ctx context.Context) Written {
	w.stop()
	<-w.done
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	now := time.Now()
	w.take(ctx, now)
	w.enqueue(ended(w.open), now.Add(Period))
	w.send(ctx)
	w.written.Dropped += len(w.waiting)
	w.http.CloseIdleConnections()
	return w.written
}

// Push replaces the metrics of the job at a Pushgateway; with a path, of the group that it names. It takes at most
// three seconds, or until ctx ends.
func Push(ctx context.Context, to *url.URL, families []*dto.MetricFamily) error {
	var body bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&body, f); err != nil {
			return fmt.Errorf("write metric %s: %w", f.GetName(), err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	client := newClient()
	defer client.CloseIdleConnections()
	header := http.Header{"Content-Type": {string(expfmt.NewFormat(expfmt.TypeTextPlain))}}
	_, err := post(ctx, client, http.MethodPut, withPath(to, pushPath), header, body.Bytes())
	return err
}

// post sends a body once. again = the same body may be accepted later.
func post(ctx context.Context, client *http.Client, method string, to *url.URL, header http.Header, body []byte) (again bool, err error) {
	at := *to
	at.User = nil
	req, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("make the request: %w", err)
	}
	req.Header = header
	req.Header.Set("User-Agent", Job)
	if u := to.User; u != nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	resp, err := client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the URL, which may have secrets
		}
		return true, fmt.Errorf("%s: %w", to.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return false, nil
	}
	message, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage)) // as far as it can be read
	err = fmt.Errorf("%s: %s: %s", to.Host, resp.Status, bytes.TrimSpace(message))
	return resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests, err
}
