package synthetic

import (
	"fmt"
	"testing"
)

func TestParallelReturnsTheFirstError(t *testing.T) {
	for range 50 {
		err := parallel(t.Context(), 1000, func(i int) error {
			if i >= 100 {
				return fmt.Errorf("item %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "item 100" {
			t.Fatalf("error = %v, want item 100", err)
		}
	}
}
