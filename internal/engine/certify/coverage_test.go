package certify

import (
	"testing"
	"time"

	"aiperfd/internal/engine/pace"
)

// BenchmarkCoverage counts on real sockets what TestCoverage simulates: how many
// errors of a trial are within the bounds of the trial before it. Run it with
// -benchtime 100x, and with a busy core or GOMAXPROCS=1 as well.
func BenchmarkCoverage(b *testing.B) {
	trial := func() (ttft, gap, ttftBound, gapBound float64) {
		c, err := Run(b.Context(), Options{Concurrency: 16, Time: time.Second, Pacer: pace.Precise})
		if err != nil {
			b.Fatal(err)
		}
		ttft, gap = c.TTFT.ReportedP99-c.TTFT.TrueP99, c.InterChunk.ReportedP99-c.InterChunk.TrueP99
		return max(ttft, -ttft), max(gap, -gap), c.TTFTAdded, c.InterChunkAdded
	}
	_, _, ttftBound, gapBound := trial()
	trials, covered := 0.0, 0.0
	for b.Loop() {
		ttft, gap, nextTTFT, nextGap := trial()
		trials++
		if ttft <= ttftBound && gap <= gapBound {
			covered++
		}
		ttftBound, gapBound = nextTTFT, nextGap
	}
	b.ReportMetric(100*covered/trials, "%covered")
}
