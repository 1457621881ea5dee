package collect

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/metric/measure"
	"aiperfd/internal/engine/telemetry/paths"
	"aiperfd/internal/engine/telemetry/roundtrip"
	"aiperfd/internal/engine/transport/netpath"
)

func TestRoundTrips(t *testing.T) {
	const us = time.Microsecond
	kernel := &paths.Report{Targets: []paths.Target{{Target: "a:80", MinRTT: new(0.03)}, {Target: "b:80"}, {Target: "c:80", MinRTT: new(0.9)}}}
	probes := []roundtrip.Result{{Address: "a:80", Trips: []time.Duration{200 * us, 100 * us}}, {Address: "c:80", Trips: []time.Duration{500 * us}}, {Address: "d:80", Failed: 3}}
	for _, test := range []struct {
		name   string
		probes []roundtrip.Result
		report *paths.Report
		want   *measure.Network
	}{
		{"nothing is known", nil, nil, nil},
		{"no probe succeeded", probes[2:], nil, nil},
		{"probes alone", probes, nil, &measure.Network{Trips: []float64{200e3, 100e3, 500e3}, Least: []float64{100e3, math.NaN(), 500e3, math.NaN()}}},
		{"the kernel alone", nil, kernel, &measure.Network{Least: []float64{30e3, math.NaN(), 900e3, math.NaN()}}},
		{"the lesser of both", probes, kernel, &measure.Network{Trips: []float64{200e3, 100e3, 500e3}, Least: []float64{30e3, math.NaN(), 500e3, math.NaN()}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := RoundTrips([]string{"a:80", "b:80", "c:80", "d:80"}, test.probes, test.report)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMeanTrip(t *testing.T) {
	for _, test := range []struct {
		name  string
		stats []netpath.Stat
		want  time.Duration
	}{
		{"nothing", nil, 0},
		{"one server", []netpath.Stat{{MinRTT: time.Millisecond, Responses: 3}}, time.Millisecond},
		{"by responses", []netpath.Stat{{MinRTT: time.Millisecond, Responses: 3}, {MinRTT: 5 * time.Millisecond, Responses: 1}}, 2 * time.Millisecond},
		{"of HTTP/2 by readings", []netpath.Stat{{MinRTT: time.Millisecond, Readings: 1}, {MinRTT: 3 * time.Millisecond, Readings: 1}}, 2 * time.Millisecond},
		{"one is unknown", []netpath.Stat{{MinRTT: time.Millisecond, Responses: 3}, {Responses: 1}}, 0},
		{"the unknown one had no response", []netpath.Stat{{MinRTT: time.Millisecond, Responses: 3}, {Readings: 1}}, time.Millisecond},
	} {
		if got := meanTrip(test.stats); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
