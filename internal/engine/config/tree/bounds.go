package tree

import (
	"fmt"
)

// The limits of the text of a document, which are checked before it is parsed or while it is.
const (
	// MaxBytes is the size of a user's own document. The API has a lower limit.
	MaxBytes = 64 << 20
	// MaxDepth is how deep lists and objects may nest.
	MaxDepth = 64
	// MaxValues is the number of values of a document from the network, and MaxOwnValues that
	// of a user's own document. A value takes some 300 bytes of memory.
	MaxValues    = 100_000
	MaxOwnValues = 10_000_000
	// MaxPointer is the average length of the JSON pointers of the values in bytes; without
	// it, long names around many values would take their product in memory.
	MaxPointer = 256
	// MaxAliased is the number of values that YAML aliases may add.
	MaxAliased = 10_000
)

// counter counts the values of a document.
type counter struct{ values, most int }

// add counts a value at a depth. It returns what is too much, or "".
func (c *counter) add(depth int) string {
	if depth > MaxDepth {
		return fmt.Sprintf("nested deeper than %d levels", MaxDepth)
	}
	if c.values++; c.values > c.most {
		return fmt.Sprintf("more than %d values", c.most)
	}
	return ""
}

const longNames = "the names of members are too long for the number of values below them"

// locate is [Node.Locate] for the root of a document that may have that many values.
func (n *Node) locate(values int) error {
	if left := values * MaxPointer; !n.fits(1, &left) {
		return &Malformed{Detail: longNames}
	}
	n.Locate("#")
	return nil
}

// fits subtracts the lengths of the pointers of n and of the values below it. It reports
// whether something is left. length is that of n's pointer.
func (n *Node) fits(length int, left *int) bool {
	const index = 6 // bytes of an index, on average
	if *left -= length; *left < 0 {
		return false
	}
	for _, m := range n.Members {
		if !m.Value.fits(length+1+len(EscapePointer(m.Name)), left) {
			return false
		}
	}
	for _, item := range n.Items {
		if !item.fits(length+index, left) {
			return false
		}
	}
	return true
}
