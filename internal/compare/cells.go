package compare

import "slices"

// pair are the runs of both sides that have one configuration: all of them, or those of one cell of
// sweeps.
type pair struct {
	cell string // empty = no cell of a sweep
	a, b []Input
}

// cellsOf returns the cells of runs, in the order in which they come.
func cellsOf(runs []Input) []string {
	var out []string
	for i := range runs {
		if !slices.Contains(out, runs[i].Cell) {
			out = append(out, runs[i].Cell)
		}
	}
	return out
}

// ofCell returns the runs of a cell.
func ofCell(runs []Input, cell string) []Input {
	return slices.DeleteFunc(slices.Clone(runs), func(in Input) bool { return in.Cell != cell })
}

// inCommon returns the cells that both sides have, in the order of a.
func inCommon(a, b []Input) []pair {
	var out []pair
	other := cellsOf(b)
	for _, cell := range cellsOf(a) {
		if slices.Contains(other, cell) {
			out = append(out, pair{cell, ofCell(a, cell), ofCell(b, cell)})
		}
	}
	return out
}

// uncommon returns the cells that only one side has.
func uncommon(a, b []Input) []string {
	left, right := cellsOf(a), cellsOf(b)
	missing := func(list, in []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(cell string) bool { return slices.Contains(in, cell) })
	}
	return slices.Concat(missing(left, right), missing(right, left))
}
