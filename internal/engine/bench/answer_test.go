package bench

import (
	"reflect"
	"testing"
)

func TestChunkSize(t *testing.T) {
	if got := reflect.TypeFor[Chunk]().Size(); got != 24 {
		t.Errorf("a chunk takes %d bytes, want 24", got)
	}
}
