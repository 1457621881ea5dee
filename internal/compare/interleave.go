package compare

// SecondOfABBA reports whether the run with a number, from 0, is one of B in the order A, B, B, A, A, B, B, A …,
// in which a steady change of the server in time affects both sides alike.
func SecondOfABBA(number int) bool {
	const period = 4
	return number%period == 1 || number%period == 2
}
