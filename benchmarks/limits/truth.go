//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"aiperfd/internal/engine/stat"
	"aiperfd/internal/mock"
)

// truth is a line of the server's truth file.
type truth struct{ mock.Truth }

// events returns the number of events that were sent.
func (t *truth) events() int {
	if !t.Stream {
		return 1
	}
	return t.OutputTokens + responseExtras
}

func (t *truth) ttft() float64 { return float64(t.FirstWriteNs-t.AcceptNs) / 1e6 }

// readTruths waits for n further lines of the truth file and returns all lines since the
// last call.
func (m *mockServer) readTruths(ctx context.Context, n int) ([]truth, error) {
	deadline := time.Now().Add(truthTimeout)
	for {
		truths, size, err := readTruthsFrom(m.truth, m.offset)
		if err != nil {
			return nil, err
		}
		if len(truths) >= n {
			m.offset = size
			return truths, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("read truth file: %d requests, want %d", len(truths), n)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second): // the server writes once per second
		}
	}
}

// readTruthsFrom reads whole lines from an offset and returns where they end.
func readTruthsFrom(path string, offset int64) ([]truth, int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read truth file: %w", err)
	}
	var truths []truth
	for line := range bytes.Lines(text[offset:]) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var t truth
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, 0, fmt.Errorf("read truth file: %w", err)
		}
		truths = append(truths, t)
		offset += int64(len(line))
	}
	return truths, offset, nil
}

// percentile sorts values and returns the quantile q of them; NaN without any.
func percentile(values []float64, q float64) float64 {
	slices.Sort(values)
	return stat.Quantile(values, q)
}

func median(values []float64) float64 { return percentile(slices.Clone(values), 0.5) }

// mean is NaN without values.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// sumUp adds the server's measures to a row.
func (r row) sumUp(truths []truth, sc *scenario) {
	var ttfts, gaps, late, service []float64
	for i := range truths {
		t := &truths[i]
		ttfts = append(ttfts, t.ttft())
		service = append(service, float64(t.EndNs-t.AcceptNs)/1e9)
		for k := 1; k < len(t.ChunkNs); k++ {
			gaps = append(gaps, float64(t.ChunkNs[k]-t.ChunkNs[k-1])/1e6)
		}
		if sc.itl > 0 && t.Stream {
			due := t.BodyReadNs + int64(sc.ttft) + int64(sc.itl)*int64(t.OutputTokens-1)
			late = append(late, float64(t.LastWriteNs-due)/1e6)
		}
	}
	r.M[truthTTFTAvg], r.M[truthTTFTP50], r.M[truthTTFTP99] = mean(ttfts), percentile(ttfts, 0.5), percentile(ttfts, 0.99)
	if len(gaps) > 0 {
		r.M[truthICP99] = percentile(gaps, 0.99)
		r.M[icP99Ratio] = r.M[icP99] / r.M[truthICP99]
	}
	if len(late) > 0 {
		r.M[mockLateP99] = percentile(late, 0.99)
	}
	if sc.streams > 0 {
		expected := float64(sc.streams) / mean(service)
		r.M[throughputError] = 100 * math.Abs(r.M[requestRate]/expected-1)
	}
	r.M[ttftP99Error] = math.Abs(r.M[ttftP99] - r.M[truthTTFTP99])
	r.M[ttftP99ErrorShare] = 100 * r.M[ttftP99Error] / r.M[truthTTFTP99]
	r.M[ttftAvgErrorShare] = 100 * math.Abs(r.M[ttftAvg]/r.M[truthTTFTAvg]-1)
}
