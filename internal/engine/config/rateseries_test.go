package config

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"array", `[{"time_s": 0, "qps": 5}, {"time_s": 2.5, "qps": 1e2}]`, ""},
		{"object", `{"points": [{"qps": 5, "time_s": 0}, {"time_s": 2.5, "qps": 100}]}`, ""},
		{"no JSON", `[1,`, "must be JSON: "},
		{"text", `"x"`, "must be a JSON array of points, or an object with the only member points"},
		{"more members", `{"points": [], "x": 1}`, "must be a JSON array of points, or an object with the only member points"},
		{"member twice", `[{"time_s": 0, "time_s": 1, "qps": 5}]`, "has an object with the same member twice"},
		{"one point", `[{"time_s": 0, "qps": 5}]`, "has 1 points: must have 2 to 100000"},
		{"all problems", `[{"time_s": -1, "qps": 5}, {"qps": 0}, 3, {"time_s": "1", "qps": 1, "x": 1}]`,
			"point 0: time_s -1: must be a number of seconds, 0 or more\n" +
				"point 1: time_s: required\nqps 0: must be a number of requests per second above 0\n" +
				"point 2: must be an object with time_s and qps\n" +
				"point 3: time_s \"1\": must be a number of seconds, 0 or more\nmust have no members but time_s and qps"},
		{"too large", `[{"time_s": 0, "qps": 5}, {"time_s": 1e999, "qps": 5}]`, "point 1: time_s 1e999: must be a number of seconds, 0 or more"},
		{"order", `[{"time_s": 1, "qps": 5}, {"time_s": 1, "qps": 5}]`, "point 1: time_s 1: must be later than the point before, at 1"},
	}
	for _, tt := range tests {
		points, err := readRates([]byte(tt.text))
		switch {
		case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		case tt.want == "":
			if diff := cmp.Diff([]Point{{0, 5}, {2.5, 100}}, points); err != nil || diff != "" {
				t.Errorf("%s: error %v, points (-want +got):\n%s", tt.name, err, diff)
			}
		}
	}
}

func TestManyProblemsAreClipped(t *testing.T) {
	_, err := readRates([]byte("[" + strings.TrimSuffix(strings.Repeat("3,", 50), ",") + "]"))
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) || len(joined.Unwrap()) != 11 || !strings.HasSuffix(err.Error(), "and 40 more") {
		t.Errorf("error %v, want ten problems and the number of the others", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`[{"time_s": 0, "qps": 5}, {"time_s": 2.5, "qps": 1e2}]`))
	f.Add([]byte(`{"points": [{"time_s": 0, "qps": 5}, {"time_s": 2.5, "qps": 1e2}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		points, err := readRates(data)
		if err != nil {
			return
		}
		for i, p := range points {
			if !(p.TimeS >= 0) || !(p.QPS > 0) || math.IsInf(p.TimeS, 0) || math.IsInf(p.QPS, 0) || !follows(points, i) {
				t.Fatalf("point %d of %v is accepted", i, points)
			}
		}
	})
}
