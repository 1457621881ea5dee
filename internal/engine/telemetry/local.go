package telemetry

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/window"
)

// Local is what reads the cards of this machine.
type Local string

// The readers.
const (
	SMI      Local = "nvidia-smi" // a child
	AMDSysfs Local = "amd-sysfs"  // files of the driver
)

// smiProgram is the program that reads the cards of NVIDIA.
const smiProgram = string(SMI)

const (
	localSilence = 10 * time.Second       // after which the child is taken to hang
	localEnd     = 500 * time.Millisecond // that the child has to end
)

// newLocal returns the target of the cards of this machine.
func newLocal(r *Recorder) *target {
	u := &url.URL{Scheme: string(r.o.Devices.Local), Host: "localhost"}
	t := newTarget(r, &Target{Candidates: []*url.URL{u}, Given: true, Devices: true, Header: http.Header{}})
	t.shown, t.client = u.String(), nil
	t.refresh = gpu.LocalPeriod * time.Millisecond
	return t
}

// runLocal reads the cards of this machine until ctx ends. A reader that ends or hangs is started again after a pause.
func (t *target) runLocal(ctx context.Context) {
	read := t.readSMI
	if t.recorder.o.Devices.Local == AMDSysfs {
		read = t.readSysfs
	}
	for ctx.Err() == nil {
		if problem := read(ctx); problem != nil && ctx.Err() == nil {
			t.fail(problem)
		}
		timer := time.NewTimer(max(time.Second, t.backoff))
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				waiting = false
			case done := <-t.asked: // there is nothing to read
				done <- t
			case <-t.marked:
			case <-timer.C:
				waiting = false
			}
		}
		timer.Stop()
	}
}

// readSMI reads the lines of one child.
func (t *target) readSMI(ctx context.Context) *trouble {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path, err := exec.LookPath(smiProgram)
	if err != nil {
		return &trouble{diagnose.Unreachable, "there is no " + smiProgram + " on this machine"}
	}
	child := exec.CommandContext(ctx, path, gpu.SMIArguments()...)
	child.WaitDelay = localEnd
	out, err := child.StdoutPipe()
	if err != nil {
		return &trouble{diagnose.Unreachable, err.Error()}
	}
	if err := child.Start(); err != nil {
		return &trouble{diagnose.Unreachable, err.Error()}
	}
	lines := make(chan string) // unbuffered: the child waits, not the memory
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		defer close(lines)
		in := bufio.NewScanner(io.LimitReader(out, 1<<40))
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	problem := t.follow(ctx, lines)
	cancel()
	<-reading
	_ = child.Wait() // that it was ended is no news
	return problem
}

// follow turns lines into readings until they end.
func (t *target) follow(ctx context.Context, lines <-chan string) *trouble {
	host, _ := os.Hostname() // without a name, the cards have none
	rounds := gpu.SMIRounds{Host: cmp.Or(host, "localhost")}
	silence := time.NewTimer(localSilence)
	defer silence.Stop()
	var waiting []chan<- *target
	answer := func() {
		for _, done := range waiting {
			done <- t
		}
		waiting = nil
	}
	defer answer()
	pinned, last := false, ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case done := <-t.asked:
			waiting, pinned = append(waiting, done), true
		case <-t.marked:
			pinned = true
		case <-silence.C:
			return &trouble{diagnose.Unreachable, cmp.Or(last, smiProgram+" has written nothing for "+localSilence.String())}
		case line, more := <-lines:
			if !more {
				return &trouble{diagnose.Unreachable, cmp.Or(last, smiProgram+" has ended")}
			}
			page, err := rounds.Add(line)
			if err != nil {
				last = strings.ToValidUTF8(err.Error(), "?")
				continue
			}
			silence.Reset(localSilence)
			if page == nil {
				continue
			}
			now := t.recorder.o.Clock.Now()
			if t.keep(window.Scrape{Sent: now, FirstByte: now, End: now, Pinned: pinned}, page) {
				t.looking, t.backoff, pinned = false, 0, false
			}
			answer()
		}
	}
}
