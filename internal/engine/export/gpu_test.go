package export

import (
	"testing"

	"aiperfd/internal/engine/telemetry/diagnose"
)

// Readings that failed are counted per page; pages that nobody named and that never answered are none.
func TestFailedReadings(t *testing.T) {
	got, err := object{{"error_summary", failedReadings([]diagnose.Target{
		{URL: "http://h:9400/metrics", Fetches: 9},
		{URL: "http://h:9401/metrics", Failures: 4, LastError: "refused"},
		{URL: "http://a:9400/metrics", Given: true, Failures: 3, LastError: "refused"},
		{URL: "http://b:9400/metrics", Fetches: 2, Failures: 1, LastError: "HTTP 500"},
	})}}.appendJSON(nil)
	const want = `{"error_summary":[{"error_details":{"type":"MetricsError","message":"http://a:9400/metrics: refused"},"count":3},` +
		`{"error_details":{"type":"MetricsError","message":"http://b:9400/metrics: HTTP 500"},"count":1}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
