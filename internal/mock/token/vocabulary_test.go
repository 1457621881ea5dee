package token

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVocabularyIsBounded checks that pieces beyond its size are encoded as bytes.
func TestVocabularyIsBounded(t *testing.T) {
	var v Vocabulary
	seen := map[int]bool{}
	for i := range vocabSize {
		ids := v.appendIDs(nil, fmt.Sprintf("w%d", i))
		if len(ids) == 1 {
			if seen[ids[0]] {
				t.Fatalf("id %d is given out twice", ids[0])
			}
			seen[ids[0]] = true
		}
	}
	if len(v.ids) != (vocabSize-byteIDs)/2 || len(v.ids) != len(v.pieces) {
		t.Errorf("%d ids of %d pieces", len(v.ids), len(v.pieces))
	}
	if diff := cmp.Diff([]int{'n', 'e', 'w'}, v.appendIDs(nil, "new")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
