//go:build !race

package measure

// thinned divides the number of records of long tests.
const thinned = 1
