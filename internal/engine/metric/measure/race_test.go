//go:build race

package measure

// thinned divides the number of records of long tests, which the race detector
// slows down and has little to look at in.
const thinned = 10
