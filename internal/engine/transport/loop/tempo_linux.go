//go:build amd64 || arm64

package loop

import "time"

// A loop counts events in windows of tempoWindow. At tempoRate events per second or
// more, and tempoShare times as many events as requests, it assumes streams.
const (
	tempoWindow = 16 * time.Millisecond
	tempoRate   = 5000
	tempoShare  = 16
)

// While there are streams the loop sleeps before each poll: for 1/pauseShare of the
// time between two events of one stream, within these limits. The kernel's timer slack
// adds about 60 µs.
const (
	minPause   = 60 * time.Microsecond
	maxPause   = 800 * time.Microsecond
	pauseShare = 16
)

// tempo distinguishes streams from short requests, whose responses must be read
// immediately.
type tempo struct {
	streaming bool
	pause     time.Duration // if streaming

	window int32         // counts windows
	began  time.Duration // of the window
	events int           // since then
	active int           // connections that were read since then
	sends  int64         // requests until then
}

// read counts a connection that is read.
func (t *tempo) read(c *Conn) {
	if c.window != t.window {
		c.window = t.window
		t.active++
	}
}

// count takes the events of one wait and the number of requests sent so far.
func (t *tempo) count(now time.Duration, events int, sends int64) {
	t.events += events
	length := now - t.began
	if length < tempoWindow {
		return
	}
	enough := time.Duration(t.events)*time.Second >= tempoRate*length
	t.streaming = length < 2*tempoWindow && enough && (sends-t.sends)*tempoShare <= int64(t.events)
	if t.streaming {
		gap := length * time.Duration(t.active) / time.Duration(t.events)
		t.pause = min(max(gap/pauseShare, minPause), maxPause)
	}
	t.window++
	t.began, t.events, t.active, t.sends = now, 0, 0, sends
}
