//go:build !race

package metric

// thinned divides the number of records of long tests.
const thinned = 1
