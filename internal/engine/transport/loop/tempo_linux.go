//go:build amd64 || arm64

package loop

import "time"

// pause is how long the loop looks away while streams are under way. With the
// slack of the kernel's timers it is about twice as long.
const pause = 60 * time.Microsecond

// A loop counts over windows of tempoWindow. It takes what it sees for streams
// under way from tempoEvents on, if they are tempoShare times as many as requests.
const (
	tempoWindow = 2 * time.Millisecond
	tempoEvents = 10
	tempoShare  = 16
)

// tempo tells streams under way from short requests and their responses, whose
// ends somebody waits for.
type tempo struct {
	streaming bool

	began  time.Duration // of the window
	events int           // since then
	sends  int64         // requests until then
}

// count takes the events of one wait and the number of requests sent so far.
func (t *tempo) count(now time.Duration, events int, sends int64) {
	t.events += events
	length := now - t.began
	if length < tempoWindow {
		return
	}
	t.streaming = length < 2*tempoWindow && t.events >= tempoEvents && (sends-t.sends)*tempoShare <= int64(t.events)
	t.began, t.events, t.sends = now, 0, sends
}
