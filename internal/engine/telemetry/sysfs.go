package telemetry

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"time"

	"aiperfd/internal/engine/telemetry/diagnose"
	"aiperfd/internal/engine/telemetry/gpu"
	"aiperfd/internal/engine/telemetry/window"
)

// drmFolder is where the kernel has the cards of this machine.
const drmFolder = "/sys/class/drm"

// sysfsReader reads AMD's cards of this machine from the files of their driver.
type sysfsReader struct {
	*target
	drm     fs.FS
	host    string
	pages   chan []byte // of the reading under way; nil = there is none
	began   time.Duration
	again   bool             // somebody has asked after it has begun
	waiting []chan<- *target // for a reading
	pinned  bool
}

// readSysfs reads the cards until ctx ends, or until there is none.
func (t *target) readSysfs(ctx context.Context) *trouble {
	host, _ := os.Hostname() // without a name, the cards have none
	r := sysfsReader{target: t, drm: t.recorder.o.Devices.Files, host: cmp.Or(host, "localhost")}
	if r.drm == nil {
		r.drm = os.DirFS(drmFolder)
	}
	defer r.answer()
	tick := time.NewTicker(gpu.LocalPeriod * time.Millisecond)
	defer tick.Stop()
	r.begin()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.begin()
			r.hangs()
		case <-t.marked:
			r.pinned, r.again = true, r.pages != nil
			r.begin()
		case done := <-t.asked:
			r.pinned, r.again, r.waiting = true, r.pages != nil, append(r.waiting, done)
			r.begin()
		case page := <-r.pages:
			r.pages = nil
			if page == nil {
				return &trouble{diagnose.Unreachable, "there is no GPU of AMD in " + drmFolder}
			}
			r.take(page)
		}
	}
}

// begin begins to read, unless that is under way. A driver that hangs keeps one goroutine, whatever the run does.
func (r *sysfsReader) begin() {
	if r.pages != nil {
		return
	}
	pages := make(chan []byte, 1) // buffered: the run may have ended when the driver answers
	r.pages, r.began = pages, r.recorder.o.Clock.Now()
	go func() { pages <- gpu.SysfsPage(r.drm, r.host) }()
}

// hangs lets nobody wait for a driver that does not answer.
func (r *sysfsReader) hangs() {
	if r.recorder.o.Clock.Now()-r.began < localSilence {
		return
	}
	if len(r.waiting) > 0 || r.up {
		r.fail(&trouble{diagnose.Unreachable, "the driver has not answered for " + localSilence.String()})
	}
	r.answer()
}

// take keeps a reading, and begins another one if somebody has asked meanwhile.
func (r *sysfsReader) take(page []byte) {
	now := r.recorder.o.Clock.Now()
	if r.keep(window.Scrape{Sent: r.began, FirstByte: now, End: now, Pinned: r.pinned}, page) {
		r.looking, r.backoff = false, 0
	}
	if r.again {
		r.again = false
		r.begin()
		return
	}
	r.pinned = false
	r.answer()
}

// answer tells those who wait that there is nothing more to wait for.
func (r *sysfsReader) answer() {
	for _, done := range r.waiting {
		done <- r.target
	}
	r.waiting = nil
}
