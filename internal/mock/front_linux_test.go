package mock

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"aiperfd/internal/mock/front"
	"aiperfd/internal/mock/options"
	"aiperfd/internal/mock/random"
)

// A request that arrives before its connection is accepted has the time of its arrival,
// and its answer is due relative to that.
func TestFrontArrivalBeforeAccept(t *testing.T) {
	const ttft = 50 * time.Millisecond
	s, err := New(options.Options{TTFT: random.ConstDelay(ttft), ITL: random.ConstDelay(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := front.New(ln, newFrontHandler(s), front.NewHandover(ln.Addr()), frontOptions(s, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	c := dialTest(t, ln.Addr().String())
	// The kernel enables its stamps with a short delay.
	time.Sleep(20 * time.Millisecond)
	if _, err := io.WriteString(c, post(chatPath, plainBody)); err != nil {
		t.Fatal(err)
	}
	sent := s.now()
	served := make(chan error, 1)
	go func() { served <- f.Serve() }()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve = %v", err)
	}
	truth := s.Truth()
	if len(truth) != 1 {
		t.Fatalf("%d truths, want 1", len(truth))
	}
	got := truth[0]
	if got.AcceptNs > sent {
		t.Errorf("arrived %v after it was sent", time.Duration(got.AcceptNs-sent))
	}
	if took := time.Duration(got.FirstWriteNs - got.AcceptNs); took < ttft {
		t.Errorf("answered after %v, want %v or more", took, ttft)
	}
	if got.BodyReadNs < sent {
		t.Errorf("read before it was sent")
	}
}
