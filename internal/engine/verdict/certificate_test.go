package verdict

import "testing"

func TestCertificateLine(t *testing.T) {
	number := func(n int) *int { return &n }
	rate := 12.5
	tests := []struct {
		name string
		c    Certificate
		want string
	}{
		{"streams", Certificate{TTFTAdded: 0.0801, InterChunkAdded: 0.05, Concurrency: number(64)},
			"this client added at most 0.081 ms to TTFT p99 and 0.05 ms to inter-chunk p99 at 64 streams, here and now"},
		{"one stream, rounded up", Certificate{TTFTAdded: 1.234, InterChunkAdded: 12.1, Concurrency: number(1)},
			"this client added at most 1.3 ms to TTFT p99 and 13 ms to inter-chunk p99 at 1 stream, here and now"},
		{"rate", Certificate{Rate: &rate},
			"this client added at most 0 ms to TTFT p99 and 0 ms to inter-chunk p99 at 12.5 requests/s, here and now"},
		{"fewer than asked for", Certificate{TTFTAdded: 1, InterChunkAdded: 1, Concurrency: number(2000), Asked: number(5000), TTFT: Certified{Extrapolated: true}},
			"this client added at most 1.0 ms to TTFT p99 and 1.0 ms to inter-chunk p99 at 2000 streams (of 5000), here and now (extrapolated: few independent observations)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.c.Line(); got != tt.want {
				t.Errorf("Line() = %s\nwant     %s", got, tt.want)
			}
		})
	}
}
