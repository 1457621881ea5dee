package random

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestDelayMoments(t *testing.T) {
	const n = 40000
	tests := []struct {
		text     string
		mean, sd float64 // ms
	}{
		{"20ms", 20, 0},
		{"const:20ms", 20, 0},
		{"uniform:10ms:30ms", 20, 20 / math.Sqrt(12)},
		{"normal:20ms:2ms", 20, 2},
		{"lognormal:20ms:0.5", 20, 10},
		{"exp:20ms", 20, 20},
		{"gamma:20ms:0.5", 20, 10},
		{"gamma:20ms:2", 20, 40},
		{"gamma:20ms:0", 20, 0},
		{"bimodal:0.1:const:10ms:const:110ms", 20, 30},
		{"bimodal:0.5:20ms:bimodal:1:const:1ms:const:40ms", 30, 10},
	}
	for _, tt := range tests {
		d := parsedDelay(t, tt.text)
		rng := rand.New(rand.NewPCG(1, 2))
		var sum, squares float64
		for range n {
			x := float64(d.Draw(rng)) / 1e6
			if x < 0 {
				t.Fatalf("%s drew %v ms", tt.text, x)
			}
			sum += x
			squares += x * x
		}
		mean := sum / n
		sd := math.Sqrt(max(squares/n-mean*mean, 0))
		// Five standard errors of the mean; the deviation within 5 %.
		if math.Abs(mean-tt.mean) > 5*tt.sd/math.Sqrt(n)+1e-9 || math.Abs(sd-tt.sd) > 0.05*tt.sd+1e-3 {
			t.Errorf("%s: mean %.3f sd %.3f, want %.3f and %.3f", tt.text, mean, sd, tt.mean, tt.sd)
		}
		if d.String() != tt.text {
			t.Errorf("String() = %q, want %q", d.String(), tt.text)
		}
	}
}

func TestNormalIsTruncated(t *testing.T) {
	d := parsedDelay(t, "normal:100ms:80ms")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		if x := d.Draw(rng); x < 30*time.Millisecond || x > 170*time.Millisecond {
			t.Fatalf("drew %v, want 30 to 170 ms", x)
		}
	}
}

func TestDistErrors(t *testing.T) {
	const forms = "; accepted: VALUE, const:V, uniform:LOW:HIGH, normal:MEAN:SD, lognormal:MEAN:CV, exp:MEAN, " +
		"gamma:MEAN:CV, bimodal:P:DIST:DIST"
	tests := []struct{ text, want string }{
		{"", `a value is missing`},
		{"20", `"20" is not a duration ≥ 0 such as 20ms`},
		{"-3ms", `"-3ms" is not a duration ≥ 0 such as 20ms`},
		{"poisson:20ms", `"poisson" is not a duration ≥ 0 such as 20ms`},
		{"20ms:3ms", `unexpected "3ms" at the end`},
		{"uniform:20ms", `uniform takes 2 values`},
		{"uniform:20ms:10ms", `uniform wants LOW ≤ HIGH, got 20ms:10ms`},
		{"lognormal:20ms:NaN", `"NaN" is not a number ≥ 0`},
		{"bimodal", `bimodal takes a probability and two distributions`},
		{"bimodal:2:1ms:1ms", `bimodal wants a probability between 0 and 1, got "2"`},
		{"bimodal:0.5:1ms", `a value is missing`},
		{"bimodal:0:bimodal:0:bimodal:0:bimodal:0:bimodal:0:1s", `bimodal is nested too deeply`},
	}
	for _, tt := range tests {
		_, err := ParseDelay(tt.text)
		want := `parse distribution "` + tt.text + `": ` + tt.want + forms
		if err == nil || err.Error() != want {
			t.Errorf("ParseDelay(%q)\n got %v\nwant %v", tt.text, err, want)
		}
	}
}

func TestLengthDraw(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tests := []struct {
		text     string
		min, max int
	}{
		{"7", 7, 7}, {"0", 1, 1}, {"uniform:2:4", 2, 4}, {"exp:0.01", 1, 1}, {"1e300", maxDraw, maxDraw},
	}
	for _, tt := range tests {
		l := parsedLength(t, tt.text)
		for range 100 {
			if n := l.Draw(rng); n < tt.min || n > tt.max {
				t.Errorf("%s drew %d, want %d to %d", tt.text, n, tt.min, tt.max)
			}
		}
	}
}

// FuzzParseDelay checks that the text of an accepted distribution parses again, and that
// no draw is negative.
func FuzzParseDelay(f *testing.F) {
	for _, s := range []string{"20ms", "uniform:1ms:2ms", "gamma:1ms:0.5", "bimodal:0.1:1ms:exp:2s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDelay(text)
		if err != nil {
			return
		}
		if again, err := ParseDelay(d.String()); err != nil || again.String() != d.String() {
			t.Errorf("%q reads back as %q, error %v", text, again, err)
		}
		if v := d.Draw(rand.New(rand.NewPCG(1, 2))); v < 0 {
			t.Errorf("%q drew %v", text, v)
		}
	})
}

func parsedDelay(t testing.TB, s string) Delay {
	t.Helper()
	d, err := ParseDelay(s)
	if err != nil {
		t.Fatalf("ParseDelay(%q): %v", s, err)
	}
	return d
}

func parsedLength(t testing.TB, s string) Length {
	t.Helper()
	l, err := ParseLength(s)
	if err != nil {
		t.Fatalf("ParseLength(%q): %v", s, err)
	}
	return l
}
