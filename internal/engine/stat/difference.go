package stat

import "math"

// Difference is an estimate of how far B lies from A, in most uses ln(B/A), with its
// standard error on either side. The zero value is not an estimate.
type Difference struct {
	Estimate     float64
	Below, Above float64 // standard errors towards lower and higher values, at least 0
	Freedom      float64 // degrees of freedom of the standard errors
}

// Interval returns the confidence interval at a level between 0 and 1.
func (d Difference) Interval(level float64) (low, high float64) {
	t := Student((1+level)/2, d.Freedom)
	return d.Estimate - t*d.Below, d.Estimate + t*d.Above
}

// P returns the p-value of the two-sided test against no difference. It uses the error on
// the side of 0. Without any error it is 1 for equal values and 0 for others.
func (d Difference) P() float64 {
	side := d.Below
	if d.Estimate < 0 {
		side = d.Above
	}
	if side == 0 {
		if d.Estimate == 0 {
			return 1
		}
		return 0
	}
	return StudentTail(math.Abs(d.Estimate)/side, d.Freedom)
}

// Equivalent reports whether the difference is within ±margin with an error of at most 5 %:
// the two one-sided tests of Schuirmann (J. Pharmacokinet. Biopharm. 15, 1987), which ask
// that the 90 % interval lies between the margins.
func (d Difference) Equivalent(margin float64) bool {
	low, high := d.Interval(0.9)
	return -margin < low && high < margin
}

// Detectable returns the smallest difference that a comparison with these errors finds with
// a power of 80 % at a level of 5 %.
func (d Difference) Detectable() float64 {
	return (Student(0.975, d.Freedom) + Student(0.8, d.Freedom)) * max(d.Below, d.Above)
}

// Welch compares the means of two samples whose deviations may differ (Welch, Biometrika 34,
// 1947). ok is false if one of them has fewer than two values.
func Welch(a, b []float64) (d Difference, ok bool) {
	if len(a) < 2 || len(b) < 2 {
		return Difference{}, false
	}
	meanA, errorA := meanError(a)
	meanB, errorB := meanError(b)
	square := errorA*errorA + errorB*errorB
	d = Difference{Estimate: meanB - meanA, Below: math.Sqrt(square), Freedom: float64(len(a) + len(b) - 2)}
	d.Above = d.Below
	if square > 0 {
		d.Freedom = square * square / (math.Pow(errorA, 4)/float64(len(a)-1) + math.Pow(errorB, 4)/float64(len(b)-1))
	}
	return d, true
}

// Deviation returns the standard deviation that samples have in common, each around its own mean; 0 if none has two
// values.
func Deviation(samples ...[]float64) float64 {
	sum, freedom := 0.0, 0.0
	for _, values := range samples {
		if n := float64(len(values)); n > 1 {
			_, standardError := meanError(values)
			sum += standardError * standardError * n * (n - 1)
			freedom += n - 1
		}
	}
	if freedom == 0 {
		return 0
	}
	return math.Sqrt(sum / freedom)
}

// RunsFor returns how many runs on each side, at least three, find a change with a power of 80 % at a level of 5 % if
// runs of a side have a deviation; ok is false if a thousand do not.
func RunsFor(deviation, change float64) (n int, ok bool) {
	const least, most = 3, 1000
	for n = least; n <= most; n++ {
		each := deviation * math.Sqrt(2/float64(n))
		if (Difference{Below: each, Above: each, Freedom: float64(2*n - 2)}).Detectable() <= change {
			return n, true
		}
	}
	return 0, false
}

// Predict compares one new value with the mean of a sample of at least two: its errors are
// those of a prediction interval. ok is false for fewer.
func Predict(sample []float64, value float64) (d Difference, ok bool) {
	if len(sample) < 2 {
		return Difference{}, false
	}
	mean, deviation := meanError(sample)
	n := float64(len(sample))
	deviation *= math.Sqrt(n) * math.Sqrt(1+1/n)
	return Difference{Estimate: value - mean, Below: deviation, Above: deviation, Freedom: n - 1}, true
}

// Estimated is an estimate with its 95 % interval, which need not be symmetrical.
type Estimated struct{ Value, Low, High float64 }

// Logarithm returns the logarithms of a positive estimate and of its interval, whose ends are positive.
func (e Estimated) Logarithm() Estimated {
	return Estimated{math.Log(e.Value), math.Log(e.Low), math.Log(e.High)}
}

// intervalFreedom are the degrees of freedom of intervals that come from the blocks of a run.
const intervalFreedom = Blocks - 1

// Mover compares two independent estimates by their intervals alone (Zou and Donner, Stat.
// Med. 27, 2008).
func Mover(a, b Estimated) Difference {
	t := Student(0.975, intervalFreedom)
	return Difference{
		Estimate: b.Value - a.Value,
		Below:    math.Hypot(b.Value-b.Low, a.High-a.Value) / t,
		Above:    math.Hypot(b.High-b.Value, a.Value-a.Low) / t,
		Freedom:  intervalFreedom,
	}
}

// Wilson returns the share of successes among trials, of which there is at least one, with
// its score interval (Wilson, JASA 22, 1927).
func Wilson(successes, trials float64) Estimated {
	p, z := successes/trials, normal975*normal975/trials
	centre := (p + z/2) / (1 + z)
	half := math.Sqrt(p*(1-p)*z+z*z/4) / (1 + z)
	return Estimated{Value: p, Low: max(0, centre-half), High: min(1, centre+half)}
}

// meanError returns the mean of at least two values and its standard error.
func meanError(values []float64) (mean, standardError float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v
	}
	mean /= n
	square := 0.0
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(square / (n - 1) / n)
}

// Against compares the mean of a sample of at least two values with a constant (Student,
// Biometrika 6, 1908). ok is false for fewer.
func Against(sample []float64, constant float64) (d Difference, ok bool) {
	if len(sample) < 2 {
		return Difference{}, false
	}
	mean, standardError := meanError(sample)
	return Difference{
		Estimate: mean - constant, Below: standardError, Above: standardError, Freedom: float64(len(sample) - 1),
	}, true
}
