// Package random provides the distributions from which lengths, counts and times are
// drawn.
package random
