//go:build amd64 || arm64

package loop

import (
	"testing"
	"time"
)

func TestTempo(t *testing.T) {
	tests := []struct {
		name   string
		wait   time.Duration // between two waits
		events int           // of one wait
		sends  int64         // between two waits
		want   bool
	}{
		{"nothing comes", time.Second, 0, 0, false},
		{"one slow stream", 20 * time.Millisecond, 1, 0, false},
		{"many streams", 100 * time.Microsecond, 3, 0, true},
		{"many streams, few that end", 100 * time.Microsecond, 32, 1, true},
		{"short answers", 100 * time.Microsecond, 3, 1, false},
		{"as many as fit into a wait, far apart", 2 * tempoWindow, batch, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var pulse tempo
			var sends int64
			now := time.Minute
			for range 200 {
				pulse.count(now, tt.events, sends)
				now += tt.wait
				sends += tt.sends
			}
			if pulse.streaming != tt.want {
				t.Errorf("streaming = %v, want %v", pulse.streaming, tt.want)
			}
			pulse.count(now+time.Second, 1, sends)
			if pulse.streaming {
				t.Error("still streaming after a second of silence")
			}
		})
	}
}

// The pause follows from how often one stream is read, not from how many there are.
func TestPause(t *testing.T) {
	tests := []struct {
		streams int
		gap     time.Duration // between two events of a stream
		want    time.Duration
	}{
		{1000, 20 * time.Millisecond, maxPause},
		{100, 2 * time.Millisecond, 125 * time.Microsecond},
		{16, 200 * time.Microsecond, minPause},
	}
	for _, tt := range tests {
		var pulse tempo
		conns := make([]Conn, tt.streams)
		step := tt.gap / time.Duration(tt.streams)
		for i := range int(200 * time.Millisecond / step) {
			pulse.read(&conns[i%tt.streams])
			pulse.count(time.Minute+time.Duration(i)*step, 1, 0)
		}
		if !pulse.streaming || pulse.pause < tt.want*9/10 || pulse.pause > tt.want*11/10 {
			t.Errorf("%d streams, %v apart: streaming %v, pause %v, want %v", tt.streams, tt.gap, pulse.streaming, pulse.pause, tt.want)
		}
	}
}
