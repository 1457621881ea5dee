package stat

import (
	"math"
	"slices"
)

// AndersonDarling returns the statistic A² of a sample against a fully specified
// continuous distribution, and the probability p of a larger one if the sample
// comes from it (Anderson and Darling, "A test of goodness of fit", JASA 49,
// 1954). It looks at the tails more than the Kolmogorov–Smirnov test does. The
// sample is not changed; p is the asymptotic one, good to three digits from about
// 100 values on. Values that the distribution excludes make p very small, not
// undefined. An empty sample fits everything: 0, 1.
func AndersonDarling(sample []float64, cdf func(float64) float64) (a2, p float64) {
	n := len(sample)
	if n == 0 {
		return 0, 1
	}
	// Logarithms of 0 are avoided: the bound is the resolution of a double at 1.
	const least = 1e-16
	u := make([]float64, n)
	for i, x := range sample {
		u[i] = min(max(cdf(x), least), 1-least)
	}
	slices.Sort(u)
	sum := 0.0
	for i := range u {
		sum += float64(2*i+1) * (math.Log(u[i]) + math.Log1p(-u[n-1-i]))
	}
	a2 = -float64(n) - sum/float64(n)
	return a2, 1 - limiting(a2)
}

// limiting is the distribution function of A² for large samples (Marsaglia and
// Marsaglia, "Evaluating the Anderson-Darling distribution", Journal of
// Statistical Software 9(2), 2004; error below 2e-6 for z < 2, 8e-7 above).
func limiting(z float64) float64 {
	switch {
	case z <= 0:
		return 0
	case z < 2:
		return math.Exp(-1.2337141/z) / math.Sqrt(z) *
			polynomial(z, 2.00012, 0.247105, -0.0649821, 0.0347962, -0.011672, 0.00168691)
	}
	return math.Exp(-math.Exp(polynomial(z, 1.0776, -2.30695, 0.43424, -0.082433, 0.008056, -0.0003146)))
}

// polynomial evaluates c[0] + c[1]z + c[2]z² + …
func polynomial(z float64, c ...float64) float64 {
	sum := 0.0
	for _, k := range slices.Backward(c) {
		sum = sum*z + k
	}
	return sum
}
